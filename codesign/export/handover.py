"""Everything that is handed back, put together once and rendered by the command line."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from codesign.errors import UsageError
from codesign.export.engines import ENGINES, EngineExport
from codesign.export.huggingface import config_of
from codesign.export.schedule import BestLengths, best_lengths
from codesign.export.served import Served

Target = Literal["vllm", "sglang", "huggingface"]
TARGETS: Final[tuple[Target, ...]] = ("vllm", "sglang", "huggingface")


@dataclass(frozen=True)
class Handover:
    """What engines and trainers are given.

    Parameters
    ----------
    lengths : BestLengths
    engines : dict of str to EngineExport
    config : dict, optional
        config.json; absent where the family cannot express the design.
    config_remarks : tuple of str
        What the config.json leaves open, or why there is none.
    """

    lengths: BestLengths
    engines: dict[str, EngineExport]
    config: dict[str, Any] | None
    config_remarks: tuple[str, ...]

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


def hand_over(served: Served, largest: int | None = None) -> Handover:
    """Put together what is handed back.

    Parameters
    ----------
    served : Served
    largest : int, optional
        Largest batch size of the schedule; absent: what fits into memory, at most 1,024.
    """
    lengths = best_lengths(served, largest)
    config: dict[str, Any] | None = None
    try:
        config, remarks = config_of(served)
    except UsageError as error:
        remarks = (str(error),)
    engines = {name: make(served, lengths.schedule) for name, make in ENGINES.items()}
    return Handover(lengths, engines, config, remarks)
