"""Where one design's regimes begin and end, and where its speedup is largest."""

from dataclasses import dataclass

import numpy as np

from codesign.designs import Designs
from codesign.prediction import predict
from codesign.scenario import Scenario

LARGEST_BATCH = 4096
POINTS_PER_DOUBLING = 8


@dataclass(frozen=True)
class RegimeMap:
    """Regimes of one design over batch sizes.

    Parameters
    ----------
    partial_load_until : int
        Largest batch size up to which every smaller one is partial load too; 0 if none is.
    compute_bound_from : int, optional
        Smallest batch size from which verification is compute bound; absent up to 4,096.
    sweet_spot_batch_size : int
        Batch size of the largest speedup.
    sweet_spot_speedup : float
    """

    partial_load_until: int
    compute_bound_from: int | None
    sweet_spot_batch_size: int
    sweet_spot_speedup: float


def scanned_batch_sizes(largest: int = LARGEST_BATCH) -> tuple[int, ...]:
    """Return batch sizes from 1 to `largest`, eight per doubling."""
    steps = int(np.ceil(np.log2(largest) * POINTS_PER_DOUBLING))
    sizes = np.rint(2.0 ** (np.arange(steps + 1) / POINTS_PER_DOUBLING)).astype(int)
    return tuple(int(size) for size in np.unique(np.minimum(sizes, largest)))


def regime_map(design: Designs, scenario: Scenario) -> RegimeMap:
    """Scan one design over batch sizes 1 to 4,096.

    Parameters
    ----------
    design : Designs
        A single one.
    scenario : Scenario
    """
    sizes = np.array(scanned_batch_sizes())
    prediction = predict(design, scenario.at(tuple(int(size) for size in sizes)))
    regimes = np.broadcast_to(prediction.regime.reshape(len(sizes), -1)[:, 0], sizes.shape)
    speedups = prediction.sd_speedup.reshape(len(sizes), -1)[:, 0]
    partial = regimes == "partial load"
    filled = int(np.argmin(partial)) if not partial.all() else len(sizes)
    bound = np.flatnonzero(regimes == "compute bound")
    best = int(np.argmax(speedups))
    return RegimeMap(
        partial_load_until=int(sizes[filled - 1]) if filled else 0,
        compute_bound_from=int(sizes[bound[0]]) if len(bound) else None,
        sweet_spot_batch_size=int(sizes[best]),
        sweet_spot_speedup=float(speedups[best]),
    )


def pays_no_more_from(design: Designs, scenario: Scenario) -> int | None:
    """Return the smallest batch size from which speculative decoding no longer pays.

    Absent where it pays up to 4,096; 1 where it never does.

    Parameters
    ----------
    design : Designs
        A single one.
    scenario : Scenario
    """
    sizes = scanned_batch_sizes()
    speedups = predict(design, scenario.at(sizes)).sd_speedup.reshape(len(sizes), -1)[:, 0]
    paying = np.flatnonzero(speedups > 1.0)
    if len(paying) == 0:
        return 1
    last = int(paying[-1])
    return None if last == len(sizes) - 1 else sizes[last + 1]
