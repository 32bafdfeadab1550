"""The space of a study."""

import itertools
from typing import Any

import numpy as np
import pytest

from codesign.errors import UsageError
from codesign.search.space import DesignSpace
from tests.questions import make_scenario, make_study


def space_of(**fields: Any) -> DesignSpace:
    study = make_study(**fields)
    return DesignSpace.of(study.space, make_scenario(**fields))


def rows(space: DesignSpace) -> list[tuple[int, ...]]:
    designs, valid = space.mesh()
    mask = np.broadcast_to(valid, designs.shape).reshape(-1)
    return [tuple(row.values()) for row, keep in zip(designs.rows(), mask, strict=True) if keep]


def test_the_reference_always_belongs_to_it() -> None:
    # product.md: axes always include the reference's own values.
    space = space_of(space={"experts": [64], "top_k": [4], "shared_experts": [1]})
    assert space.axes["experts"] == (64, 128)
    assert space.axes["top_k"] == (4, 8)
    assert space.axes["shared_experts"] == (0, 1)
    assert (128, 8, 0, 3, 768) in rows(space)


def test_fixed_axes_are_the_references_alone() -> None:
    space = space_of(space={"fix": ["experts", "top_k", "shared_experts"]})
    assert space.axes == {
        "experts": (128,), "top_k": (8,), "shared_experts": (0,),
        "draft_tokens": tuple(range(9)),
    }  # fmt: skip
    assert rows(space) == [(128, 8, 0, drafted, 768) for drafted in range(9)]


def test_only_pairs_with_top_k_within_experts_are_designs() -> None:
    # product.md: pairs with k > N are never designs: not told, not counted.
    space = space_of(
        space={
            "experts": [2, 4, 8],
            "top_k": [1, 4, 8],
            "shared_experts": 0,
            "draft_tokens": [0, 1],
        }
    )
    pairs = [(n, k) for n, k in itertools.product((2, 4, 8, 128), (1, 4, 8)) if k <= n]
    assert space.size == len(pairs) * 2 == len(rows(space))
    assert {row[:2] for row in rows(space)} == set(pairs)


WIDTH = {"experts": [64, 128], "top_k": [4, 8, 9], "shared_experts": [0, 1], "draft_tokens": 3}


def widths(policy: str, **fields: Any) -> dict[tuple[int, ...], int]:
    space = space_of(space=WIDTH | {"expert_width": policy}, **fields)
    return {row[:3]: row[4] for row in rows(space)}


def test_width_that_keeps_active_experts() -> None:
    # 8 x 768 = 6144 over k + S experts, to the nearest multiple of 64.
    found = widths("iso_active")
    assert found[128, 8, 0] == 768
    assert found[64, 8, 0] == 768
    assert found[64, 4, 0] == 1536
    assert found[64, 9, 0] == 704  # 682.7
    assert found[64, 4, 1] == 1216  # 1228.8


def test_width_that_keeps_all_experts() -> None:
    # 128 x 768 = 98,304 over N + S experts.
    found = widths("iso_total")
    assert found[64, 4, 0] == 1536
    assert found[64, 4, 1] == 1536  # 1512.4
    assert found[128, 4, 1] == 768  # 762.0


def test_fixed_width() -> None:
    assert set(widths("fixed").values()) == {768}


def test_the_references_own_experts_keep_their_published_width() -> None:
    # gpt-oss-20b: 2880 is no multiple of 128, what mxfp4 asks for.
    found = widths("iso_active", reference="gpt-oss-20b")
    assert found[32, 4, 0] == 2880
    assert found[64, 4, 0] == 2816 or found[64, 4, 0] == 2944


def test_shared_experts_count_in_routed_widths() -> None:
    # Nemotron-3-Nano: 128/6 of width 1856 and a shared one of 3712, twice as wide:
    # (6 + 2) x 1856 = 14,848 over k + 2 S.
    found = widths("iso_active", reference="nemotron-3-nano-30b-a3b")
    assert found[128, 6, 1] == 1856
    assert found[64, 6, 1] == 1856
    assert found[64, 4, 1] == 2496  # 2474.7
    assert found[64, 8, 0] == 1856
    assert found[64, 4, 0] == 3712


def test_searched_widths() -> None:
    space = space_of(
        space={"experts": 128, "top_k": 8, "shared_experts": 0, "draft_tokens": 3,
               "expert_width": "search", "widths": "256,512"}
    )  # fmt: skip
    assert [row[4] for row in rows(space)] == [256, 512, 768]
    assert space.size == 3


@pytest.mark.parametrize("points", [1, 10, 1000, 10**9])
def test_chunks_cover_the_first_axis_once(points: int) -> None:
    space = space_of()
    joined = [value for chunk in space.chunks(points) for value in chunk]
    assert tuple(joined) == space.axes["experts"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"reference": "llama-3.1-8b"},
            "Llama-3.1-8B is a dense model: there are no experts to search. Name an MoE reference "
            "with --arch, or use 'codesign predict' for its draft lengths",
        ),
        (
            {"space": {"experts": [2, 4], "top_k": "8:16"}},
            "space: no design is left, top_k exceeds experts everywhere (top_k >= 8, experts <= 4)",
        ),
        ({"space": {"experts": [0, 8]}}, "space: experts must be at least 1 (0)"),
        ({"space": {"top_k": "0:4"}}, "space: top_k must be at least 1 (0)"),
        (
            {"space": {"expert_width": "search"}},
            "space: expert_width search needs widths, such as 256:2048:128",
        ),
        (
            {"space": {"expert_width": "search", "widths": [0, 64]}},
            "space: widths must be at least 1 (0)",
        ),
    ],
)
def test_refuse(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        space_of(**fields)
    assert str(caught.value) == message
