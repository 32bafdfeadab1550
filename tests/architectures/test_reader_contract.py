"""Every family that a random config can be made for keeps the contract of readers."""

from pathlib import Path

import pytest

from codesign.architectures.readers import families
from tests.architectures.example_configs import EXAMPLES
from tests.architectures.reader_contract import ReaderContract


def _contract(model_type: str) -> type[ReaderContract]:
    fields = EXAMPLES[model_type]
    members = {"family": families()[model_type], "fields": fields}
    return type(f"Test_{model_type.replace('-', '_')}", (ReaderContract,), members)


globals().update({contract.__name__: contract for contract in map(_contract, EXAMPLES)})


def test_every_family_has_an_example() -> None:
    """A new reader brings an example of its config."""
    covered = {id(families()[model_type]) for model_type in EXAMPLES}
    assert {id(family) for family in families().values()} == covered


def test_model_types_are_listed_in_the_docs() -> None:
    """The page on families names every model type."""
    page = Path(__file__).parents[2] / "docs" / "adding-a-family.md"
    if not page.exists():
        pytest.skip("the documentation is not installed")
    text = page.read_text()
    assert [name for name in families() if f"`{name}`" not in text] == []
