"""Wang 2024: lemmas on SGD with noisy gradients, and the orders of its theorems."""

from __future__ import annotations

import math

import numpy as np

from pairdp.theory import proved
from pairdp.theory.facts import Facts
from pairdp.theory.utility_bound import Assumption, Proved, UtilityBound

PAPER = "Wang 2024"
_NO_BETA = "no β meets the conditions of its noise (errata, W1)"


def lemma_19(
    facts: Facts, steps: float | None = None, step_size: float | None = None
) -> UtilityBound:
    r"""Return the on-average stability ν of Algorithm 2: the mean of \|w_T - w_T'\|².

    For an L-smooth loss and η ≤ 2/L, part (a),

    .. math:: ν ≤ \frac{16eL(1+2T/n)}{n}·Tη²·F, \quad F ≥ E[F_S(w_j)],

    and for an a-Hölder smooth one, part (b),

    .. math:: ν ≤ \frac{8eM_1²(1+2T/n)}{n}·Tη²·F^{2a/(1+a)} + eM_3²·Tη^{2/(1-a)}, \quad
        M_3 = \sqrt{e\tfrac{1-a}{1+a}}\,(2^{-a}L)^{1/(1-a)}.

    The text of Lemma 19 has (2-a)L^{1/(1-a)} in M_3, and that of Lemma 14 (2^{-a}L)^{1/(1-a)}
    without the factor √e. The latter power is what the maximum of Lemma 18 gives (see `expansion`),
    so it is taken here; √e is kept.

    F is the largest loss on the set, since the risk of the iterates depends on the data. Unless
    they are given, T and η are those of Theorems 6 and 7 with constants 1. For part (a),
    ν ≤ η²D_o²(2T/n + 4T²/n²) is proved: steps do not expand, and the record is in a binomial number
    of pairs, each with probability 2/n, which move a run by at most ηD_o.
    """
    smooth = math.isfinite(facts.smoothness)
    steps = _steps(facts) if steps is None else float(steps)
    step_size = _step_size(facts) if step_size is None else step_size
    assumptions: tuple[Assumption, ...] = (
        facts.is_convex(),
        facts.is_lipschitz(),
        facts.is_nonnegative(),
        Assumption("the losses of the iterates are bounded", math.isfinite(facts.largest_loss)),
    )
    if smooth:
        small = step_size * facts.smoothness <= 2 * (1 + 1e-12)
        assumptions = (*assumptions, Assumption("the step size is at most 2/L", small))
    met = all(each.met for each in assumptions)
    setting = f"T = {steps:g}, η = {step_size:.3g}"
    often = steps / facts.n
    own = (step_size * facts.pair_diameter) ** 2 * (2 * often + 4 * often**2)
    return UtilityBound(
        PAPER,
        "Lemma 19(a)" if smooth else "Lemma 19(b)",
        "squared distance of two runs",
        "in expectation",
        assumptions,
        value=_finite(_stability(facts, steps, step_size)) if met else None,
        setting=setting,
        trivial=facts.diameter**2,
        proved=Proved(own, setting) if met and smooth else None,
        remark=(
            "true, loose"
            if smooth
            else "M of equation (4) must be the largest |∂f(0; z)|, not the largest f(0; z)"
        ),
    )


def expansion(facts: Facts, step_size: float) -> float:
    r"""Return the constant of Lemma 18: by how much a step can increase the squared distance.

    .. math:: \|w - η∂f(w) - w' + η∂f(w')\|² ≤ \|w-w'\|²
        + \frac{1-a}{1+a}(2^{-a}Lη)^{2/(1-a)}

    for convex a-Hölder smooth losses, a < 1: with x the distance of the gradients, the largest
    η²x² - 2η·\frac{2a}{1+a}L^{-1/a}x^{(1+a)/a}. Steps η ≤ 2/L on smooth losses do not expand.
    """
    a, constant = facts.holder.exponent, facts.holder.constant
    if a == 1:
        return 0.0
    return (1 - a) / (1 + a) * _power(2**-a * constant * step_size, 2 / (1 - a))


