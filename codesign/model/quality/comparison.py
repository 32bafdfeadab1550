"""Published laws that are implemented for comparison only and never enter the ensemble.

Units and conventions are those of `codesign.model.quality.laws`.
"""

from dataclasses import dataclass

import numpy as np

from codesign.model.arrays import ArrayLike
from codesign.model.quality.laws import saturated_expansion


def clark_2022(dense_parameters: ArrayLike, experts: ArrayLike) -> ArrayLike:
    """Loss of top-1 routing (S-BASE) in every other layer, after 130 billion tokens.

    Parameters
    ----------
    dense_parameters : float or ndarray
        Parameters of the dense base model, without embeddings.
    experts : float or ndarray
        Experts per routed layer, up to 512.

    Returns
    -------
    float or ndarray
        Loss [nats per token] on their own data.

    Notes
    -----
    log10 L = a log10 N + b log10 Ê + c log10 N log10 Ê + d, arXiv 2202.01169, with Ê of
    `saturated_expansion`. Base 10 and N without embeddings are the reading under which their own
    runs come out (2.24 nats for the dense 1.3B model).

    Examples
    --------
    >>> round(float(clark_2022(1.309e9, 1.0)), 2)
    2.24
    """
    size = np.log10(dense_parameters)
    width = np.log10(saturated_expansion(experts, 1.847, 314.478))
    return 10.0 ** (-0.082 * size - 0.108 * width + 0.009 * size * width + 1.104)


@dataclass(frozen=True)
class GranularityCoefficients:
    """Krajewski et al. 2024; the defaults are those for an expansion of 64."""

    a: ArrayLike = 18.1
    alpha: ArrayLike = 0.115
    b: ArrayLike = 30.8
    beta: ArrayLike = 0.147
    g: ArrayLike = 2.1
    gamma: ArrayLike = 0.58
    c: ArrayLike = 0.47


EXPANSION_64 = GranularityCoefficients()
EXPANSION_16 = GranularityCoefficients(19.64, 0.124, 57.07, 0.169, 1.18, 0.986, 0.472)


def krajewski_2024(
    total: ArrayLike,
    training_tokens: ArrayLike,
    granularity: ArrayLike,
    coefficients: GranularityCoefficients = EXPANSION_64,
) -> ArrayLike:
    """Loss of fine-grained experts at a fixed expansion.

    Parameters
    ----------
    total, training_tokens : float or ndarray
        Parameters without embeddings, and tokens.
    granularity : float or ndarray
        Width of the dense FFN (4·hidden size) over expert width.

    Returns
    -------
    float or ndarray
        Loss [nats per token] on their own data.

    Notes
    -----
    L = c + (g/G^γ + a)/N^α + b/D^β, arXiv 2402.07871.
    """
    c = coefficients
    size_term = (c.g / granularity**c.gamma + c.a) / total**c.alpha
    return c.c + size_term + c.b / training_tokens**c.beta


def abnar_2025(total: ArrayLike, training_tokens: ArrayLike, activation: ArrayLike) -> ArrayLike:
    """Loss at a given sparsity; over-predicts the effect of the active share about threefold.

    Parameters
    ----------
    total, training_tokens : float or ndarray
        Parameters and tokens.
    activation : float or ndarray
        Active share of the routed experts k/N, one less their sparsity.

    Returns
    -------
    float or ndarray
        Loss [nats per token] on their own data.

    Notes
    -----
    L = a/N^α + b/D^β + c/(1-S)^λ + d/((1-S)^δ N^γ) + e, arXiv 2501.12370, Eq. 6 and Table 3.
    """
    size_term = 16612.5 / total**0.5962
    data_term = 5455.67 / training_tokens**0.3954
    sparsity_term = 0.4598 / activation**-0.1666
    return (
        size_term + data_term + sparsity_term + 17.26 / (activation**0.1603 * total**0.1595) + 0.94
    )
