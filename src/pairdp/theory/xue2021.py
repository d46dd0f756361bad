"""Xue 2021: stability of gradient descent, and the orders of its theorems."""

from __future__ import annotations

import math

from pairdp.theory import proved
from pairdp.theory.facts import Facts
from pairdp.theory.utility_bound import Assumption, Proved, UtilityBound

PAPER = "Xue 2021"


def lemma_1(facts: Facts) -> UtilityBound:
    """Return 8G/(αn), the distance of two runs of DPGDSC on neighbours; D_h/(αn) is proved."""
    assumptions = _strongly_convex(facts)
    met = all(each.met for each in assumptions)
    lipschitz, alpha, n = facts.regularized_lipschitz, facts.strong_convexity, facts.n
    return UtilityBound(
        PAPER,
        "Lemma 1",
        "distance of two runs",
        "always",
        assumptions,
        value=8 * lipschitz / (alpha * n) if met else None,
        setting="any T, η ≤ 2/(L+α)",
        trivial=facts.diameter,
        proved=Proved(_last_distance(facts), "any T, η ≤ 2/(L+α)") if _stable(facts) else None,
        remark="true, at least twice too large (errata, X1)",
    )


def lemma_5_strongly_convex(facts: Facts) -> UtilityBound:
    """Return 2β = 16G²/(αn) with the β of Lemma 4; 2G·D_h/(αn) is proved."""
    assumptions = _strongly_convex(facts)
    met = all(each.met for each in assumptions)
    lipschitz, alpha, n = facts.regularized_lipschitz, facts.strong_convexity, facts.n
    return UtilityBound(
        PAPER,
        "Lemmas 4 and 5",
        "generalization gap",
        "in expectation",
        assumptions,
        value=16 * lipschitz**2 / (alpha * n) if met else None,
        setting="DPGDSC, any T, η ≤ 2/(L+α)",
        trivial=facts.loss_range,
        proved=(
            Proved(2 * facts.lipschitz * _last_distance(facts), "DPGDSC, any T, η ≤ 2/(L+α)")
            if _stable(facts)
            else None
        ),
        remark="true, loose like Lemma 1; holds with noise of any size",
    )


def lemma_7(
    facts: Facts, steps: float | None = None, step_size: float | None = None
) -> UtilityBound:
    """Return 4ηGT/n, the distance of two averages on neighbours; D_h·η(T+1)/(2n) is proved.

    T and η are those of Theorem 2 unless they are given, since Algorithm 4 leaves them open.
    """
    steps, step_size = _schedule(facts, steps, step_size)
    assumptions = _convex(facts, step_size)
    met = all(each.met for each in assumptions)
    setting = f"T = {steps:g}, η = {step_size:.3g}"
    return UtilityBound(
        PAPER,
        "Lemma 7",
        "distance of two runs",
        "always",
        assumptions,
        value=4 * step_size * facts.regularized_lipschitz * steps / facts.n if met else None,
        setting=setting,
        trivial=facts.diameter,
        proved=Proved(_average_distance(facts, steps, step_size), setting) if met else None,
        remark="true, twice too large for the average (errata, X2)",
    )


def lemma_5_convex(
    facts: Facts, steps: float | None = None, step_size: float | None = None
) -> UtilityBound:
    """Return 2β = 8G²ηT/n with the distance of Lemma 7; G·D_h·η(T+1)/n is proved."""
    steps, step_size = _schedule(facts, steps, step_size)
    assumptions = _convex(facts, step_size)
    met = all(each.met for each in assumptions)
    setting = f"DPGDC, T = {steps:g}, η = {step_size:.3g}"
    distance = _average_distance(facts, steps, step_size)
    return UtilityBound(
        PAPER,
        "Lemmas 5 and 7",
        "generalization gap",
        "in expectation",
        assumptions,
        value=(8 * facts.regularized_lipschitz**2 * step_size * steps / facts.n if met else None),
        setting=setting,
        trivial=facts.loss_range,
        proved=Proved(2 * facts.lipschitz * distance, setting) if met else None,
        remark="true, loose like Lemma 7; the proof of Theorem 4 leaves out a factor G",
    )


def theorem_1(facts: Facts) -> UtilityBound:
    """Return the order of DPGDSC's excess risk, and a bound that is proved."""
    rate = "O(‖C‖²·L·G²·d·ln(1/δ)/(α²n²ε²) + G²/(αn))"
    if facts.budget.is_pure:
        rate = "O(‖C‖²·L·G²·d²/(α²n²ε²) + G²/(αn))"
    return UtilityBound(
        PAPER,
        "Theorem 1 (DPGDSC)",
        "excess risk",
        "in expectation",
        _strongly_convex(facts),
        rate=rate,
        trivial=facts.zero_excess,
        proved=proved.noisy_output(facts),
        remark=(
            "an order only; its proof bounds F(w_T) - F(w*) by (L/2)|w_T - w*|², which is false if "
            "the constraint is active, and prints a factor G in an exponent"
        ),
    )


