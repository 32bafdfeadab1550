"""Time that GPUs of a replica spend exchanging activations."""

from dataclasses import dataclass

import numpy as np

from codesign.model.arrays import ArrayLike
from codesign.model.roofline import Cost


@dataclass(frozen=True, slots=True)
class Interconnect:
    """Achieved constants of the collectives.

    Parameters
    ----------
    gpus : tuple of int
        Numbers of GPUs whose all-reduce floor is known, ascending.
    all_reduce_floors : tuple of float
        Their floors, in a CUDA graph [s].
    all_reduce_bandwidth, all_to_all_bandwidth : float
        Bus bandwidth of all-reduce, payload bandwidth of dispatch and combine [B/s].
    dispatch_floor, combine_floor : float
        [s].
    all_reduce_shares : tuple of float
        Share of the all-reduce bandwidth that each of the numbers of GPUs reaches; all of it
        where empty [-].
    """

    gpus: tuple[int, ...]
    all_reduce_floors: tuple[float, ...]
    all_reduce_bandwidth: float
    dispatch_floor: float
    combine_floor: float
    all_to_all_bandwidth: float
    all_reduce_shares: tuple[float, ...] = ()


def all_reduce(link: Interconnect, times: int, gpus: int, message_bytes: ArrayLike) -> Cost:
    """Cost of `times` all-reduces of one message; nothing on one GPU.

    Parameters
    ----------
    link : Interconnect
    times, gpus : int
    message_bytes : array_like
        Of one message [B].

    Notes
    -----
    floor(gpus) + 2 (g-1)/g bytes / bandwidth(gpus). Floors and bandwidths between known numbers of
    GPUs are interpolated in log2; beyond them the last one is held.

    Examples
    --------
    >>> h100 = Interconnect((2, 4, 8), (4.3e-6, 4.6e-6, 4.7e-6), 120e9, 10.3e-6, 11.2e-6, 275e9)
    >>> float(all_reduce(h100, 1, 8, 2**20).seconds)  # doctest: +ELLIPSIS
    1.99...e-05
    """
    if gpus == 1 or times == 0:
        return Cost()
    known = np.log2(link.gpus)
    floor = float(np.interp(np.log2(gpus), known, link.all_reduce_floors))
    share = float(np.interp(np.log2(gpus), known, link.all_reduce_shares or np.ones(known.size)))
    bus_bytes = 2.0 * (gpus - 1) / gpus * message_bytes
    bandwidth = link.all_reduce_bandwidth * share
    return Cost(np.asarray(times * floor), np.asarray(times * bus_bytes / bandwidth))


def dispatch_combine(
    link: Interconnect, layers: int, payload_elements: ArrayLike, dispatch_bytes: float
) -> Cost:
    """Cost of sending tokens to their experts' GPUs and the results back, in all MoE layers.

    Parameters
    ----------
    link : Interconnect
    layers : int
        MoE layers.
    payload_elements : array_like
        Token copies one GPU sends, times the hidden size [element].
    dispatch_bytes : float
        Of an element on the way out; results return in bf16 [B].
    """
    floor = link.dispatch_floor + link.combine_floor
    payload = payload_elements * (dispatch_bytes + 2.0)
    return Cost(
        np.asarray(layers * floor), np.asarray(layers * payload / link.all_to_all_bandwidth)
    )
