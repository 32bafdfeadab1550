"""Warnings of a section, each once, with the files that it is about."""

from collections.abc import Sequence
from typing import Final

SHOWN_SOURCES: Final = 3


class Notes:
    """Collects warnings in their order."""

    def __init__(self) -> None:
        self._sources: dict[str, list[str]] = {}

    def add(self, note: str, source: str | None = None) -> None:
        """Add a warning, with the file that gave rise to it."""
        known = self._sources.setdefault(note, [])
        if source is not None and source not in known:
            known.append(source)

    def add_all(self, notes: Sequence[str]) -> None:
        """Add warnings that are about no file in particular."""
        for note in notes:
            self.add(note)

    def lines(self) -> list[str]:
        """Return one line per warning."""
        lines = []
        for note, sources in self._sources.items():
            shown, beyond = ", ".join(sources[:SHOWN_SOURCES]), len(sources) - SHOWN_SOURCES
            more = f" and {beyond} more" if beyond > 0 else ""
            lines.append(f"{shown}{more}: {note}" if sources else note)
        return lines
