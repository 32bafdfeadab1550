"""vLLM ``bench forward`` kernel summaries (``*.kernels.json``): microseconds per replay."""

from collections.abc import Mapping

from codesign.calibration.detect import Reader
from codesign.calibration.kernel_names import CATEGORIES, Category, category_of
from codesign.calibration.latency_readers.fields import lacks_keys, number, records
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.profile_points import KernelTotal, Profile, StepProfile
from codesign.calibration.recorded_kernels import require_work
from codesign.calibration.sample import Sample
from codesign.errors import DataError

TITLE = "vLLM bench forward kernel summary"


def _lacks(sample: Sample) -> str | None:
    return lacks_keys(sample, "replays", "busy_us", "span_us", "kernels")


def _read(sample: Sample, options: CalibrationOptions) -> Profile:
    where = str(sample.path)
    (record, *_), listed = records(sample), []
    rows = record.get("kernels")
    if not isinstance(rows, list) or not rows:
        raise DataError(f"{where}: {TITLE} without kernels")
    for row in rows:
        if not isinstance(row, Mapping):
            raise DataError(f"{where}: kernels is a list of objects")
        seconds, calls = number(row, "us", where), number(row, "calls", where)
        if seconds is None:
            raise DataError(f"{where}: a kernel without us")
        # Only the example has the template arguments that tell attention from a plain product.
        name = f"{row.get('name')} {row.get('example')}"
        category = category_of(name.removeprefix("None "))
        listed.append(KernelTotal(str(row.get("name")), category, seconds * 1e-6, int(calls or 0)))
    busy, span = (number(record, key, where, zero=False) for key in ("busy_us", "span_us"))
    if busy is None or span is None:
        raise DataError(f"{where}: busy_us and span_us are needed")
    require_work(tuple(listed), where)
    summed: dict[Category, float] = dict.fromkeys(CATEGORIES, 0.0)
    for kernel in listed:
        summed[kernel.category] += kernel.seconds
    unlisted = max(busy * 1e-6 - sum(summed.values()), 0.0)
    load = StepProfile(
        None, None, 1, summed, None, busy * 1e-6, span * 1e-6, unlisted=unlisted,
    )  # fmt: skip
    notes = ["b and q are not in the file: give --batch-size and --draft-tokens"]
    if unlisted > 0.005 * busy * 1e-6:
        notes.append(
            f"the list is cut: {unlisted * 1e6:.1f} us of busy time "
            f"({unlisted / busy * 1e8:.2f} %) are not listed by name"
        )
    kernels = tuple(sorted(listed, key=lambda kernel: -kernel.seconds))
    return Profile(where, TITLE, (load,), kernels, tuple(notes))


READER = Reader("vllm-kernel-summary", TITLE, _lacks, _read)
