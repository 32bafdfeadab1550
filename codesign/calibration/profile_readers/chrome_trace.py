"""Torch Chrome traces (``.json``, ``.json.gz``) of one rank; times in microseconds."""

import math
from collections.abc import Mapping
from typing import Any, Final

from codesign.architectures import load_architecture
from codesign.calibration.detect import Reader
from codesign.calibration.latency_readers.fields import table
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.profile_points import Profile
from codesign.calibration.profile_readers.json_stream import EventStream
from codesign.calibration.sample import Sample
from codesign.calibration.step_markers import read_marker
from codesign.calibration.stream import open_pieces
from codesign.calibration.timeline import Timeline
from codesign.errors import DataError

TITLE = "torch Chrome trace"
ON_DEVICE: Final = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})


def _lacks(sample: Sample) -> str | None:
    if sample.container != "json" or sample.text is None:
        return "not JSON"
    named = '"traceEvents"' in sample.text
    bare = sample.text.lstrip().startswith("[") and '"ph"' in sample.text
    return None if named or bare else "no 'traceEvents'"


def _read(sample: Sample, options: CalibrationOptions) -> Profile:
    timeline = Timeline(str(sample.path))
    devices: dict[str, int] = {}
    with open_pieces(sample.path, progress=options.progress) as pieces:
        stream = EventStream(sample.path, pieces)
        for event in stream:
            _add(timeline, event, devices, str(sample.path))
    if len(devices) > 1:
        raise DataError(
            f"{sample.path}: kernels of {len(devices)} GPUs in one trace; give one rank's trace"
        )
    return timeline.profile(TITLE, layers_of(options), _rank_note(stream.header))


def layers_of(options: CalibrationOptions) -> int | None:
    """Layers of the profiled model, as given or as its architecture says."""
    if options.layers is not None or options.architecture is None:
        return options.layers
    return load_architecture(options.architecture).layers


def _add(
    timeline: Timeline, event: Mapping[str, Any], devices: dict[str, int], source: str
) -> None:
    kind = event.get("cat")
    if event.get("ph") != "X" or not isinstance(kind, str):
        return
    if kind in ON_DEVICE:
        start, duration = _times(event, source)
        timeline.add_kernel(_name(event), start, duration)
        device = str(table(event, "args").get("device", 0))
        devices[device] = devices.get(device, 0) + 1
    elif kind in ("user_annotation", "gpu_user_annotation"):
        marker = read_marker(_name(event), *_times(event, source))
        if marker is not None:
            timeline.add_marker(marker, on_gpu=kind == "gpu_user_annotation")


def _name(event: Mapping[str, Any]) -> str:
    return str(event.get("name", ""))


def _times(event: Mapping[str, Any], source: str) -> tuple[float, float]:
    """Start and duration [s]."""
    try:
        start, duration = float(event["ts"]), float(event["dur"])
    except (KeyError, TypeError, ValueError, OverflowError):
        start = duration = math.nan
    if not (math.isfinite(start) and math.isfinite(duration)) or duration < 0:
        raise DataError(
            f"{source}: event {_name(event)[:60]!r} needs a start and a duration, not "
            f"{event.get('ts')!r} and {event.get('dur')!r}"
        )
    return start * 1e-6, duration * 1e-6


def _rank_note(header: Mapping[str, Any]) -> tuple[str, ...]:
    told = header.get("distributedInfo")
    size = told.get("world_size") if isinstance(told, Mapping) else None
    if not isinstance(told, Mapping) or not isinstance(size, int) or size < 2:
        return ()
    return (f"rank {told.get('rank')} of {size}; the others are not in the trace",)


READER = Reader("chrome-trace", TITLE, _lacks, _read)
