"""What of a prediction no server could run: it does not fit, or cannot be cut over the GPUs."""

from typing import Final

import numpy as np

from codesign.constraints import constraint_class
from codesign.prediction import Prediction

GIB: Final = 2.0**30


def unservable(prediction: Prediction) -> list[str]:
    """Return what stands in the way, one sentence each; nothing where it can be served.

    Parameters
    ----------
    prediction : Prediction
        Of one architecture; every batch size of its scenario is looked at on its own.
    """
    lines, limit = [], prediction.scenario.replica.memory_limit
    needed = prediction.memory_bytes_per_gpu.max(axis=tuple(range(1, prediction.tokens.ndim)))
    over = [place for place, size in enumerate(np.atleast_1d(needed)) if size > limit]
    if over:
        sizes = ", ".join(f"{prediction.scenario.batch_sizes[place]:,}" for place in over)
        lines.append(
            f"DOES NOT FIT at batch size {sizes}: up to {float(needed.max()) / GIB:,.1f} GiB per "
            f"GPU, {limit / GIB:.4g} GiB are usable; take more GPUs, a shorter context or another "
            "dtype"
        )
    uneven = constraint_class("divisibility")().explain(prediction)
    return [*lines, f"CANNOT BE CUT EVENLY: {uneven}"] if uneven else lines
