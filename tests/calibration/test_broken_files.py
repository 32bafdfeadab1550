"""Files with one thing wrong, a thousand ways: a message and an exit status, never a traceback."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codesign.calibration.acceptance import calibrate_acceptance
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.routing import calibrate_routing
from codesign.errors import CodesignError
from tests.calibration.acceptance_files import (
    printed_result,
    prometheus,
    serve_result,
    sglang_line,
    v0_line,
    v1_line,
)
from tests.calibration.routing_files import (
    ids,
    npy_bytes,
    payload,
    sglang_response,
    vllm_nested,
    vllm_response,
)

JUNK: list[Any] = [
    None, True, -1, 0, 0.5, 1e308, float("nan"), float("inf"), 10**20, "", "x", "AAAA", [], {},
    [[]], [1, 2], {"a": 1},
]  # fmt: skip

ROUTING: list[Any] = [
    vllm_response(ids()), vllm_response(ids(), "generate"), vllm_nested(ids()),
    sglang_response(ids()), {"num_experts": 16, "routed_experts": payload(ids())},
    {"logical_count": [[[1, 2, 3, 4]] * 2] * 2}, [[3, 1, 4, 1], [5, 9, 2, 6]], npy_bytes(ids()),
    "experts: 16\ntop_k: 4\nunique_by_batch: {2: 7.0}\noverlap_by_lag: {1: .4}\n",
]  # fmt: skip
ACCEPTANCE: list[Any] = [
    serve_result(100, (80, 60)), prometheus((100, (80, 60))), v1_line(100, (80, 60, 40)),
    v0_line(4, 400, 200, 250), sglang_line(8, 2.7), "{1: 1.8, 2: 2.4}",
    printed_result({"Drafts": 100, "Draft tokens": 300, "Accepted tokens": 180}, (0.8, 0.6, 0.4)),
    {"metrics": {"speculative_decoding": {
        "num_spec_steps": 3, "num_draft_tokens": 9, "num_accepted_draft_tokens": 5,
        "acceptance_histogram": [1, 0, 1, 1]}}},
    {"accept_length": 2.7, "server_info": {"speculative_num_steps": 3}, "completed": 5},
]  # fmt: skip


def changed(value: Any, chance: random.Random, depth: int = 0) -> Any:
    """One part of a document left out or replaced by junk."""
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        if chance.random() < 0.15:
            return {name: part for name, part in value.items() if name != key}
        deeper = depth < 5 and chance.random() < 0.6
        part = changed(value[key], chance, depth + 1) if deeper else chance.choice(JUNK)
        return value | {key: part}
    if isinstance(value, list) and value:
        index = chance.randrange(len(value))
        deeper = depth < 5 and chance.random() < 0.6
        part = changed(value[index], chance, depth + 1) if deeper else chance.choice(JUNK)
        return [*value[:index], part, *value[index + 1 :]]
    return chance.choice(JUNK)


def spoiled(content: Any, chance: random.Random) -> bytes:
    """A document with a changed part, or text and bytes cut off or overwritten in places."""
    if isinstance(content, dict | list):
        content = json.dumps(changed(content, chance))
    data = bytearray(content if isinstance(content, bytes) else content.encode())
    if chance.random() < 0.3:
        return bytes(data[: chance.randrange(len(data) + 1)])
    for _ in range(chance.randrange(4)):
        data[chance.randrange(len(data))] = chance.choice([*b"09-.n{[", chance.randrange(256)])
    return bytes(data)


@pytest.mark.parametrize(
    ("calibrate", "contents"),
    [(calibrate_routing, ROUTING), (calibrate_acceptance, ACCEPTANCE)],
    ids=["routing", "acceptance"],
)
def test_only_errors_that_a_user_can_mend(
    tmp_path: Path, calibrate: Callable[..., Any], contents: list[Any]
) -> None:
    path = tmp_path / "file"
    for seed in range(300):
        chance = random.Random(seed)
        path.write_bytes(spoiled(chance.choice(contents), chance))
        options = CalibrationOptions(
            experts=chance.choice([None, 16]), layers=4, top_k=chance.choice([None, 4]),
            draft_tokens=chance.choice([None, 3]), replicates=3,
        )  # fmt: skip
        try:
            calibrate([path], options).to_data()
        except CodesignError as error:
            assert error.exit_status in (4, 5), seed
            assert str(path) in str(error) or "draft length" in str(error), seed
