"""Published laws of pretraining quality, one function each.

Parameters and tokens are raw counts, losses nats per token; every argument, coefficients included,
may be an array and broadcasts. A law speaks for losses on its own data, so only its differences
between two designs mean anything here. `active` and `total` count the embeddings.
"""

from dataclasses import dataclass

import numpy as np

from codesign.model.arrays import ArrayLike

FINEST_GRANULARITY = 16.0
"""Active experts beyond which none of the data behind `effective_parameters` reaches."""


def saturated_expansion(expansion: ArrayLike, start: ArrayLike, maximum: ArrayLike) -> ArrayLike:
    """Expansion after the overhead of few experts and the saturation of many.

    Notes
    -----
    1/Ê = 1/(E - 1 + (1/E_start - 1/E_max)⁻¹) + 1/E_max, so Ê = E_start at E = 1 and Ê < E_max.
    Clark et al. 2022, arXiv 2202.01169; Ludziejewski et al. 2025, arXiv 2502.05172, Eq. 4.
    """
    offset = 1 / (1 / start - 1 / maximum)
    return 1 / (1 / (expansion - 1 + offset) + 1 / maximum)


@dataclass(frozen=True)
class JointCoefficients:
    """Ludziejewski et al. 2025, Table 3."""

    a: ArrayLike = 35.91
    alpha: ArrayLike = -0.1889
    delta: ArrayLike = -0.2285
    gamma: ArrayLike = 0.0098
    b: ArrayLike = 35.98
    beta: ArrayLike = -0.1775
    omega: ArrayLike = 0.5529
    zeta: ArrayLike = -0.0259
    start: ArrayLike = 2.0732
    maximum: ArrayLike = 290.4521
    c: ArrayLike = 1.3637


JOINT_PUBLISHED = JointCoefficients()


def ludziejewski_2025(
    active: ArrayLike,
    training_tokens: ArrayLike,
    expansion: ArrayLike,
    coefficients: JointCoefficients = JOINT_PUBLISHED,
) -> ArrayLike:
    """Loss of a Mixture-of-Experts model, dense models included (the "Joint" law).

    Parameters
    ----------
    active, training_tokens : float or ndarray
        Active parameters (both embedding tables counted, as in their Appendix E) and tokens.
    expansion : float or ndarray
        Experts of the size of a whole FFN, one of them active; 1 is a dense model.

    Returns
    -------
    float or ndarray
        Loss [nats per token].

    Notes
    -----
    L = a Ê^δ N^(α + γ ln Ê) + b Ê^ω D^(β + ζ ln Ê) + c, arXiv 2502.05172, Eq. 6 and Table 3.
    Fitted on N 79M-2.7B, E 1-32, D 0.5-80B; RMSE .0062, .0039 held out. Some surveys flip the signs
    of δ and ω. More experts lower the first term up to N = 13B (δ + γ ln N < 0) and the second from
    D = 1.9B on (ω + ζ ln D < 0): below that many tokens the law says the opposite of what is known.
    """
    c = coefficients
    saturated = saturated_expansion(expansion, c.start, c.maximum)
    log = np.log(saturated)
    size_term = c.a * saturated**c.delta * active ** (c.alpha + c.gamma * log)
    data_term = c.b * saturated**c.omega * training_tokens ** (c.beta + c.zeta * log)
    return size_term + data_term + c.c


def dense_loss(parameters: ArrayLike, training_tokens: ArrayLike) -> ArrayLike:
    """Loss [nats per token] of a dense model, `ludziejewski_2025` at an expansion of one."""
    return ludziejewski_2025(parameters, training_tokens, 1.0)


@dataclass(frozen=True)
class LeverageCoefficients:
    """Tian et al. (Ling team) 2025, the joint fit."""

    a: ArrayLike = 1.23
    d: ArrayLike = -0.0761
    gamma: ArrayLike = 0.0167
    beta: ArrayLike = -0.117
    start: ArrayLike = 0.0163
    maximum: ArrayLike = 5.28e16


LEVERAGE_PUBLISHED = LeverageCoefficients()


def ling_2025(
    activation: ArrayLike,
    granularity: ArrayLike,
    training_flops: ArrayLike,
    coefficients: LeverageCoefficients = LEVERAGE_PUBLISHED,
) -> ArrayLike:
    """Efficiency leverage: compute of the dense model of equal loss over compute of this one.

    Parameters
    ----------
    activation : float or ndarray
        Active share of the experts (k + s)/(N + s).
    granularity : float or ndarray
        2·hidden size / expert width; the quadratic holds from 2 on, smaller values count as 2.
    training_flops : float or ndarray
        Compute of the Mixture-of-Experts model's training, 6·active·tokens [FLOP].

    Returns
    -------
    float or ndarray
        Leverage [-]. At equal tokens the equivalent dense model has leverage·active parameters.

    Notes
    -----
    EL = Â^(a + d log10 C + γ (log2 G)² + β log2 G), 1/Â = 1/(A + (1/A_start - 1/A_max)⁻¹) + 1/A_max
    (there is no -1 beside A), arXiv 2507.17702, Eq. 13. Only with log10 of C and log2 of G do their
    EL(3.1 %, 12, 1e22) > 7 and optimum G of about 12 come out; the paper leaves the bases open.
    Fitted on A 0.8-100 %, G 2-16, C 1e18-6e20.

    Examples
    --------
    >>> round(float(ling_2025(0.031, 12.0, 1e22)), 2)
    7.24
    """
    c = coefficients
    fineness = np.log2(np.maximum(granularity, 2.0))
    exponent = c.a + c.d * np.log10(training_flops) + c.gamma * fineness**2 + c.beta * fineness
    saturated = saturated_expansion(activation + 1, c.start, c.maximum)
    return saturated**exponent


