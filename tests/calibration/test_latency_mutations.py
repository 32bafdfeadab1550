"""Files with one thing wrong, by the hundred: a section or one message, never anything else."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from codesign.calibration.latency import calibrate_latency
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.profile import calibrate_profile
from codesign.errors import CodesignError
from codesign.spec.section import Section
from tests.calibration.latency_files import vllm_forward_case, vllm_serve, written
from tests.calibration.profile_files import step, trace

WRONG: tuple[Any, ...] = (
    None, -1, 0, float("nan"), float("inf"), "x", "", [], {}, [1], True, 1e308, 10**400, {"a": 1},
)  # fmt: skip
SGLANG = {"internal_states": [{"step_time_dict": {"1": [0.0066], "8": [0.0111]},
                               "avg_spec_accept_length": 2.73}]}  # fmt: skip
AIPERF = {
    "request_throughput": {"unit": "requests/sec", "avg": 3.55},
    "time_to_first_token": {"unit": "ms", "avg": 45.0},
    "inter_token_latency": {"unit": "ms", "avg": 8.4, "p50": 8.4},
    "inter_chunk_latency": {"unit": "ms", "avg": 22.9},
    "total_spec_decode_steps": {"avg": 7502.0},
    "total_accepted_draft_tokens": {"avg": 12978.0},
    "total_draft_tokens": {"avg": 22506.0},
    "run_info": {"concurrency": 8},
}
SUMMARY = {"replays": 3, "span_us": 9120.0, "busy_us": 9000.0,
           "kernels": [{"name": "fused_moe_kernel", "us": 4800.0, "calls": 96}]}  # fmt: skip
DOCUMENTS: dict[str, Callable[[], Any]] = {
    "serve": lambda: vllm_serve(counters=(7502, 22506, 12978)),
    "forward": lambda: [vllm_forward_case("d", 2, 1, 7310.0), vllm_forward_case("v", 2, 4, 9120.0)],
    "sglang": lambda: json.loads(json.dumps(SGLANG)),
    "aiperf": lambda: json.loads(json.dumps(AIPERF)),
    "kernels": lambda: json.loads(json.dumps(SUMMARY)),
    "trace": lambda: trace([*step(0.0, 8, 4, 1), *step(900.0, 8, 4, 1)]),
}
KNOWN = CalibrationOptions(
    hardware="h100", architecture="qwen3-30b-a3b", context=500, draft_tokens=3, batch_size=8
)


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every container and key within a document."""
    items: Sequence[tuple[Any, Any]] = ()
    if isinstance(node, dict):
        items = list(node.items())
    elif isinstance(node, list):
        items = list(enumerate(node))
    for key, inner in items:
        yield node, key
        yield from places(inner)


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("fit", [calibrate_latency, calibrate_profile])
def test_one_wrong_value(
    tmp_path: Path, name: str, fit: Callable[[list[Path], CalibrationOptions], Section]
) -> None:
    generator = random.Random(0)
    for _ in range(40):
        document = DOCUMENTS[name]()
        container, key = generator.choice(list(places(document)))
        if generator.random() < 0.2:
            del container[key]
        else:
            container[key] = generator.choice(WRONG)
        path = written(tmp_path, "f.json", document)
        try:
            section = fit([path], generator.choice([KNOWN, CalibrationOptions()]))
        except CodesignError as error:
            assert str(error)
        else:
            json.dumps(section.to_data(), allow_nan=False)
