"""Feasible designs and their draws, gathered in parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.designs import Designs
from codesign.search import contenders
from codesign.search.contenders import Contenders

SCORES = np.random.default_rng(0).permutation(60).astype(np.float64)
EXPERTS = np.arange(60.0) + 8
DRAWN = np.stack([SCORES, SCORES + 1])


def gathered(cuts: list[int]) -> Contenders:
    found = Contenders()
    for part in np.split(np.arange(60), sorted(cuts)):
        listed = Designs.of(EXPERTS[part], 8, 0, 3, np.full(len(part), 768.0)).take(
            np.arange(len(part))
        )
        found.add(listed, SCORES[part], {"sd_speedup": DRAWN[:, part]})
    return found


@given(st.lists(st.integers(0, 60), max_size=6))
def test_parts_make_the_whole(cuts: list[int]) -> None:
    found = gathered(cuts)
    assert found.complete and found.designs is not None
    assert found.designs.experts.tolist() == EXPERTS.tolist()
    assert found.scores.tolist() == SCORES.tolist()
    assert found.samples["sd_speedup"].tolist() == DRAWN.tolist()
    assert found.position(found.designs.take(17)) == 17


@given(st.lists(st.integers(0, 60), max_size=6))
def test_the_best_stay_when_memory_is_full(cuts: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contenders, "MOST_NUMBERS", 90)  # 30 designs of two draws and a score
        found = gathered(cuts)
    assert not found.complete and found.designs is not None
    assert len(found.scores) <= 30 and 59.0 in found.scores
    assert (np.diff(found.designs.experts) > 0).all()
    assert (found.samples["sd_speedup"][0] == found.scores).all()


def test_empty() -> None:
    found = Contenders()
    found.merge(Contenders())
    assert found.designs is None and found.scores.size == 0 and found.samples == {}