def lemma_17(
    facts: Facts, steps: float | None = None, step_size: float | None = None
) -> UtilityBound:
    r"""Return the generalization gap of Lemma 17 with the stability ν of Lemma 19.

    For a smooth loss, part (a) is the least LF/κ + 2(L+κ)ν over κ,

    .. math:: 2Lν + 2\sqrt{2LFν},

    and for others, part (b) is the least M_1²F^{2a/(1+a)}/(2κ) + 2κν,

    .. math:: 2M_1F^{a/(1+a)}\sqrt ν.

    F is the largest loss on the set. For part (a), 4GηD_oT/n is proved: the replaced record is in
    2T/n pairs on average, each of which moves a run by at most ηD_o.
    """
    stable = lemma_19(facts, steps, step_size)
    steps = _steps(facts) if steps is None else float(steps)
    step_size = _step_size(facts) if step_size is None else step_size
    smooth, a = math.isfinite(facts.smoothness), facts.holder.exponent
    value = None
    if stable.value is not None:
        if smooth:
            part = facts.smoothness * stable.value
            value = 2 * part + 2 * math.sqrt(2 * part * facts.largest_loss)
        else:
            gradient = _first_constant(facts) * math.pow(facts.largest_loss, a / (1 + a))
            value = 2 * gradient * math.sqrt(stable.value)
    far = min(2 * step_size * facts.pair_diameter * steps / facts.n, facts.diameter)
    return UtilityBound(
        PAPER,
        "Lemmas 17 and 19",
        "generalization gap",
        "in expectation",
        stable.assumptions,
        value=value,
        setting=stable.setting,
        trivial=facts.loss_range,
        proved=(
            Proved(2 * facts.lipschitz * far, stable.setting)
            if smooth and value is not None
            else None
        ),
        remark="explicit, with the best κ; " + ("true, loose" if smooth else stable.remark),
    )


def lemma_20(
    facts: Facts,
    steps: float | None = None,
    step_size: float | None = None,
    sigma: float | None = None,
) -> UtilityBound:
    r"""Return the average of E[F_S(w_j) - F_S(w*)] over the T steps of Algorithm 2.

    .. math:: & \frac{1}{Tη}\Big[\frac12|w^*|² + \frac34M_1²(Tη²)^{\frac{1-a}{1+a}}
        A^{\frac{2a}{1+a}} + 3Tη²pσ²\Big], \\
        & A = 2η|w^*|² + T\big(6η³pσ² + 4η²F^* + 3M_2η^{\frac{3-a}{1-a}}\big)

    for a-Hölder smooth losses, and with a = 1, M_1² = 2L and M_2 = 0 for smooth ones, which is part
    (a) of Theorem 16. F* is at most the largest loss at w = 0. The regret of projected steps along
    unbiased gradients proves |w*|²/(2ηT) + η(G'² + pσ²)/2.

    Parameters
    ----------
    facts : Facts
        Of the problem.
    steps, step_size : float, optional
        T and η; by default those of Theorems 6 and 7 with constants 1.
    sigma : float, optional
        σ; by default that of Theorem 5.
    """
    smooth = math.isfinite(facts.smoothness)
    steps = _steps(facts) if steps is None else float(steps)
    step_size = _step_size(facts) if step_size is None else step_size
    sigma = noise(facts, steps) if sigma is None else sigma
    assumptions: tuple[Assumption, ...] = (
        facts.is_convex(),
        facts.is_nonnegative(),
        facts.is_lipschitz(),
        Assumption("a bound on |w*| is known", math.isfinite(facts.solution_norm)),
        Assumption("a β meets the conditions of the noise of Theorem 5", sigma is not None),
    )
    if smooth:
        small = 2 * facts.smoothness * step_size <= 1 + 1e-12
        assumptions = (*assumptions, Assumption("the step size is at most 1/(2L)", small))
    setting = f"T = {steps:g}, η = {step_size:.3g}"
    value = own = None
    if sigma is not None and all(each.met for each in assumptions):
        setting += f", σ = {sigma:.3g}"
        value = _finite(_optimization_error(facts, steps, step_size, sigma))
        square = facts.regularized_lipschitz**2 + facts.dimension * sigma**2
        own = facts.solution_norm**2 / (2 * step_size * steps) + step_size * square / 2
    return UtilityBound(
        PAPER,
        "Lemma 20",
        "optimization error",
        "in expectation",
        assumptions,
        value=value,
        setting=setting,
        trivial=facts.zero_excess,
        proved=None if own is None else Proved(own, setting),
        remark=(
            "for smooth losses its proof needs η ≤ 1/(2L), which is not stated"
            if smooth
            else "M of equation (4) must be the largest |∂f(0; z)|, not the largest f(0; z)"
        ),
    )