def theorem_2(facts: Facts) -> UtilityBound:
    """Return the order of DPGDC2's excess risk, and a bound that is proved."""
    _, step_size = _schedule(facts, None, None)
    return UtilityBound(
        PAPER,
        "Theorem 2 (DPGDC2)",
        "excess risk",
        "in expectation",
        (
            *_convex(facts, step_size),
            facts.is_bounded(),
            facts.is_approximate(),
            _smooth_enough(facts),
        ),
        rate="O(G‖C‖(1/√n + √(d·ln(1/δ))/(nε)))",
        trivial=facts.zero_excess,
        proved=proved.noisy_average(facts),
        remark="an order only; its η = G/(‖C‖√T) is inverted (errata, X3)",
    )


def theorem_3(facts: Facts) -> UtilityBound:
    """Return the order of DPEGD's excess risk."""
    pure = facts.budget.is_pure
    return UtilityBound(
        PAPER,
        "Theorem 3 (DPEGD)",
        "excess risk",
        "in expectation",
        (facts.is_convex(), facts.is_smooth(), facts.is_lipschitz(), facts.is_bounded()),
        rate="O(G‖C‖(1/√n + " + ("d/(nε)))" if pure else "√(d·ln(1/δ))/(nε)))"),
        trivial=facts.zero_excess,
        proved=proved.epochs(facts),
        remark="an order only; its η need not meet η ≤ 2/L, which it requires (errata, X4)",
    )


def theorem_4(facts: Facts) -> UtilityBound:
    """Return the order of DPGDC's excess risk."""
    power = "d²" if facts.budget.is_pure else "d·ln(1/δ)"
    return UtilityBound(
        PAPER,
        "Theorem 4 (DPGDC)",
        "excess risk",
        "in expectation",
        (facts.is_convex(), facts.is_smooth(), facts.is_lipschitz(), facts.is_bounded()),
        rate=f"O(|w_0-w*|²/(ηT) + ηG²T²·{power}/(n²ε²) + G²ηT/n)",
        trivial=facts.zero_excess,
        proved=proved.noisy_average_output(facts),
        remark="an order only; the noise term of its proof is of order L·η², where η is printed",
    )


def _strongly_convex(facts: Facts) -> tuple[Assumption, ...]:
    return facts.is_strongly_convex(), facts.is_smooth(), facts.is_lipschitz()


def _convex(facts: Facts, step_size: float) -> tuple[Assumption, ...]:
    small = step_size * facts.smoothness <= 2 * (1 + 1e-12)
    return (
        facts.is_convex(),
        facts.is_smooth(),
        facts.is_lipschitz(),
        Assumption("the step size is at most 2/L", small),
    )


def _smooth_enough(facts: Facts) -> Assumption:
    """Return whether L ≤ (‖C‖/2G)·min(n, nε/√(d·ln(1/δ))), which Theorem 2 requires."""
    noise = facts.n * facts.budget.epsilon / math.sqrt(facts.dimension * facts.log_delta)
    largest = facts.diameter / (2 * facts.regularized_lipschitz) * min(facts.n, noise)
    return Assumption(
        f"L ≤ (‖C‖/2G)·min(n, nε/√(d·ln(1/δ))) = {largest:.3g}", facts.smoothness <= largest
    )


def _schedule(facts: Facts, steps: float | None, step_size: float | None) -> tuple[float, float]:
    """Return T = min(n, n²ε²/(d·ln(1/δ))) and η = min(‖C‖/(G√T), 2/L), where they are not given."""
    if steps is None:
        budget = facts.budget
        ratio = (facts.n * budget.epsilon) ** 2 / (facts.dimension * facts.log_delta)
        steps = float(max(1, math.floor(min(facts.n, ratio)))) if ratio else float(facts.n)
    if step_size is None:
        usual = facts.diameter / (facts.regularized_lipschitz * math.sqrt(steps))
        largest = 2 / facts.smoothness
        step_size = min(usual, largest) if math.isfinite(usual) and largest else largest or usual
    return steps, step_size


def _stable(facts: Facts) -> bool:
    return (
        facts.strong_convexity > 0
        and math.isfinite(facts.smoothness)
        and math.isfinite(facts.lipschitz)
    )


def _last_distance(facts: Facts) -> float:
    bound = facts.record_diameter / (facts.strong_convexity * facts.n)
    return min(bound, facts.diameter)


def _average_distance(facts: Facts, steps: float, step_size: float) -> float:
    bound = facts.record_diameter * step_size * (steps + 1) / (2 * facts.n)
    return min(bound, facts.diameter)
