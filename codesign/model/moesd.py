"""MoESD's step-time form (arXiv 2505.19645): ten fitted numbers instead of component constants.

A named alternative to the component sum, fitted to the same points for comparison. It takes tokens
for independent and knows neither context nor parallelism.
"""

from dataclasses import dataclass

import numpy as np

from codesign.model.arrays import ArrayLike, FloatArray
from codesign.model.routing import unique_experts_uniform


@dataclass(frozen=True, slots=True)
class MoesdParameters:
    """The ten numbers.

    Parameters
    ----------
    bias, dense, experts, expert_tokens : float
        Of the target's pass: constant, per unit of load, per loaded expert, per unit of an
        expert's load (``bias``, ``k1``, ``k2``, ``k3``) [s].
    draft_bias, draft_load : float
        Of one draft pass [s].
    reject_bias, reject_sequence : float
        Of a cycle, and per sequence [s].
    ridge_share, growth : float
        Effective ridge point over the hardware's (``lambda``), and the base of the growth below it
        (``s``), at least 1 [-].
    """

    bias: float
    dense: float
    experts: float
    expert_tokens: float
    draft_bias: float
    draft_load: float
    reject_bias: float
    reject_sequence: float
    ridge_share: float
    growth: float


def load(tokens: ArrayLike, ridge_tokens: float, growth: float) -> FloatArray:
    """Relative time of a matrix product over its number of tokens, G [-].

    Notes
    -----
    growth^t up to the ridge point, its tangent beyond: nearly flat while memory bound, linear when
    compute bound.
    """
    tokens = np.asarray(tokens, dtype=np.float64)
    below = np.minimum(tokens, ridge_tokens)
    return np.asarray(growth**below * (1 + np.log(growth) * (tokens - below)))


def target_seconds(
    parameters: MoesdParameters,
    tokens: ArrayLike,
    experts: int,
    top_k: int,
    ridge_tokens: float,
) -> FloatArray:
    """Time of one pass of the target over so many tokens [s].

    Notes
    -----
    bias + k1 G(t) + k2 N(t) + k3 G(T(t)), with N(t) the experts that independent tokens load and
    T(t) = k t / N(t) the tokens that a loaded expert sees.
    """
    tokens = np.asarray(tokens, dtype=np.float64)
    loaded = unique_experts_uniform(experts, top_k, tokens)
    ridge = parameters.ridge_share * ridge_tokens
    return np.asarray(
        parameters.bias
        + parameters.dense * load(tokens, ridge, parameters.growth)
        + parameters.experts * loaded
        + parameters.expert_tokens * load(top_k * tokens / loaded, ridge, parameters.growth)
    )


def cycle_seconds(
    parameters: MoesdParameters,
    batch_size: ArrayLike,
    draft_tokens: ArrayLike,
    experts: int,
    top_k: int,
    ridge_tokens: float,
) -> FloatArray:
    """Time of a draft-verify cycle; of one decode step where K = 0 [s].

    Notes
    -----
    Equation 4 of the paper: K draft passes, one verification of B (K + 1) tokens, rejection. (Line
    11 of its Algorithm 1, as printed, contradicts it.)
    """
    batch, drafted = np.asarray(batch_size, dtype=np.float64), np.asarray(draft_tokens)
    ridge = parameters.ridge_share * ridge_tokens
    draft = parameters.draft_bias + parameters.draft_load * load(batch, ridge, parameters.growth)
    reject = parameters.reject_bias + parameters.reject_sequence * batch
    verify = target_seconds(parameters, batch * (drafted + 1), experts, top_k, ridge_tokens)
    return np.asarray(verify + np.where(drafted > 0, drafted * draft + reject, 0.0))
