"""Is a design no worse than its reference? Loss differences, their uncertainty and their warnings.

Laws disagree in sign on the very trade that speculative decoding rewards (twice the experts, half
the top_k), so the constraint is a quantile over laws, coefficient draws and structural error.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from scipy.stats import qmc

from codesign.model.arrays import ArrayLike, FloatArray
from codesign.model.quality.laws import FINEST_GRANULARITY
from codesign.model.quality.members import ENSEMBLE, Law, QualityInputs, distance_outside

Flags = npt.NDArray[np.bool_]

EPSILON = 0.01
"""Loss that may be given up [nats per token]."""
TIE = 0.015
"""Loss difference below which two designs are not told apart [nats per token]."""
STRUCTURAL_SD = 0.02
"""Structural error of a law for one unit of log distance in E and in N_act [nats per token]."""
SHARED_EXPERTS_SD = 0.01
"""Effect of one shared expert more or less, unknown in sign [nats per token]."""
HIGHEST_SHARED_SHARE = 0.35
"""Shared among active experts; the one law with an optimum has it at .315 (`zhao_2025`)."""

SAMPLES_AT_ONCE = 2**21
"""Samples in memory together, 16 MB, however many designs there are."""


@dataclass(frozen=True)
class QualityEstimate:
    """Loss difference of designs against a reference, with its uncertainty.

    Attributes
    ----------
    mean : ndarray
        Mean over laws at their best coefficients [nats per token], as `loss_difference`.
    quantile : ndarray
        Quantile over laws, coefficient draws and structural error [nats per token].
    probability : ndarray
        Probability that the loss difference is at most epsilon.
    """

    mean: FloatArray
    quantile: FloatArray
    probability: FloatArray


class ShapeFlags(NamedTuple):
    """Warnings about designs in which the laws see a gain that nobody has measured."""

    many_shared: Flags
    fine_grained: Flags


def loss_difference(
    design: QualityInputs, reference: QualityInputs, laws: Sequence[Law] = ENSEMBLE
) -> FloatArray:
    """Mean over laws of the loss of a design minus that of its reference.

    Parameters
    ----------
    design : QualityInputs
        Fields may form an open mesh; each term is evaluated on the axes it depends on only.
    reference : QualityInputs
        One Mixture-of-Experts model at the same training tokens.
    laws : sequence of Law
        The members, such as `SIMPLE` or `ENSEMBLE`.

    Returns
    -------
    ndarray
        Loss difference [nats per token]; positive is worse.

    Examples
    --------
    >>> reference = QualityInputs(30.5e9, 3.35e9, 128, 8, 0, 2048, 768, 15e12)
    >>> half_the_experts = QualityInputs(16.0e9, 3.35e9, 64, 8, 0, 2048, 768, 15e12)
    >>> round(float(loss_difference(half_the_experts, reference)), 3)
    0.028
    """
    differences = [law.difference(design, reference) for law in laws]
    return np.asarray(sum(differences) / len(differences), dtype=np.float64)


def estimate_quality(
    design: QualityInputs,
    reference: QualityInputs,
    laws: Sequence[Law] = ENSEMBLE,
    *,
    epsilon: float = EPSILON,
    level: float = 0.8,
    draws: int = 64,
    seed: int = 0,
) -> QualityEstimate:
    """Loss difference with its uncertainty, equal weight on every law.

    Parameters
    ----------
    design, reference, laws
        As for `loss_difference`.
    epsilon : float
        Acceptable loss difference [nats per token].
    level : float
        Level of the quantile.
    draws : int
        Draws per law, a power of two. All designs share them, so that comparing two designs is
        not a comparison of noise, and memory does not grow with the number of designs.
    seed : int
        Seed of the scrambled Sobol points.

    Returns
    -------
    QualityEstimate
        Arrays of the broadcast shape of `design`.

    Raises
    ------
    ValueError
        If `draws` is not a power of two.
    """
    deviates = _deviates(max(len(law.coefficients) for law in laws), draws, seed)
    shape = np.broadcast_shapes(*(np.shape(column) for column in _columns(design)))
    quantile, probability = np.empty(np.prod(shape, dtype=int)), np.empty(np.prod(shape, dtype=int))
    for piece, part in _pieces(design, max(1, SAMPLES_AT_ONCE // (draws * len(laws)))):
        samples = np.concatenate([_samples(part, reference, law, deviates) for law in laws])
        quantile[piece] = np.quantile(samples, level, axis=0)
        probability[piece] = np.mean(samples <= epsilon, axis=0)
    mean = np.broadcast_to(loss_difference(design, reference, laws), shape)
    return QualityEstimate(mean, quantile.reshape(shape), probability.reshape(shape))


def structural_sd(design: QualityInputs, reference: QualityInputs, law: Law) -> ArrayLike:
    """Standard deviation of a law's own error on a difference [nats per token].

    Notes
    -----
    .02·√((|Δ ln E| + |Δ ln N_act|)/2)·(1 + log10 of the distance outside the law's shape ranges).
    The distance in scale is the reference's as well and cancels from a difference to first order.
    """
    expansion = np.abs(np.log(design.expansion / reference.expansion))
    active = np.abs(np.log(design.active / reference.active))
    inflation = 1 + np.log10(distance_outside(design, law.shape))
    sd: ArrayLike = STRUCTURAL_SD * np.sqrt((expansion + active) / 2) * inflation
    return sd


def shape_flags(design: QualityInputs) -> ShapeFlags:
    """Flag designs with more shared experts, or more active ones, than measurements support.

    Examples
    --------
    >>> flags = shape_flags(QualityInputs(30e9, 3e9, 128, 4, 4, 2048, 768, 15e12))
    >>> bool(flags.many_shared), bool(flags.fine_grained)
    (True, False)
    """
    return ShapeFlags(
        many_shared=np.asarray(design.shared_share > HIGHEST_SHARED_SHARE),
        fine_grained=np.asarray(design.active_experts > FINEST_GRANULARITY),
    )


def _deviates(coefficients: int, draws: int, seed: int) -> FloatArray:
    """Standard normal deviates: structural error, shared experts, then each coefficient."""
    exponent = draws.bit_length() - 1
    if draws != 2**exponent:
        raise ValueError(f"draws must be a power of two, not {draws}")
    points = qmc.Sobol(2 + coefficients, rng=seed).random_base2(exponent)
    return np.asarray(ndtri(points.T[:, :, np.newaxis]), dtype=np.float64)


def _samples(
    part: QualityInputs, reference: QualityInputs, law: Law, deviates: FloatArray
) -> FloatArray:
    """Loss differences of one law, (draws, designs)."""
    structural, shared, *coefficients = deviates
    difference = law.difference(part, reference, coefficients[: len(law.coefficients)])
    changed = np.minimum(1.0, np.abs(part.shared_experts - reference.shared_experts))
    spread = structural_sd(part, reference, law) * structural
    return np.asarray(difference + spread + SHARED_EXPERTS_SD * changed * shared)


def _columns(design: QualityInputs) -> list[ArrayLike]:
    return [getattr(design, field.name) for field in fields(design)]


def _pieces(design: QualityInputs, length: int) -> Iterator[tuple[slice, QualityInputs]]:
    """Runs of at most `length` designs, flattened, without spelling out the whole mesh."""
    columns = np.broadcast_arrays(*_columns(design))
    for start in range(0, columns[0].size, length):
        piece = slice(start, min(start + length, columns[0].size))
        yield piece, QualityInputs(*(column.flat[piece] for column in columns))
