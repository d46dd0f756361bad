"""Wang 2024: on-average stability of SGD with noisy gradients, and the orders of its theorems."""

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

    .. math:: ν ≤ \frac{8eM_1²(1+2T/n)}{n}·Tη²·F^{2a/(1+a)} + eM_3²·Tη^{2/(1-a)}.

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
        value=_stability(facts, steps, step_size) if met else None,
        setting=setting,
        trivial=facts.diameter**2,
        proved=Proved(own, setting) if met and smooth else None,
        remark=(
            "true, loose"
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
    beta = np.concatenate([np.geomspace(1e-8, 0.5, 2000), 1 - np.geomspace(1e-6, 0.5, 200)])
    epsilon, n = facts.budget.epsilon, facts.n
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
    n, constant, a = facts.n, facts.holder.constant, facts.holder.exponent
    factor = (1 + 2 * steps / n) / n * steps * step_size**2
    if math.isfinite(facts.smoothness):
        return 16 * math.e * facts.smoothness * factor * facts.largest_loss
    first = facts.at_zero + constant
    if a > 0:
        first = math.pow(1 + 1 / a, a / (1 + a)) * math.pow(constant, 1 / (1 + a))
    third = math.sqrt(math.e * (1 - a) / (1 + a)) * math.pow(2**-a * constant, 1 / (1 - a))
    losses = math.pow(facts.largest_loss, 2 * a / (1 + a))
    expansion = steps * math.pow(step_size, 2 / (1 - a))
    return 8 * math.e * first**2 * factor * losses + math.e * third**2 * expansion
