"""Reports of people who run speculative decoding on MoE models, and what codesign answers.

Numbers are facts of public issues; each answer is computed here, and says where the cause lies
outside the model. `docs/accuracy.md` shows the table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from codesign.validation.field_fits import FITS
from codesign.validation.field_predictions import PREDICTIONS


@dataclass(frozen=True)
class FieldReport:
    """One report, answered.

    Parameters
    ----------
    case, title, source : str
    answer : str
        Computed, with its numbers.
    agrees : bool
        Whether sign, cause and best draft length are what was measured.
    """

    case: str
    title: str
    source: str
    answer: str
    agrees: bool


Answer = tuple[str, bool]
Question = tuple[str, str, str, Callable[[], Answer]]


def field_reports() -> list[FieldReport]:
    """Answer every report, in the order of their names."""
    questions: Sequence[Question] = sorted((*FITS, *PREDICTIONS), key=lambda each: each[0])
    return [FieldReport(case, title, source, *ask()) for case, title, source, ask in questions]
