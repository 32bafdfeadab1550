"""Calibration sections about time: step times and where a step's time goes."""

from codesign.spec.section import Section


class LatencySection(Section):
    """Constants of the step time, fitted to measured points.

    Parameters
    ----------
    hardware, backend, dtype, architecture : str, optional
        What the points were measured on, and so what the constants hold for.
    gpus : int, optional
        Of the replica.
    """

    hardware: str | None = None
    backend: str | None = None
    dtype: str | None = None
    architecture: str | None = None
    gpus: int | None = None


class ProfileSection(Section):
    """Shares of a step's time, measured from kernel times.

    Parameters
    ----------
    batch_size, draft_tokens : int, optional
        Load of the profiled steps.
    """

    batch_size: int | None = None
    draft_tokens: int | None = None
