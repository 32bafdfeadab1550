"""A small, fixed sample of what scripts/fuzz.py does by the hundred thousand; anything at all."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codesign.errors import CodesignError
from tests.hostile.kinds import KINDS, Kind
from tests.hostile.mutations import as_json
from tests.hostile.outcome import judged
from tests.properties.any_question import FACTOR

FIXED = 60
"""Inputs of each kind."""


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_a_hostile_file_is_read_or_refused_with_one_message(kind: Kind, tmp_path: Path) -> None:
    for number in range(FIXED):
        chance = Random(f"{kind.name} sample {number}")
        outcome = judged(kind, kind.content(chance), tmp_path, chance)
        assert outcome.verdict != "fault", (number, outcome.signature, outcome.text)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_good_files_are_read(kind: Kind, tmp_path: Path) -> None:
    """Otherwise the fuzzer would only ever see the first complaint of a reader."""
    verdicts = set()
    for document in kind.documents():
        outcome = judged(kind, kind.good(document), tmp_path, Random(1))
        assert outcome.verdict != "fault", outcome.text
        verdicts.add(outcome.verdict)
    assert "read" in verdicts


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
@settings(max_examples=15 * FACTOR, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300) | ANYTHING.map(as_json), chance=st.randoms())
def test_anything_at_all(kind: Kind, content: bytes, chance: Random, tmp_path: Path) -> None:
    outcome = judged(kind, content, tmp_path, chance)
    assert outcome.verdict != "fault", (outcome.signature, outcome.text)


def test_an_error_of_our_own_is_told_from_a_fault(tmp_path: Path) -> None:
    """The judge itself: what is none of our errors, or says nothing, or the wrong status."""

    def kind(error: Exception) -> Kind:
        def read(path: Path, _: Random) -> object:
            raise error

        return Kind("made up", lambda: [{}], read, (4,))

    assert judged(kind(KeyError("x")), b"", tmp_path, Random(0)).verdict == "fault"
    assert judged(kind(CodesignError("x")), b"", tmp_path, Random(0)).verdict == "fault"
    endless = Kind("made up", lambda: [{}], lambda *_: float("nan"), (4,))
    assert judged(endless, b"", tmp_path, Random(0)).verdict == "fault"