def theorem_6(facts: Facts) -> UtilityBound:
    """Return the order of the excess risk for smooth losses, or of Theorem 7 for others.

    Where the noise of Theorem 5 exists, a bound with it is proved.
    """
    smooth = math.isfinite(facts.smoothness)
    sigma = noise(facts, _steps(facts))
    return UtilityBound(
        PAPER,
        "Theorem 6(a)" if smooth else "Theorem 7(a)",
        "excess risk",
        "in expectation",
        _assumptions(facts),
        rate="O(1/√n + √(d·ln(1/δ))/(nε))",
        setting="T ≍ n" if facts.holder.exponent >= 0.5 else "T ≍ n^((2-a)/(1+a))",
        trivial=facts.zero_excess,
        proved=proved.single_pairs(facts, _steps(facts), sigma) if sigma else None,
        remark=(
            "an order only; " + ("proved here with the noise of Theorem 5" if sigma else _NO_BETA)
        ),
    )


def low_noise(facts: Facts) -> UtilityBound:
    """Return the order where the best parameters have zero risk, Theorems 6(b) and 7(b)."""
    smooth = math.isfinite(facts.smoothness)
    a = facts.holder.exponent
    perfect = Assumption("the best parameters have zero risk, which is not known", False)
    return UtilityBound(
        PAPER,
        "Theorem 6(b)" if smooth else "Theorem 7(b)",
        "excess risk",
        "in expectation",
        (*_assumptions(facts), perfect),
        rate=("O(√(d·ln(1/δ))/(nε))" if smooth else f"O(n^(-{(1 + a) / 2:g}) + √(d·ln(1/δ))/(nε))"),
        setting="T ≍ n" if smooth else "T ≍ n^(2/(1+a))",
        trivial=facts.zero_excess,
        remark="an order only",
    )


def noise(facts: Facts, steps: float) -> float | None:
    r"""Return the smallest σ of Theorem 5, with the best β; None if no β meets its conditions.

    .. math:: σ² = \frac{56G²T}{βn²ε}λ, \quad λ = \frac{\ln(1/δ)}{(1-β)ε} + 1, \quad
        σ² ≥ 2.68G², \quad λ - 1 ≤ \frac{σ²}{6G²}\ln\frac{n}{2λ(1+σ²/(4G²))}
    """
    if facts.budget.is_pure or not math.isfinite(facts.regularized_lipschitz):
        return None
    epsilon, n = facts.budget.epsilon, facts.n
    # ln(n/(2λ(1+σ²/4G²))) > 0 needs σ² < 2nG²/λ, so that no smaller β can be valid.
    least = facts.log_delta / epsilon + 1
    start = min(28 * steps * least**2 / (float(n) ** 3 * epsilon), 0.25)
    points = 250 * math.ceil(1 - math.log10(start))
    beta = np.concatenate([np.geomspace(start, 0.5, points), 1 - np.geomspace(1e-6, 0.5, 200)])
    order = facts.log_delta / ((1 - beta) * epsilon) + 1
    square = 56 * steps / (beta * n**2 * epsilon) * order  # in units of G²
    with np.errstate(invalid="ignore"):
        allowed = square / 6 * np.log(n / (2 * order * (1 + square / 4)))
    valid = (square >= 2.68) & (order - 1 <= allowed)
    if not valid.any():
        return None
    return facts.regularized_lipschitz * math.sqrt(float(np.min(square[valid])))


