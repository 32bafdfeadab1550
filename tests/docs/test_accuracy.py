"""What docs/accuracy.md claims is what `scripts/write_accuracy.py` computes now."""

from scripts.doc_commands import alike
from scripts.write_accuracy import PAGE, rewritten
from tests.shared_data import SHARED, needs_shared


@needs_shared
def test_every_figure_is_what_its_command_computes() -> None:
    """After a change of the model: python scripts/write_accuracy.py ../shared/data."""
    shown = PAGE.read_text(encoding="utf-8").splitlines()
    computed = rewritten(SHARED / "data").splitlines()
    assert len(shown) == len(computed)
    stale = [(a, b) for a, b in zip(shown, computed, strict=True) if not alike(a, b)]
    assert stale == []
