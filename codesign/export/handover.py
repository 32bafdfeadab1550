"""Everything that is handed back, put together once and rendered by the command line."""

from functools import cached_property
from typing import Any

from codesign.errors import UsageError
from codesign.export.engines import ENGINES, EngineExport
from codesign.export.huggingface import config_of
from codesign.export.schedule import BestLengths, best_lengths
from codesign.export.served import Served


class Handover:
    """What engines and trainers are given, each part computed when it is asked for.

    Parameters
    ----------
    served : Served
    largest : int, optional
        Largest batch size of the schedule; absent: what fits into memory, at most 1,024.
    """

    def __init__(self, served: Served, largest: int | None = None) -> None:
        self._served, self._largest = served, largest

    @cached_property
    def lengths(self) -> BestLengths:
        """Draft length by batch size."""
        return best_lengths(self._served, self._largest)

    @cached_property
    def engines(self) -> dict[str, EngineExport]:
        """How each engine is started."""
        schedule = self.lengths.schedule
        return {name: make(self._served, schedule) for name, make in ENGINES.items()}

    @cached_property
    def _config(self) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
        try:
            return config_of(self._served)
        except UsageError as error:
            return None, (str(error),)

    @property
    def config(self) -> dict[str, Any] | None:
        """config.json; absent where the family cannot express the design."""
        return self._config[0]

    @property
    def config_remarks(self) -> tuple[str, ...]:
        """What the config.json leaves open, or why there is none."""
        return self._config[1]

    def to_dict(self) -> dict[str, Any]:
        """Return the stable machine-readable form."""
        return {
            "schedule": [list(each) for each in self.lengths.schedule.ranges],
            "batch_sizes": self.table(),
            "engines": {
                name: {
                    "command": list(export.command),
                    "files": dict(export.files),
                    "remarks": list(export.remarks),
                }
                for name, export in self.engines.items()
            },
            "huggingface": {"config": self.config, "remarks": list(self.config_remarks)},
        }

    def table(self) -> list[dict[str, Any]]:
        """Return draft length and expected speedup by batch size."""
        lengths = self.lengths
        columns = (lengths.batch_sizes, lengths.draft_tokens, lengths.speedups)
        return [
            {"batch_size": size, "draft_tokens": drafted, "sd_speedup": float(speedup)}
            for size, drafted, speedup in zip(*columns, strict=True)
        ]
