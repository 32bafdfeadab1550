"""Where one design's regimes begin and end."""

import numpy as np
import pytest

from codesign.designs import Designs
from codesign.prediction import predict
from codesign.regimes import LARGEST_BATCH, regime_map, scanned_batch_sizes
from tests.questions import scenario_of


def test_batch_sizes_are_scanned_in_even_steps_of_the_logarithm() -> None:
    sizes = np.array(scanned_batch_sizes())
    assert (sizes[0], sizes[-1]) == (1, LARGEST_BATCH)
    assert (np.diff(sizes) >= 1).all()
    assert (sizes[1:] <= np.maximum(sizes[:-1] + 1, np.ceil(sizes[:-1] * 2**0.126))).all()


@pytest.mark.parametrize("experts", [64, 128, 256])
def test_boundaries_agree_with_the_regimes_themselves(experts: int) -> None:
    scenario = scenario_of("qwen3-30b-a3b", context=512)
    design = Designs.of(experts, 8, 0, 3, 768)
    found = regime_map(design, scenario)
    sizes = scanned_batch_sizes()
    prediction = predict(design, scenario.at(sizes))
    names = dict(zip(sizes, prediction.regime.reshape(-1), strict=True))
    filling = [size for size in sizes if size <= found.partial_load_until]
    assert {names[size] for size in filling} == {"partial load"}
    following = min(size for size in sizes if size > found.partial_load_until)
    assert names[following] != "partial load"
    if found.compute_bound_from is not None:
        assert names[found.compute_bound_from] == "compute bound"
        assert all(names[size] != "compute bound" for size in sizes
                   if size < found.compute_bound_from)  # fmt: skip
    speedups = dict(zip(sizes, prediction.sd_speedup.reshape(-1), strict=True))
    assert found.sweet_spot_speedup == max(speedups.values())
    assert speedups[found.sweet_spot_batch_size] == found.sweet_spot_speedup


def test_sparser_designs_fill_their_experts_later() -> None:
    # Cohere study: lower k/N moves the partial-load boundary to larger batches.
    scenario = scenario_of("qwen3-30b-a3b", context=512)
    ends = [
        regime_map(Designs.of(experts, 8, 0, 3, 768), scenario).partial_load_until
        for experts in (32, 64, 128, 256, 512)
    ]
    assert ends == sorted(set(ends))


def test_a_dense_model_never_fills() -> None:
    scenario = scenario_of("llama-3.1-8b", context=512)
    found = regime_map(Designs.of_architecture(scenario.reference, 3), scenario)
    assert found.partial_load_until == 0
