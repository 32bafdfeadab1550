"""What the readers of acceptance return."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from codesign.errors import CalibrationError, DataError

MOST_DRAFT_TOKENS: Final = 1024
"""Far above any draft; what is fitted per position stays small."""

Counter = dict[str, float]
"""Of one engine: drafts, drafted, accepted, emitted, and accepted per position by its number."""


@dataclass(frozen=True)
class AcceptanceRecord:
    """One interval, run or request of speculative decoding.

    Parameters
    ----------
    label : str
        File, and where in it.
    file : str
        The file; records of one file are never taken for copies of each other.
    draft_tokens : int, optional
        K; absent where the file does not say.
    drafts : float, optional
        Draft-verify cycles times sequences [-].
    accepted : float, optional
        Drafted tokens that were accepted [token].
    survival : tuple of float
        Accepted at each position, unconditional [-].
    stated_length : float, optional
        Acceptance length as printed, where nothing was counted [token].
    weight : float
        Relative, where drafts are not known.
    series : str
        Name of the list it belongs to, where a file has several.
    notes, warnings : tuple of str

    Raises
    ------
    DataError
        If more positions are drafted than in any draft, a share is none, or a cycle yields less
        than a token.
    CalibrationError
        If none are.
    """

    label: str
    file: str
    draft_tokens: int | None = None
    drafts: float | None = None
    accepted: float | None = None
    survival: tuple[float, ...] = ()
    stated_length: float | None = None
    weight: float = 1.0
    series: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.draft_tokens == 0:
            raise CalibrationError(f"{self.label}: K = 0: speculative decoding was off")
        positions = max(self.draft_tokens or 0, len(self.survival))
        if positions > MOST_DRAFT_TOKENS:
            raise DataError(
                f"{self.label}: {positions:,} tokens drafted at a time are more than "
                f"{MOST_DRAFT_TOKENS:,}: no draft is that long"
            )
        for place, share in enumerate(self.survival, 1):
            if not 0 <= share <= 1:
                raise DataError(
                    f"{self.label}: the share accepted at position {place} must lie between 0 and "
                    f"1, not {share:g}"
                )
        if not 1 <= self.length <= MOST_DRAFT_TOKENS + 1:
            raise DataError(
                f"{self.label}: {self.length:g} tokens per cycle cannot be: each yields one, and "
                "what was accepted of a draft"
            )

    @property
    def length(self) -> float:
        """Tokens per cycle with the bonus token; from counts, else survival, else as stated."""
        if self.drafts and self.accepted is not None:
            return 1.0 + self.accepted / self.drafts
        if self.survival:
            return 1.0 + sum(self.survival)
        assert self.stated_length is not None
        return self.stated_length


@dataclass(frozen=True)
class Scrape:
    """Counters of a metrics endpoint at one moment.

    Parameters
    ----------
    path : Path
    engines : mapping
        Counters by engine.
    created : mapping
        When the engine's counters began, where exported [s].
    """

    path: Path
    engines: Mapping[str, Counter]
    created: Mapping[str, float] = field(default_factory=dict)


AcceptanceData = AcceptanceRecord | Scrape
