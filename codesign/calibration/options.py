"""What a user may say about files that do not say it themselves."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date

Progress = Callable[[str, int, int], None]
"""Told the stage, how much more of it is done, and how much there is."""


@dataclass(frozen=True)
class CalibrationOptions:
    """Facts that files leave out, and how to fit.

    Parameters
    ----------
    input_format : str, optional
        Name of a reader; detected from the content where absent.
    architecture : str, optional
        Bundled name, config.json or YAML of the model that was measured.
    experts, top_k, layers : int, optional
        N, k and hidden layers, where neither the file nor an architecture says.
    batch_size, draft_tokens, context : int, optional
        b, K and cached tokens per sequence of the measurement.
    input_tokens, output_tokens : int, optional
        Prompt and generated tokens per sequence, where a file has a whole batch's time only.
    draft : str
        What was run to draft, as a study writes it (``eagle``, ``mtp``, ``fraction:0.05``, ...).
    hardware, backend, dtype : str, optional
        What was measured on.
    gpus, tensor_parallel, expert_parallel : int, optional
        Of the replica that was measured.
    replicates, seed : int
        Bootstrap replicates behind standard errors, and their seed.
    day : date
        Written into the section.
    progress : callable, optional
    """

    input_format: str | None = None
    architecture: str | None = None
    experts: int | None = None
    top_k: int | None = None
    layers: int | None = None
    batch_size: int | None = None
    draft_tokens: int | None = None
    context: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    draft: str = "eagle"
    hardware: str | None = None
    backend: str | None = None
    dtype: str | None = None
    gpus: int | None = None
    tensor_parallel: int | None = None
    expert_parallel: int | None = None
    replicates: int = 200
    seed: int = 0
    day: date = field(default_factory=date.today)
    progress: Progress | None = None
