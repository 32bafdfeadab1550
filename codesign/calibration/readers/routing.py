"""Readers of the routing section, the most specific first."""

from typing import Any, Final

from codesign.calibration.detect import Reader
from codesign.calibration.routing_readers import (
    expert_counts,
    locality_table,
    numpy_files,
    payload,
    rollouts,
    router_logits,
    sglang_recorder,
    sglang_response,
    vllm_response,
)

READERS: Final[tuple[Reader[Any], ...]] = (
    payload.READER,
    vllm_response.READER,
    sglang_response.READER,
    expert_counts.COUNTS_READER,
    expert_counts.MAP_READER,
    expert_counts.WEIGHTS_READER,
    numpy_files.NPY_READER,
    numpy_files.NPZ_READER,
    sglang_recorder.READER,
    rollouts.SLIME_READER,
    rollouts.VERL_READER,
    router_logits.READER,
    locality_table.READER,
)
