"""Kang 2021: descent with noisy gradients under a Polyak–Łojasiewicz condition."""

from __future__ import annotations

import math

import numpy as np

from pairdp.theory import proved
from pairdp.theory.facts import Facts
from pairdp.theory.utility_bound import Assumption, UtilityBound

PAPER = "Kang 2021"


def theorem_2(facts: Facts, steps: float | None = None) -> UtilityBound:
    r"""Return the expected excess risk of Theorem 2, with its infimum over τ.

    .. math:: 2(τ+L)A + \frac{G²}{2τ} + (1-μ/L)^T·\text{gap}_0 + \frac{pσ²}{2μ}, \quad
        A = \frac{16G²T²}{L²n²} + \frac{pT²σ²}{2L²} + \frac{4\sqrt2\sqrt p·GT²σ}{L²n}

    with σ = 8G√(T·ln(1/δ))/(nε) and η = 1/L. The infimum is at τ* = G/(2√A), where the first two
    terms are 2G√A + 2LA. The Polyak–Łojasiewicz constant μ is α of a strongly convex problem.

    Parameters
    ----------
    facts : Facts
        Of the problem.
    steps : float, optional
        T. Remark 2 has T = O(ln(nε/√p)) without a constant; by default the T with the smallest
        bound of `proved.tried_steps` is taken.
    """
    assumptions = (*_assumptions(facts), facts.is_approximate())
    value, setting = None, ""
    if all(each.met for each in assumptions):
        value, setting = _value(facts, steps)
    return UtilityBound(
        PAPER,
        "Theorem 2",
        "excess risk",
        "in expectation",
        assumptions,
        rate="O(√p/(nε))",
        value=value,
        setting=setting,
        trivial=facts.zero_excess,
        proved=proved.noisy_last_iterate(facts, steps),
        remark=(
            "proved here only for strongly convex problems and projected steps: 16G²T²/(L²n²) "
            "needs steps that do not expand, which a Polyak–Łojasiewicz condition does not give "
            "(errata, K3)"
        ),
    )


def theorem_3(facts: Facts) -> UtilityBound:
    """Return the order of Theorem 3, whose constants c₁, c₂ and c₃ are not stated."""
    return UtilityBound(
        PAPER,
        "Theorem 3",
        "excess risk",
        f"with probability {1 - facts.failure:g}",
        (*_assumptions(facts), facts.is_approximate()),
        rate="O(√p/(√n·ε))",
        trivial=facts.zero_excess,
        remark=(
            "an order only: its constants c₁, c₂, c₃ are not stated, and it assumes an elastic "
            "stability of order 1/n"
        ),
    )


def _assumptions(facts: Facts) -> tuple[Assumption, ...]:
    return (
        facts.is_lipschitz(),
        facts.is_smooth(),
        Assumption(
            "the risk satisfies a Polyak–Łojasiewicz condition (known if it is strongly convex)",
            facts.strong_convexity > 0,
        ),
    )


def _value(facts: Facts, steps: float | None) -> tuple[float, str]:
    lipschitz, smoothness, mu = (
        facts.regularized_lipschitz,
        facts.smoothness,
        facts.strong_convexity,
    )
    n, p, budget = facts.n, facts.dimension, facts.budget
    tried = proved.tried_steps(facts.n) if steps is None else np.array([float(steps)])
    sigma = 8 * lipschitz * np.sqrt(tried * facts.log_delta) / (n * budget.epsilon)
    spread = (tried / smoothness) ** 2 * (
        16 * (lipschitz / n) ** 2 + p * sigma**2 / 2 + 4 * math.sqrt(2 * p) * lipschitz * sigma / n
    )
    left = np.exp(tried * math.log1p(-mu / smoothness)) if mu < smoothness else np.zeros_like(tried)
    values = (
        2 * lipschitz * np.sqrt(spread)
        + 2 * smoothness * spread
        + left * facts.start_excess
        + p * sigma**2 / (2 * mu)
    )
    at = int(np.argmin(values))
    tau = lipschitz / (2 * math.sqrt(float(spread[at])))
    return float(values[at]), (
        f"T = {tried[at]:g}, η = 1/L = {1 / smoothness:.3g}, σ = {sigma[at]:.3g}, τ* = {tau:.3g}"
    )
