"""SemiAnalysis InferenceX aggregates: seconds, whatever the key says.

utils/process_result.py of that project divides every ``*_ms`` figure by 1,000; older files kept the
suffix. The interactivity beside it, in tokens per second, tells the unit.
"""

from codesign.calibration.detect import Reader
from codesign.calibration.latency_readers.fields import (
    Record,
    lacks_keys,
    mean_context,
    number,
    per_record,
    text,
)
from codesign.calibration.observation import Observation, Timing
from codesign.calibration.sample import Sample
from codesign.errors import DataError

TITLE = "InferenceX aggregate"
OFF = ("", "none", "off", "false", None)


def _lacks(sample: Sample) -> str | None:
    return lacks_keys(sample, "hw", "conc", "framework", "precision", "tput_per_gpu")


def _aggregate(record: Record, where: str) -> Observation:
    token, chunk = _seconds(record, "tpot", where), _seconds(record, "itl", where)
    if token is None:
        raise DataError(f"{where}: no mean_tpot or median_tpot")
    method = str(record.get("spec_decoding", record.get("mtp", ""))).lower()
    told = "spec_decoding" in record or "mtp" in record
    off = told and method in OFF
    framework = (text(record, "framework") or "").lower()
    backends = {"vllm": "vllm", "sglang": "sglang", "trt": "trtllm", "trtllm": "trtllm"}
    notes = ["times are seconds whatever their key says"]
    if not off:
        notes.append(f"speculative decoding {method or 'not stated'}: K is not in the file")
    return Observation(
        source=where,
        title=TITLE,
        backend=next((b for name, b in backends.items() if framework.startswith(name)), None),
        model=text(record, "model"),
        batch_size=number(record, "conc", where, zero=False),
        draft_tokens=0.0 if off else None,
        context=mean_context(number(record, "isl", where), number(record, "osl", where)),
        per_token=token,
        per_chunk=chunk,
        notes=tuple(notes),
    )


def _seconds(record: Record, name: str, where: str) -> Timing | None:
    found = []
    for statistic in ("mean", "median"):
        value = number(record, f"{statistic}_{name}", where, zero=False)
        if value is None:
            value = number(record, f"{statistic}_{name}_ms", where, zero=False)
        rate = number(record, f"{statistic}_intvty", where, zero=False)
        if value is not None and rate is not None and name == "tpot" and value * rate > 100:
            value = value * 1e-3
        found.append(value)
    return Timing(*found) if any(found) else None


READER = Reader("inferencex", TITLE, _lacks, per_record(_aggregate))
