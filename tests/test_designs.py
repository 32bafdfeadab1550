"""Arrays of designs."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.architectures import load_architecture
from codesign.designs import AXES, Designs

values = st.lists(st.integers(1, 512), min_size=1, max_size=4)


def mesh(*axes: list[int]) -> Designs:
    return Designs.of(*np.ix_(*(np.array(axis, dtype=np.float64) for axis in axes)))


@given(axes=st.tuples(values, values, values, values, values), data=st.data())
def test_a_mesh_holds_every_combination_in_order(
    axes: tuple[list[int], ...], data: st.DataObject
) -> None:
    designs = mesh(*axes)
    combinations = [dict(zip(AXES, row, strict=True)) for row in itertools.product(*axes)]
    assert designs.shape == tuple(len(axis) for axis in axes)
    assert designs.rows() == combinations
    picked = data.draw(st.lists(st.integers(0, len(combinations) - 1), min_size=1, max_size=6))
    taken = designs.take(np.array(picked))
    assert taken.rows() == [combinations[place] for place in picked]
    assert designs.take(picked[0]).rows() == [combinations[picked[0]]]
    assert taken.joined(taken).rows() == taken.rows() * 2


def test_scalars_become_one_design() -> None:
    designs = Designs.of(128, 8, 0, 3, 768)
    assert designs.shape == (1,)
    assert designs.rows() == [
        {"experts": 128, "top_k": 8, "shared_experts": 0, "draft_tokens": 3, "expert_width": 768}
    ]


def test_lists_and_scalars_mix() -> None:
    designs = Designs.of(np.array([64, 128]), 8, 0, np.array([0, 3]), 768)
    assert [(row["experts"], row["draft_tokens"]) for row in designs.rows()] == [(64, 0), (128, 3)]


def test_axes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        _ = Designs.of(np.arange(2), np.arange(3), 0, 0, 1).shape


@pytest.mark.parametrize(
    ("name", "row"),
    [
        # Published config.json files.
        ("qwen3-30b-a3b", (128, 8, 0, 768)),
        ("deepseek-v3", (256, 8, 1, 2048)),
        ("mixtral-8x7b", (8, 2, 0, 14336)),
        ("llama-3.1-8b", (1, 1, 0, 1)),  # dense: one expert that every token takes
    ],
)
def test_of_architecture(name: str, row: tuple[int, int, int, int]) -> None:
    designs = Designs.of_architecture(load_architecture(name), np.array([0, 3]))
    for found, drafted in zip(designs.rows(), (0, 3), strict=True):
        assert tuple(found.values()) == (*row[:3], drafted, row[3])
