"""SGLang's own step times: ``step_time_dict`` of /server_info, the dspark table."""

from collections.abc import Mapping
from statistics import fmean, median
from typing import Any

from codesign.calibration.detect import Reader
from codesign.calibration.latency_readers.fields import Record, lacks_keys, number, records
from codesign.calibration.observation import Observation, Timing
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import DataError

TITLE = "SGLang server info with step_time_dict"
TABLE_TITLE = "SGLang dspark steps-per-second table"


def _lacks(sample: Sample) -> str | None:
    return lacks_keys(sample, "step_time_dict")


def _read(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    observations = []
    for record in records(sample):
        states = record.get("internal_states")
        for state in states if isinstance(states, list) else [record]:
            if not isinstance(state, Mapping):
                raise DataError(f"{sample.path}: internal_states is a list of objects")
            observations += _state(state, record, str(sample.path))
    if not observations:
        raise DataError(f"{sample.path}: step_time_dict is empty")
    return observations


def _state(state: Record, info: Record, path: str) -> list[Observation]:
    """Batch size to recent step times in seconds; keys are text and sorted as numbers here."""
    table = state.get("step_time_dict")
    if not isinstance(table, Mapping):
        raise DataError(f"{path}: no step_time_dict of batch sizes")
    length = number(state, "avg_spec_accept_length", path, zero=False)
    steps = info.get("speculative_num_steps")
    on = length is not None and length > 1
    drafted = float(steps) if on and isinstance(steps, int) else None if on else 0.0
    note = ("the acceptance length is one average over all batch sizes",) if on else ()
    observations = []
    if not all(str(batch).isdecimal() for batch in table):
        raise DataError(f"{path}: the keys of step_time_dict are batch sizes")
    for batch, times in sorted(table.items(), key=lambda item: int(item[0])):
        where = f"{path}, batch size {batch}"
        values = _seconds(times, where)
        observations.append(
            Observation(
                source=where,
                title=TITLE,
                backend="sglang",
                batch_size=float(batch),
                draft_tokens=drafted,
                step=Timing(fmean(values), median(values)),
                stated_length=length,
                samples=len(values),
                notes=note,
            )
        )
    return observations


def _seconds(times: Any, where: str) -> list[float]:
    if not isinstance(times, list) or not times:
        raise DataError(f"{where}: a list of step times is expected")
    return [_positive(time, "step time", where) for time in times]


def _lacks_table(sample: Sample) -> str | None:
    return lacks_keys(sample, "sample_batch_tokens", "sample_steps_per_sec")


def _read_table(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    (record,) = records(sample)[:1]
    tokens, rates = record.get("sample_batch_tokens"), record.get("sample_steps_per_sec")
    if not isinstance(tokens, list) or not isinstance(rates, list) or len(tokens) != len(rates):
        raise DataError(f"{sample.path}: as many steps per second as token counts are needed")
    tokens = [_positive(count, "sample_batch_tokens", str(sample.path)) for count in tokens]
    largest = number(record, "max_batch_tokens", str(sample.path))
    notes = ["only b q is stored: give --batch-size or --draft-tokens"]
    if largest and tokens and largest > max(tokens):
        most = max(tokens)
        notes.append(f"nothing is measured above {most:g} tokens, though {largest:g} are allowed")
    return [
        _pass(round(count), rate, f"{sample.path}, {count:g} tokens", options, tuple(notes))
        for count, rate in zip(tokens, rates, strict=True)
    ]


def _positive(value: Any, name: str, where: str) -> float:
    found = number({name: value}, name, where, zero=False)
    if found is None:
        raise DataError(f"{where}: {name} must be a positive number")
    return found


def _pass(
    tokens: int, rate: Any, where: str, options: CalibrationOptions, notes: tuple[str, ...]
) -> Observation:
    per_second = _positive(rate, "sample_steps_per_sec", where)
    batch = None if options.batch_size is None else float(options.batch_size)
    if batch is None and options.draft_tokens is not None:
        batch = tokens / (options.draft_tokens + 1)
    return Observation(
        source=where,
        title=TABLE_TITLE,
        backend="sglang",
        batch_size=batch,
        draft_tokens=None if batch is None else tokens / batch - 1,
        tokens=tokens,
        step=Timing(mean=1 / per_second),
        scope="target",
        notes=notes,
    )


READER = Reader("sglang-step-times", TITLE, _lacks, _read)
TABLE_READER = Reader("sglang-dspark-table", TABLE_TITLE, _lacks_table, _read_table)
