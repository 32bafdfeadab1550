"""One exit status per class of error, and the nearest name."""

import sys
import unicodedata

import pytest

from codesign.errors import (
    CalibrationError,
    CodesignError,
    DataError,
    InfeasibleError,
    UsageError,
    did_you_mean,
    is_readable,
    printable,
)


@pytest.mark.parametrize(
    ("error", "status"),
    # product.md: 2 usage, study or spec; 3 nothing feasible; 4 data file; 5 no fit; 70 a bug.
    [(UsageError, 2), (InfeasibleError, 3), (DataError, 4), (CalibrationError, 5),
     (CodesignError, 70)],
)  # fmt: skip
def test_exit_status(error: type[CodesignError], status: int) -> None:
    assert error.exit_status == status
    assert issubclass(error, CodesignError)


@pytest.mark.parametrize(
    ("name", "choices", "hint"),
    [
        ("contxt", ["context", "target_batch_size"], "; did you mean 'context'?"),
        ("H100-SMX", ["h100-sxm", "h200-sxm"], "; did you mean 'h100-sxm'?"),
        ("QWEN", ["Qwen", "Mixtral"], "; did you mean 'Qwen'?"),
        ("zebra", ["h100-sxm"], ""),
        ("", ["h100-sxm"], ""),
        ("anything", [], ""),
    ],
)
def test_did_you_mean(name: str, choices: list[str], hint: str) -> None:
    assert did_you_mean(name, choices) == hint


def test_every_character_is_seen_or_written_out() -> None:
    """Unicode's own categories: what is no glyph and no space (C*, Zl, Zp) is never shown."""
    for code in range(sys.maxunicode + 1):
        unseen = unicodedata.category(chr(code)) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
        shown = printable(chr(code))
        assert (shown != chr(code)) == unseen, hex(code)
        assert all(c.isprintable() or unicodedata.category(c) == "Zs" for c in shown), hex(code)
        assert is_readable(chr(code)) == (not unseen or chr(code) in "\t\n"), hex(code)
