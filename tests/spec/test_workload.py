"""Batch sizes and their shares of generated tokens."""

import pytest
from pydantic import ValidationError

from codesign.spec.workload import Workload


def mix(written: object, **more: object) -> list[tuple[int, float]]:
    workload = Workload.from_data({"target_batch_size": written, **more})
    return [(entry.batch_size, entry.share) for entry in workload.target_batch_size]


@pytest.mark.parametrize(
    ("written", "shares"),
    [
        (32, [(32, 1.0)]),
        ("32", [(32, 1.0)]),
        ("8:0.3,32:0.7", [(8, 0.3), (32, 0.7)]),
        (" 8 : .25 , 32 : .75 ", [(8, 0.25), (32, 0.75)]),
        ([{"batch_size": 4, "share": 0.5}, {"batch_size": 2, "share": 0.5}], [(4, 0.5), (2, 0.5)]),
        ([{"batch_size": 4}], [(4, 1.0)]),
        ("65536", [(65536, 1.0)]),
    ],
)
def test_mix(written: object, shares: list[tuple[int, float]]) -> None:
    assert mix(written) == shares


def test_default_context() -> None:
    assert Workload.from_data({"target_batch_size": 1}).context == 4096  # product.md


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("8:0.3,32:0.6", "the shares of the mix must add up to 1, not 0.9"),
        ("8:2", "the shares of the mix must add up to 1, not 2"),
        ("8,32", "every batch size of a mix needs its share, such as 8:0.3,32:0.7"),
        ("8:1,32", "every batch size of a mix needs its share, such as 8:0.3,32:0.7"),
        ("8:0.5,8:0.5", "a batch size stands in the mix twice"),
        ("-4", "write a batch size, or a mix such as 8:0.3,32:0.7"),
        ("3.5", "write a batch size, or a mix such as 8:0.3,32:0.7"),
        ("many", "write a batch size, or a mix such as 8:0.3,32:0.7"),
        ("", "write a batch size, or a mix such as 8:0.3,32:0.7"),
        ("8:-0.5,32:1.5", "write a batch size, or a mix such as 8:0.3,32:0.7"),
        (0, "Input should be greater than or equal to 1"),
        ("8:0,32:1", "Input should be greater than 0"),
        ([], "at least 1 item"),
        (True, "valid"),
        (3.5, "valid"),
    ],
)
def test_refuse_a_mix(written: object, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        mix(written)
    assert message in str(caught.value)


@pytest.mark.parametrize("context", [-1, 1.5, "4096", True])
def test_refuse_a_context(context: object) -> None:
    with pytest.raises(ValidationError, match="context"):
        mix(32, context=context)
