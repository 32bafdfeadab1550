"""SGLang ``bench_serving`` JSON lines. Bare ``Infinity`` occurs; ITL is per token, once it was not.

Until mid-2025 (sglang pull 12064) ITL was the gap between chunks; which of the two a file has shows
in its own throughput.
"""

from codesign.calibration.detect import Reader
from codesign.calibration.latency_points import DISAGREEMENT
from codesign.calibration.latency_readers.fields import (
    Record,
    lacks_keys,
    mean_context,
    number,
    per_record,
    table,
    text,
    timing,
)
from codesign.calibration.observation import Observation, Timing
from codesign.calibration.sample import Sample
from codesign.errors import DataError

TITLE = "SGLang bench_serving result"


def _lacks(sample: Sample) -> str | None:
    missing = lacks_keys(sample, "backend", "request_rate", "completed", "total_output_tokens")
    own = ("accept_length", "total_output_tokens_retokenized")
    return missing or (lacks_keys(sample, own[0]) and lacks_keys(sample, own[1]))


def sglang_run(record: Record, where: str) -> Observation:
    """Return one run of SGLang's ``bench_serving``.

    Raises
    ------
    DataError
        If a figure is no number, or nothing was decoded.
    """
    notes: list[str] = []
    asked = number(record, "max_concurrency", where, zero=False)
    mean = number(record, "concurrency", where, zero=False)
    token, chunk = _times(record, where, mean or asked, notes)
    length = number(record, "accept_length", where, zero=False)
    if record.get("dataset_name") == "random" and length and length > 1:
        notes.append("random prompts: their acceptance is not that of real prompts")
    completed = number(record, "completed", where)
    return Observation(
        source=where,
        title=TITLE,
        backend="sglang",
        model=text(record, "model_id"),
        batch_size=_batch(asked, mean, notes),
        mean_batch_size=mean,
        draft_tokens=_draft_tokens(record, length, notes),
        context=mean_context(
            number(record, "total_input_tokens", where),
            number(record, "total_output_tokens", where),
            completed,
        ),
        per_token=token,
        per_chunk=chunk,
        stated_length=length,
        samples=int(completed or 1),
        notes=tuple(notes),
    )


def _times(
    record: Record, where: str, batch: float | None, notes: list[str]
) -> tuple[Timing, Timing | None]:
    """Time per token, and the chunk gap where ITL turns out to be one."""
    token = timing(record, where, "mean_tpot_ms", "median_tpot_ms", 1e-3)
    gap = timing(record, where, "mean_itl_ms", "median_itl_ms", 1e-3)
    rate = number(record, "output_throughput", where, zero=False)
    by_rate = batch / rate if batch and rate else None
    if token is None:
        if by_rate is None:
            raise DataError(f"{where}: neither mean_tpot_ms nor throughput with a concurrency")
        token = Timing(mean=by_rate)
        notes.append(f"time per token from throughput: {by_rate * 1e3:.4g} ms, prefill included")
    expected = token.best
    if gap is None or gap.mean is None or expected is None:
        return token, None
    if gap.mean > (1 + DISAGREEMENT) * expected:
        notes.append(
            f"ITL {gap.mean * 1e3:.4g} ms is {gap.mean / expected:.3g} times the time per token, "
            "so it is per chunk (SGLang before pull 12064)"
        )
        return token, gap
    return token, None


def _batch(asked: float | None, mean: float | None, notes: list[str]) -> float | None:
    if asked and mean and abs(mean / asked - 1) > DISAGREEMENT:
        notes.append(
            f"{mean:.3g} sequences ran together on average although {asked:g} were asked for; the "
            "average is taken as the batch size"
        )
        return mean
    return asked


def _draft_tokens(record: Record, length: float | None, notes: list[str]) -> float | None:
    """K = num_steps of a chain; a tree verifies num_draft_tokens, root included."""
    info = table(record, "server_info")
    steps, tokens = info.get("speculative_num_steps"), info.get("speculative_num_draft_tokens")
    if not isinstance(steps, int) or length is None:
        return 0.0 if length is None and "accept_length" in record else None
    branches = info.get("speculative_eagle_topk")
    if isinstance(branches, int) and branches > 1 and isinstance(tokens, int):
        notes.append(
            f"the draft is a tree ({steps} steps, top-{branches}, {tokens} tokens verified); the "
            f"model prices it as a chain of {tokens - 1}"
        )
        return float(tokens - 1)
    return float(steps)


READER = Reader("sglang-bench-serving", TITLE, _lacks, per_record(sglang_run))