@dataclass(frozen=True)
class FiveFactorCoefficients:
    """Zhao et al. 2025, the fitted joint law."""

    e: ArrayLike = 0.1577
    f: ArrayLike = 7.2446
    m: ArrayLike = 5.1395
    n: ArrayLike = -3.2363
    k: ArrayLike = 0.0013
    h: ArrayLike = 0.0450
    a: ArrayLike = 38.051
    alpha: ArrayLike = 0.2383
    b: ArrayLike = 27129.05
    beta: ArrayLike = 0.4694
    c: ArrayLike = 31.096
    epsilon: ArrayLike = 1.8182


FIVE_FACTORS_PUBLISHED = FiveFactorCoefficients()


def zhao_2025(
    total: ArrayLike,
    active: ArrayLike,
    training_tokens: ArrayLike,
    active_experts: ArrayLike,
    shared_share: ArrayLike,
    coefficients: FiveFactorCoefficients = FIVE_FACTORS_PUBLISHED,
) -> ArrayLike:
    """Loss from five factors: size, active size, data, active experts and their shared share.

    Parameters
    ----------
    total, active, training_tokens : float or ndarray
        Parameters, active parameters and tokens.
    active_experts : float or ndarray
        Experts a token passes, shared ones included, k + s.
    shared_share : float or ndarray
        Shared among the active experts, s/(k + s).

    Returns
    -------
    float or ndarray
        Loss [nats per token].

    Notes
    -----
    L = (eG + f/G + mS² + nS)(N^-α + k N_a^-α + h N_a/N) + a N^-α + b D^-β + c N_a^-α + ε,
    arXiv 2509.23678 (rejected at review: good for one voice among several). Fitted on N 133M-3.4B,
    N_a 30M-2.2B, D 10-50B, G 1-20, S 0-.7. Its optima are G = √(f/e) = 6.78 and S = -n/2m = .315.
    """
    c = coefficients
    mixture = c.e * active_experts + c.f / active_experts
    sharing = c.m * shared_share**2 + c.n * shared_share
    scale = total**-c.alpha + c.k * active**-c.alpha + c.h * active / total
    size_terms = c.a * total**-c.alpha + c.c * active**-c.alpha
    return (mixture + sharing) * scale + size_terms + c.b * training_tokens**-c.beta + c.epsilon


def total_active_geometric_mean(total: ArrayLike, active: ArrayLike) -> ArrayLike:
    """Size of the equivalent dense model, √(total·active): the practitioners' rule.

    It has no coefficients to fit. On pairs of runs that differ by a single change no law has a
    smaller error (`tests/model/test_quality_ensemble.py`, where ../shared is present).

    Examples
    --------
    >>> round(float(total_active_geometric_mean(46.7e9, 12.9e9)) / 1e9, 1)
    24.5
    """
    return np.sqrt(total) * np.sqrt(active)


def effective_parameters(
    total: ArrayLike,
    active: ArrayLike,
    active_experts: ArrayLike,
    theta: ArrayLike = 0.648,
    eta: ArrayLike = 0.285,
    maximum: ArrayLike = 107.0,
) -> ArrayLike:
    """Size of the equivalent dense model, fitted to measured ablations ("EffParam").

    Parameters
    ----------
    total, active : float or ndarray
        Parameters and active parameters.
    active_experts : float or ndarray
        k + s; granularity earns nothing beyond `FINEST_GRANULARITY`.
    theta, eta, maximum : float or ndarray
        Worth of sparse capacity, worth of granularity, and the ratio at which capacity saturates.

    Returns
    -------
    float or ndarray
        Equivalent dense parameters; total = active and k + s = 1 give `active`.

    Notes
    -----
    r = N_tot/N_act, r_s = r (1 + 1/E_m)/(1 + r/E_m), N_eff = N_act r_s^θ exp(η (1 - 1/(k + s))).
    Defaults fitted within the groups of design notes' ablations.csv, whose Clark and Step-Law rows
    leave embeddings out; refit by `codesign.calibration.quality`.
    """
    ratio = total / active
    saturated = ratio * (1 + 1 / maximum) / (1 + ratio / maximum)
    fineness = 1 - 1 / np.minimum(active_experts, FINEST_GRANULARITY)
    return active * saturated**theta * np.exp(eta * fineness)
