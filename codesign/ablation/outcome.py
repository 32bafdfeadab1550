"""The tables of an ablation, in plain data with stable keys."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from codesign.records import Record

if TYPE_CHECKING:
    import pandas

SCHEMA: Final = "codesign.ablation/1"


@dataclass(frozen=True)
class AblationResult:
    """The tables of an ablation.

    Parameters
    ----------
    ablation : dict
        As asked, with its study resolved.
    rows : list of dict
        One per variant: ``variant``, ``settings``, ``status``, ``design``, ``figures``,
        ``designs``, ``feasible``, ``mechanisms``, ``terms``.
    versions : dict of str to str
    """

    ablation: Record
    rows: list[Record]
    versions: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the stable machine-readable form."""
        return {
            "schema": SCHEMA,
            "ablation": self.ablation,
            "rows": self.rows,
            "versions": self.versions,
        }

    def variants(self) -> list[Record]:
        """Return the tidy table of variants: settings, design, figures, change of the first."""
        first = self.ablation["figures"][0]
        base = _figure(self.rows[0], first)
        table = []
        for row in self.rows:
            own = _figure(row, first)
            change = own / base - 1.0 if own is not None and base else None
            table.append(
                {"variant": row["variant"]}
                | self._settings(row)
                | {name: (row["design"] or {}).get(name) for name in _DESIGN}
                | {name: _figure(row, name) for name in self.ablation["figures"]}
                | {f"{first}_change": change, "status": row["status"]}
            )
        return table

    def mechanisms(self) -> list[Record]:
        """Return the tidy table of mechanisms: what each contributes to the first figure."""
        return self._contributions("mechanisms")

    def terms(self) -> list[Record]:
        """Return the same for every term; a mechanism's Shapley value is the sum of its terms'."""
        return self._contributions("terms")

    def _contributions(self, kind: str) -> list[Record]:
        return [
            {"variant": row["variant"]} | self._settings(row) | entry
            for row in self.rows
            for entry in row[kind]
        ]

    def _settings(self, row: Record) -> Record:
        """A column for every path that any row sets."""
        paths = dict.fromkeys(path for other in self.rows for path in other["settings"])
        return {path: _cell(row["settings"].get(path)) for path in paths}

    def to_frame(self, table: str = "variants") -> "pandas.DataFrame":
        """Return a table as a data frame: ``variants``, ``mechanisms`` or ``terms``."""
        import pandas

        return pandas.DataFrame(getattr(self, table)())


_DESIGN: Final = ("experts", "top_k", "shared_experts", "draft_tokens", "expert_width")


def _figure(row: Record, name: str) -> float | None:
    value = (row["figures"] or {}).get(name)
    return None if value is None else float(value)


def _cell(value: object) -> object:
    """A setting as one cell of a table."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
