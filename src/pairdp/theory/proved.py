r"""Bounds on excess risks that are proved here, with all constants.

The papers' theorems state orders, or have errors in their proofs. The bounds below follow the same
plan: F is the population risk, F_S the empirical one, both with the regulariser; with w* the best
parameter of F, and w the output,

.. math:: E[F(w) - F(w^*)] ≤ \underbrace{E[F_S(w) - \min F_S]}_{\text{optimization}}
    + \underbrace{E[F(w) - F_S(w)]}_{\text{generalization}}.

**Generalization.** If outputs of runs on neighbours, with the same noise, are at most Δ apart, then
E[F(w) - F_S(w)] ≤ 2GΔ with G of the loss alone: it is the average over i ≠ j of
E[ℓ(w(S^{ij}); z_i, z_j) - ℓ(w(S); z_i, z_j)], where S^{ij} has both records redrawn (Xue 2021,
Lemma 5), and w(S^{ij}) is at most 2Δ away. Regularisers cancel.

**Noise.** Gaussian noise is that of composition, σ = √T·(D_h/n)/μ(ε, δ), exact and not larger than
what algorithms of this library add to gradients; with less noise the bounds hold too. The rounding
of values to the grid before noise is added, which is far below the noise, is not included.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainccinv

from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.theory.complexity import ball_complexity
from pairdp.theory.facts import Facts
from pairdp.theory.utility_bound import Proved

Array = NDArray[np.float64]
_PER_DECADE = 50


@lru_cache(maxsize=16)
def _steps_up_to(exponent: int) -> Array:
    return np.unique(np.round(np.geomspace(1, 10.0**exponent, _PER_DECADE * exponent)))


def tried_steps(n: int) -> Array:
    """Return the numbers of steps among which the best is chosen: up to n, and at least 10⁶.

    The bounds hold for every one of them; with more steps, some could be smaller.
    """
    return _steps_up_to(max(6, math.ceil(math.log10(n))))


def noisy_last_iterate(facts: Facts, steps: float | None = None) -> Proved | None:
    r"""Return a bound for the last iterate of descent with noisy gradients, η = 1/L.

    .. math:: (1-α/L)^T·\text{gap}_0 + \frac{pσ²}{2α}\big(1-(1-α/L)^T\big) + 2GΔ_T

    with Δ_T = (D_h/(αn))(1-(1-α/L)^T), for α-strongly convex problems and steps that are projected
    on any convex set. This is Theorem 2 of Kang 2021 for such problems.

    *Proof.* Let b be the noise, w⁺ = Π(w - (g+b)/L), and w° the same with b = 0. w⁺ minimises
    Q_b(v) = ⟨g+b, v-w⟩ + (L/2)|v-w|² on the set, so Q_b(w⁺) ≤ Q_b(w°) - (L/2)|w⁺-w°|², and by
    smoothness F_S(w⁺) ≤ F_S(w) + Q_b(w⁺) - ⟨b, w⁺-w⟩ ≤ F_S(w) + Q_0(w°) + ⟨b, w°-w⁺⟩ -
    (L/2)|w°-w⁺|² ≤ F_S(w) + Q_0(w°) + |b|²/(2L). At v = w + (α/L)(w*_S - w), strong convexity gives
    Q_0(w°) ≤ -(α/L)(F_S(w) - min F_S). With the same noise, runs on neighbours contract by 1-α/L
    and drift by D_h/(nL) in each step.

    Parameters
    ----------
    facts : Facts
        Of a strongly convex, smooth problem with δ > 0; otherwise the result is None.
    steps : float, optional
        T; by default the smallest of `tried_steps` with nearly the least bound.
    """
    if not _strongly(facts) or facts.budget.is_pure:
        return None
    tried = tried_steps(facts.n) if steps is None else np.array([float(steps)])
    alpha, smoothness = facts.strong_convexity, facts.risk_smoothness
    left = (
        np.exp(tried * math.log1p(-alpha / smoothness))
        if alpha < smoothness
        else np.zeros_like(tried)
    )
    sigma = _gradient_noise(facts, tried)
    spread = np.minimum(facts.record_diameter / (alpha * facts.n) * (1 - left), facts.diameter)
    values = (
        left * facts.start_excess
        + facts.dimension * sigma**2 / (2 * alpha) * (1 - left)
        + 2 * facts.lipschitz * spread
    )
    at = _fewest(values)
    return _if_finite(
        values[at],
        f"T = {tried[at]:g}, η = 1/L = {1 / smoothness:.3g}, σ = {sigma[at]:.3g} per gradient",
    )


def noisy_average(
    facts: Facts, steps: float | None = None, step_size: float | None = None
) -> Proved | None:
    r"""Return a bound for the average of w_0 … w_T of descent with noisy gradients, η ≤ 1/(2L).

    .. math:: \frac{1}{T+1}\Big(\text{gap}_0 + \frac{‖C‖²}{2η} + \frac{Tηpσ²}{2(1-ηL)}\Big)
        + \frac{G·D_h·ηT}{n}

    for convex smooth problems on a bounded set: Theorem 2 of Xue 2021, with constants.

    *Proof.* As w⁺ is a projection, ⟨g+b, w⁺-w*_S⟩ ≤ (|w-w*_S|² - |w⁺-w*_S|² - |w⁺-w|²)/(2η).
    With smoothness and convexity, F_S(w⁺) - min F_S ≤ ⟨g, w⁺-w*_S⟩ + (L/2)|w⁺-w|², where
    E⟨b, w⁺-w*_S⟩ = E⟨b, w⁺-w⟩ and -⟨b, w⁺-w⟩ ≤ |b|²η/(2(1-ηL)) + ((1-ηL)/(2η))|w⁺-w|². Sum over
    steps; w_0 has at most gap_0. Runs on neighbours are at most tηD_h/n apart after t steps, on
    average TηD_h/(2n).

    Parameters
    ----------
    facts : Facts
        Of a convex, smooth problem on a bounded set with δ > 0; otherwise the result is None.
    steps, step_size : float, optional
        T and η; by default the fewest steps of `tried_steps` with nearly the least bound.
    """
    if not _smooth_on_bounded_set(facts) or facts.budget.is_pure:
        return None
    smoothness = facts.risk_smoothness
    tried = tried_steps(facts.n) if steps is None else np.array([float(steps)])
    sigma = _gradient_noise(facts, tried)
    noise = facts.dimension * sigma**2 * tried / (tried + 1)
    drift = facts.lipschitz * facts.record_diameter * tried / facts.n
    distance = facts.diameter**2 / (2 * (tried + 1))
    if step_size is None:
        eta = np.minimum(np.sqrt(distance / (noise + drift)), 1 / (2 * smoothness))
    elif step_size < 1 / smoothness:
        eta = np.full_like(tried, step_size)
    else:
        return None
    values = (
        facts.start_excess / (tried + 1)
        + distance / eta
        + noise * eta / (2 * (1 - eta * smoothness))
        + drift * eta
    )
    at = _fewest(values)
    return _if_finite(
        values[at],
        f"T = {tried[at]:g}, η = {eta[at]:.3g}, σ = {sigma[at]:.3g} per gradient, average",
    )


def noisy_output(facts: Facts, steps: float | None = None) -> Proved | None:
    r"""Return a bound for the last iterate of descent, η = 1/L, with noise on the output.

    .. math:: (1-α/L)^T·\text{gap}_0 + E[\text{effect of the noise}] + 2GΔ_T

    with Δ_T as in `noisy_last_iterate`, σ = Δ_T/μ(ε, δ). The noisy output is projected: on a
    bounded set the noise costs at most G'·E|ζ| with G' = G + λ(B+|w₀|) and E|ζ| ≤ σ√p, since the
    iterate is in the set; on the whole space at most (L/2)E|ζ|², because the noise has mean zero (L
    of one pair). For pure ε, |ζ| has mean pΔ/ε and mean square p(p+1)Δ²/ε². This is Theorem 1 of
    Xue 2021, with constants. Its proof bounds the optimization error by (L/2)|w_T-w*|², which is
    false if the constraint is active; the first term replaces it.

    Parameters
    ----------
    facts : Facts
        Of a strongly convex, smooth problem; otherwise the result is None.
    steps : float, optional
        T; by default the smallest of `tried_steps` with nearly the least bound.
    """
    if not _strongly(facts):
        return None
    tried = tried_steps(facts.n) if steps is None else np.array([float(steps)])
    alpha, smoothness = facts.strong_convexity, facts.risk_smoothness
    left = (
        np.exp(tried * math.log1p(-alpha / smoothness))
        if alpha < smoothness
        else np.zeros_like(tried)
    )
    spread = np.minimum(facts.record_diameter / (alpha * facts.n) * (1 - left), facts.diameter)
    scale, mean, square = _output_noise(facts, spread)
    bounded = math.isfinite(facts.radius)
    cost = facts.regularized_lipschitz * mean if bounded else facts.smoothness / 2 * square
    values = left * facts.start_excess + cost + 2 * facts.lipschitz * spread
    at = _fewest(values)
    return _if_finite(
        values[at],
        f"T = {tried[at]:g}, η = 1/L = {1 / smoothness:.3g}, noise scale {scale[at]:.3g}",
    )


def noisy_average_output(facts: Facts) -> Proved | None:
    r"""Return a bound for the average of w_1 … w_T, with noise on the output, η ≤ 1/L.

    .. math:: \frac{‖C‖²}{2ηT} + G'·E|ζ| + \frac{G·D_h·η(T+1)}{n}

    for convex smooth problems on a bounded set, with noise for the sensitivity D_h·η(T+1)/(2n):
    Theorem 4 of Xue 2021, with constants. *Proof.* As for `noisy_average`, without noise in the
    steps, and `noisy_output`.

    Parameters
    ----------
    facts : Facts
        Of a convex, smooth problem on a bounded set; otherwise the result is None. η = 1/L, and T
        of `tried_steps` has nearly the least bound.
    """
    if not _smooth_on_bounded_set(facts):
        return None
    eta = 1 / facts.risk_smoothness
    tried = tried_steps(facts.n)
    spread = np.minimum(facts.record_diameter * eta * (tried + 1) / (2 * facts.n), facts.diameter)
    scale, mean, _ = _output_noise(facts, spread)
    values = (
        facts.diameter**2 / (2 * eta * tried)
        + facts.regularized_lipschitz * mean
        + 2 * facts.lipschitz * spread
    )
    at = _fewest(values)
    return _if_finite(
        values[at], f"T = {tried[at]:g}, η = 1/L = {eta:.3g}, noise scale {scale[at]:.3g}"
    )


def epochs(facts: Facts) -> Proved | None:
    r"""Return a bound for DPEGD: descent on parts of n_i ≈ n/2^i records, η_i = η/4^i, T_i = n_i.

    .. math:: \frac{‖C‖²}{2η_1T_1} + Σ_{i≥2} \frac{E|ζ_{i-1}|²}{2η_iT_i} + Σ_i 2GΔ_i + G'·E|ζ_k|,
        \quad Δ_i = \frac{D_h·η_i(T_i+1)}{2n_i}

    for convex smooth problems on a bounded set and η_1 ≤ 1/L: Theorem 3 of Xue 2021, with
    constants.

    *Proof.* Given earlier epochs, the average w̄_i of epoch i, which starts at w_{i-1}, has
    E[F(w̄_i)] - F(v) ≤ E|w_{i-1}-v|²/(2η_iT_i) + 2GΔ_i for every v in the set that earlier epochs
    determine. Take v = w̄_{i-1}, which is within |ζ_{i-1}| of w_{i-1}, also after projection, and
    v = w* in the first epoch. The last noise costs G' = G + λ(B+|w₀|) times its norm.

    Parameters
    ----------
    facts : Facts
        Of a convex, smooth problem on a bounded set; otherwise the result is None. η has the
        smallest bound.
    """
    if not _smooth_on_bounded_set(facts):
        return None
    count = max(1, facts.n.bit_length() - 1)
    sizes = [facts.n >> i for i in range(1, count)]
    sizes.append(facts.n - sum(sizes))
    size = np.array(sizes, dtype=np.float64)
    shrunk = 4.0 ** -np.arange(1, count + 1)
    spread = facts.record_diameter * shrunk * (size + 1) / (2 * size)  # in units of η, as all below
    _, mean, square = _output_noise(facts, spread)
    far = facts.diameter**2 / (2 * shrunk[0] * size[0])
    near = (
        float(np.sum(square[:-1] / (2 * shrunk[1:] * size[1:])))
        + 2 * facts.lipschitz * float(np.sum(spread))
        + facts.regularized_lipschitz * float(mean[-1])
    )
    eta = min(math.sqrt(far / near), 4 / facts.smoothness)
    return _if_finite(far / eta + near * eta, f"{count} parts, η = {eta:.3g}")


def pairwise_sgd(
    facts: Facts,
    steps: float,
    step_size: float,
    *,
    radius: float,
    noise: float = 0.0,
) -> Proved | None:
    r"""Return a bound for the average of pairwise SGD, with probability 1-γ (Yang 2021).

    With Λ the largest loss for parameters up to the radius B, m = ⌊n/2⌋ and g = ln(5/γ),

    .. math:: & \frac{2GB}{\sqrt m} + Λ\sqrt{2g/n} + Λ\sqrt{g/(2m)} \\
        + & \frac{4GB}{\sqrt T} + Λ\sqrt{2g/T} + 2Λ\sqrt{2(g+\ln T)/T} + \frac{2Λ}{n} \\
        + & \frac{|w^*|²}{2ηT} + \frac{ηG'²}{2} + G'·|u|

    for non-negative convex losses of a linear score, all iterates and w* within the radius.

    *Proof.* (i) F_S is the average over permutations of averages over m disjoint pairs, so
    E sup(F - F_S) is at most twice the complexity GB/√m of the losses; one record moves the
    supremum by 2Λ/n (McDiarmid). (ii) F_S(w*) - F(w*) is at most Λ√(g/(2m)) (Hoeffding). (iii) With
    L_t(w) = (1/t)Σ_k ℓ(w; z_{i_{t+1}}, z_{i_k}) and F̃_S the average over all n² ordered pairs of
    draws, (F̃_S - L_t)(w_t) - (F̃_S - L_t)(w*) has two parts. The choice of i_{t+1} is a martingale
    difference in a range of 2Λ (Azuma), and that of i_1 … i_t is at most its supremum over w, with
    mean at most 2GB/√t and moved by 2Λ/t by one draw, for all t by a union bound; Σ1/√t ≤ 2√T.
    (iv) F_S and F̃_S differ by at most 2Λ/n in such differences. (v) Projected steps have an average
    regret of at most |w*|²/(2ηT) + ηG'²/2, G' = G + λ(B+|w₀|). (vi) Output noise u costs at most
    G'|u|, with the quantile of |u| at 1-γ/5. Each of five events fails with probability γ/5.
    Regularisers cancel in (i)-(iv).

    Stability is not needed, so that the errors in the proof of Theorem 1 have no effect.

    Parameters
    ----------
    facts : Facts
        Of a convex problem with a non-negative loss of a linear score; otherwise None is returned.
    steps, step_size : float
        T and η.
    radius : float
        B, which bounds all iterates and w*.
    noise : float
        The standard deviation of noise on the output; the output is projected on the set.
    """
    known = facts.convex and facts.nonnegative and facts.linear_scores
    finite = (radius, facts.solution_norm, facts.lipschitz)
    if not known or not all(map(math.isfinite, finite)):
        return None
    lipschitz, n, tried = facts.lipschitz, facts.n, float(steps)
    total = lipschitz + facts.regularization * (radius + facts.center_norm)
    m, g = n // 2, math.log(5 / facts.failure)
    largest = facts.loss_at_zero + lipschitz * radius
    complexity = lipschitz / facts.score_norm * ball_complexity(1, radius, facts.score_norm)
    value = (
        2 * complexity / math.sqrt(m)
        + largest * math.sqrt(2 * g / n)
        + largest * math.sqrt(g / (2 * m))
        + 4 * complexity / math.sqrt(tried)
        + largest * math.sqrt(2 * g / tried)
        + 2 * largest * math.sqrt(2 * (g + math.log(tried)) / tried)
        + 2 * largest / n
        + facts.solution_norm**2 / (2 * step_size * tried)
        + step_size * total**2 / 2
    )
    setting = f"T = {tried:g}, η = {step_size:.3g}"
    if noise:
        value += total * noise * gaussian_norm_quantile(facts.dimension, facts.failure / 5)
        setting += f", σ = {noise:.3g}"
    return _if_finite(value, setting)


def single_pairs(facts: Facts, steps: float, noise: float) -> Proved | None:
    r"""Return a bound for the average of SGD on single random pairs with noise in every gradient.

    .. math:: \frac{|w^*|²}{2ηT} + \frac{η(G'² + pσ²)}{2} + 2GΔ, \quad
        Δ = \frac{ηD_oT}{n} \text{ if smooth, else } η\Big(\frac43G\sqrt{T+1} + \frac{2GT}{n}\Big)

    in expectation, for convex problems on a bounded set and runs that start at zero: Theorems 6(a)
    and 7(a) of Wang 2024, with constants. The average may include the last iterate or not.

    *Proof.* The regret of projected steps along unbiased gradients, whose mean square is at most
    G'² + pσ² with G' = G + λ(B+|w₀|). A pair has the replaced record with probability 2/n and then
    moves the runs apart by at most ηD_o, after t steps by 2tηD_o/n on average, if steps do not
    expand (η ≤ 2/L). If they may, the distance d becomes at most √(d² + 4η²G²) in steps on common
    pairs, by monotone subgradients (ηλ ≤ 1), and at most d + 2ηG in others, so that
    E d_t ≤ 2ηG√t + 4tηG/n. Averages of √t and t are at most (2/3)√(T+1) and T/2.

    Parameters
    ----------
    facts : Facts
        Of a convex problem on a bounded set; otherwise the result is None. η has the least bound.
    steps : float
        T.
    noise : float
        σ.
    """
    if not (facts.convex and math.isfinite(facts.radius) and math.isfinite(facts.lipschitz)):
        return None
    lipschitz, often = facts.lipschitz, steps / facts.n
    far = facts.solution_norm**2 / (2 * steps)
    regret = (facts.regularized_lipschitz**2 + facts.dimension * noise**2) / 2
    if math.isfinite(facts.smoothness):
        near = regret + 2 * lipschitz * facts.pair_diameter * often
        eta = min(math.sqrt(far / near), 2 / facts.smoothness)
    else:
        drift = 4 / 3 * math.sqrt(steps + 1) + 2 * often
        near = regret + 2 * lipschitz**2 * drift
        eta = math.sqrt(far / near)
        if facts.regularization:
            eta = min(eta, 1 / facts.regularization)
    return _if_finite(far / eta + near * eta, f"T = {steps:g}, η = {eta:.3g}, σ = {noise:.3g}")


def gaussian_norm_quantile(dimension: int, tail: float) -> float:
    """Return the norm that a standard Gaussian vector exceeds with probability ``tail``."""
    return math.sqrt(2 * float(gammainccinv(dimension / 2, tail)))


def _fewest(values: Array) -> int:
    """Return the first position, with the fewest steps, that is within 2 % of the smallest."""
    return int(np.argmax(values <= 1.02 * np.min(values)))


def _if_finite(value: float, setting: str) -> Proved | None:
    return Proved(float(value), setting) if math.isfinite(value) else None


def _strongly(facts: Facts) -> bool:
    return (
        facts.strong_convexity > 0
        and math.isfinite(facts.risk_smoothness)
        and math.isfinite(facts.lipschitz)
    )


def _smooth_on_bounded_set(facts: Facts) -> bool:
    numbers = (facts.smoothness, facts.radius, facts.regularized_lipschitz)
    return facts.convex and all(map(math.isfinite, numbers))


def _output_noise(facts: Facts, sensitivity: Array) -> tuple[Array, Array, Array]:
    """Return the scales of noise, bounds on its mean norm, and its mean square."""
    p, epsilon = facts.dimension, facts.budget.epsilon
    if facts.budget.is_pure:
        scale = sensitivity / epsilon
        return scale, p * scale, p * (p + 1) * scale**2
    scale = sensitivity / gdp_mu(epsilon, facts.budget.delta)
    return scale, math.sqrt(p) * scale, p * scale**2


def _gradient_noise(facts: Facts, steps: Array) -> Array:
    """Return σ = √T·(D_h/n)/μ(ε, δ)."""
    mu = gdp_mu(facts.budget.epsilon, facts.budget.delta)
    return np.sqrt(steps) * (facts.record_diameter / (facts.n * mu))