def _assumptions(facts: Facts) -> tuple[Assumption, ...]:
    return (
        facts.is_convex(),
        facts.is_lipschitz(),
        facts.is_nonnegative(),
        facts.is_approximate(),
    )


def _steps(facts: Facts) -> float:
    """Return T = n, or n^((2-a)/(1+a)) for Hölder exponents a below 1/2."""
    a = facts.holder.exponent
    return math.pow(facts.n, 1.0 if a >= 0.5 else (2 - a) / (1 + a))


def _step_size(facts: Facts) -> float:
    """Return η = min(n^(-1/2), ε/√(d·ln(1/δ)), 2/L, 1).

    For Hölder exponents a below 1/2 the first is n^(3(a-1)/(2(1+a))).
    """
    a = facts.holder.exponent
    power = -0.5 if a >= 0.5 else 3 * (a - 1) / (2 * (1 + a))
    noise = facts.budget.epsilon / math.sqrt(facts.dimension * facts.log_delta)
    largest = [math.pow(facts.n, power), 1.0]
    if noise > 0:
        largest.append(noise)
    if math.isfinite(facts.smoothness):
        largest.append(2 / facts.smoothness)
    return min(largest)


def _stability(facts: Facts, steps: float, step_size: float) -> float:
    n, a = facts.n, facts.holder.exponent
    factor = (1 + 2 * steps / n) / n * steps * step_size**2
    if math.isfinite(facts.smoothness):
        return 16 * math.e * facts.smoothness * factor * facts.largest_loss
    losses = math.pow(facts.largest_loss, 2 * a / (1 + a))
    expanded = math.e * steps * math.e * expansion(facts, step_size)
    return 8 * math.e * _first_constant(facts) ** 2 * factor * losses + expanded


def _first_constant(facts: Facts) -> float:
    """Return M_{a,1} of equation (4); its square is 2L for a = 1."""
    a, constant = facts.holder.exponent, facts.holder.constant
    if math.isfinite(facts.smoothness):
        return math.sqrt(2 * facts.smoothness)
    if a == 0:
        return facts.at_zero + constant
    return math.pow(1 + 1 / a, a / (1 + a)) * math.pow(constant, 1 / (1 + a))


def _second_constant(facts: Facts) -> float:
    """Return M_{a,2} of equation (5); 0 for smooth losses and η ≤ 1/(2L)."""
    a, first = facts.holder.exponent, _first_constant(facts)
    if math.isfinite(facts.smoothness):
        return 0.0
    if a == 0:
        return first**2
    base = math.pow(2 * a / (1 + a), 2 * a / (1 - a))
    return (1 - a) / (1 + a) * base * _power(first, (2 + 2 * a) / (1 - a))


def _optimization_error(facts: Facts, steps: float, step_size: float, sigma: float) -> float:
    a = 1.0 if math.isfinite(facts.smoothness) else facts.holder.exponent
    square, added = facts.solution_norm**2, facts.dimension * sigma**2
    young = 3 * _second_constant(facts)
    if young:
        young *= _power(step_size, (3 - a) / (1 - a))
    losses = 2 * step_size * square + steps * (
        6 * step_size**3 * added + 4 * step_size**2 * facts.at_zero + young
    )
    gradients = math.pow(steps * step_size**2, (1 - a) / (1 + a)) * math.pow(
        losses, 2 * a / (1 + a)
    )
    total = (
        square / 2
        + 0.75 * _first_constant(facts) ** 2 * gradients
        + 3 * steps * step_size**2 * added
    )
    return total / (steps * step_size)


def _power(base: float, exponent: float) -> float:
    """Return the power, infinite where it overflows: Hölder exponents near 1 have large powers."""
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
