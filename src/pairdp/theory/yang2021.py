"""Yang 2021: stability and excess risk of pairwise SGD for losses that need not be smooth."""

from __future__ import annotations

import math

from pairdp.theory import proved
from pairdp.theory.complexity import ball_complexity, nuclear_ball_complexity
from pairdp.theory.facts import Facts
from pairdp.theory.utility_bound import Assumption, Proved, UtilityBound

PAPER = "Yang 2021"


def theorem_1(
    facts: Facts, steps: float | None = None, step_size: float | None = None
) -> UtilityBound:
    r"""Return the distance of two runs of SGD on neighbours after T steps.

    .. math:: 2\sqrt e·ηG\sqrt{T + \ln²(eT)\,(T/n + \ln(1/γ) + \sqrt{T\ln(1/γ)/n})²}

    The number of draws of the replaced record is bounded wrongly: Lemma 1 gives
    k/n + ln(1/γ) + √(2k·ln(1/γ)/n) for k = T+1 draws. With that, and with 1 + pY ≤ e^{pY} in place
    of the reversed inequality (b), the proof is correct, and its result is the proved number.
    """
    steps, step_size = _schedule(facts, steps, step_size, 2, 1.5)
    assumptions = (facts.is_convex(), facts.is_lipschitz())
    met = all(each.met for each in assumptions)
    n, tail = facts.n, math.log(1 / facts.failure)
    scale = 2 * math.sqrt(math.e) * step_size * facts.regularized_lipschitz
    draws, tried = steps / n, (steps + 1) / n
    printed = math.log(math.e * steps) * (draws + tail + math.sqrt(draws * tail))
    repaired = math.log(math.e * steps) * (tried + tail + math.sqrt(2 * tried * tail))
    setting = _setting(steps, step_size)
    return UtilityBound(
        PAPER,
        "Theorem 1",
        "distance of two runs",
        f"with probability {1 - facts.failure:g}",
        assumptions,
        rate="Õ(η√T + ηT·ln(T)/n)",
        value=scale * math.hypot(math.sqrt(steps), printed) if met else None,
        setting=setting,
        trivial=facts.diameter,
        proved=Proved(scale * math.hypot(math.sqrt(steps), repaired), setting) if met else None,
        remark="unproved: a factor √2 and one draw are missing (errata, Y1), which are added here",
    )


def theorem_2(
    facts: Facts, steps: float | None = None, step_size: float | None = None
) -> UtilityBound:
    """Return the excess risk of SGD without noise on a bounded set.

    T = n² and η = n^(-3/2) unless they are given: the constant of η is not stated.
    """
    steps, step_size = _schedule(facts, steps, step_size, 2, 1.5)
    assumptions = (*_bounded(facts), _long(facts, steps))
    met = all(each.met for each in assumptions)
    logs = math.log(math.e * steps) * math.log(6 / facts.failure)
    extra = math.sqrt(3 * steps * logs) / facts.n
    return UtilityBound(
        PAPER,
        "Theorem 2 (no privacy)",
        "excess risk",
        f"with probability {1 - facts.failure:g}",
        assumptions,
        rate="Õ(ln²(n)/√n)",
        value=_bounded_value(facts, steps, step_size, extra) if met else None,
        setting=_setting(steps, step_size),
        trivial=facts.zero_excess,
        proved=proved.pairwise_sgd(facts, steps, step_size, radius=facts.radius),
        remark=(
            "true, as it exceeds what is proved here without stability; its proof has the errors "
            "of Theorem 1, and prints √(3T·ln(eT)·ln(6/γ))/n for √3·T·ln(eT)·ln(6/γ)/n"
        ),
    )


def theorem_3(
    facts: Facts, steps: float | None = None, step_size: float | None = None
) -> UtilityBound:
    """Return the excess risk of SGD without noise on any set, where |w*| is known.

    T = n^(4/3) and η = 1/n unless they are given.
    """
    steps, step_size = _schedule(facts, steps, step_size, 4 / 3, 1.0)
    known = Assumption(
        "a bound on |w*| is known (solution_norm)", math.isfinite(facts.solution_norm)
    )
    assumptions = (*_common(facts), known, _long(facts, steps))
    met = all(each.met for each in assumptions)
    return UtilityBound(
        PAPER,
        "Theorem 3 (no privacy)",
        "excess risk",
        f"with probability {1 - facts.failure:g}",
        assumptions,
        rate="Õ(ln²(n)/n^(1/3))",
        value=_unbounded_value(facts, steps, step_size) if met else None,
        setting=_setting(steps, step_size),
        trivial=facts.zero_excess,
        proved=(
            proved.pairwise_sgd(facts, steps, step_size, radius=_reach(facts, steps, step_size))
            if met
            else None
        ),
        remark=(
            "its proof has the errors of Theorem 1; iterates have |w_t|² ≤ (G²+2M)ηt (Lemma A.10), "
            "not (G²+M)ηt, and R_t(ℓ∘W_t) is O(√η), not O(η√t)"
        ),
    )


def theorem_5(
    facts: Facts, steps: float | None = None, step_size: float | None = None
) -> UtilityBound:
    """Return the excess risk of private SGD on a bounded set, with the noise of equation (5).

    T = n² and η = n^(-3/2) unless they are given.
    """
    steps, step_size = _schedule(facts, steps, step_size, 2, 1.5)
    smallest = max(4 * facts.budget.delta, math.exp(-facts.dimension / 8))
    likely = Assumption(f"γ exceeds max(4δ, e^(-d/8)) = {smallest:.3g}", facts.failure > smallest)
    private = (*_bounded(facts), _long(facts, steps), facts.is_approximate())
    value = sigma = None
    if all(each.met for each in private):
        sigma = _noise(facts, steps, step_size)
        if likely.met:
            logs = math.log(math.e * steps) * math.log(2 / facts.budget.delta)
            extra = math.sqrt(3 * steps) * logs / facts.n
            norm = math.sqrt(facts.dimension) * math.log(4 / facts.failure) ** 0.25
            value = (
                _bounded_value(facts, steps, step_size, extra)
                + 2 * facts.regularized_lipschitz * sigma * norm
            )
    return UtilityBound(
        PAPER,
        "Theorem 5",
        "excess risk",
        f"with probability {1 - facts.failure:g}",
        (*private, likely),
        rate="Õ(√d/(√n·ε))",
        value=value,
        setting=_setting(steps, step_size) + (f", σ = {sigma:.3g}" if sigma else ""),
        trivial=facts.zero_excess,
        proved=(
            proved.pairwise_sgd(facts, steps, step_size, radius=facts.radius, noise=sigma)
            if sigma
            else None
        ),
        remark=(
            "its proof has the errors of Theorem 1, prints √(3T) for √3·T, and needs "
            "γ > 4e^(-d/8); what is proved here has no condition on γ"
        ),
    )


def lemma_4(facts: Facts, terms: float | None = None) -> UtilityBound:
    """Return 2DR/√t, the complexity of ranking scores, for t = n terms unless it is given."""
    terms = facts.n if terms is None else terms
    assumptions = (
        Assumption("the scores are those of a ranking loss", facts.is_ranking),
        facts.is_bounded(),
    )
    met = all(each.met for each in assumptions)
    return _complexity(
        facts,
        "Lemma 4",
        assumptions,
        terms,
        value=ball_complexity(terms, facts.radius, facts.score_norm) if met else None,
        remark="true, with D the radius of the set",
    )


def lemma_5(
    facts: Facts, terms: float | None = None, fourth_moment: float | None = None
) -> UtilityBound:
    """Return (A.22), the complexity of metrics of nuclear norm up to D.

    The nuclear ball is in the Frobenius ball of the same radius, so the smaller of both bounds is
    proved.
    """
    terms = facts.n if terms is None else terms
    assumptions = (
        Assumption(
            "the scores are those of a metric with at least 3 features",
            facts.is_metric and facts.features >= 3,
        ),
        facts.is_bounded(),
    )
    met = all(each.met for each in assumptions)
    value = least = None
    if met:
        value = nuclear_ball_complexity(
            terms, facts.features, facts.radius, facts.data_norm, fourth_moment
        )
        least = min(value, ball_complexity(terms, facts.radius, facts.score_norm))
    return _complexity(
        facts,
        "Lemma 5 (nuclear norm)",
        assumptions,
        terms,
        value=value,
        rate="O(D·√χ·√(ln d)/√t)",
        proved=Proved(least, f"t = {terms:g}") if least else None,
        remark=(
            "constants of (A.22); without knowledge of χ no better than the Frobenius ball, which "
            "contains the nuclear ball"
        ),
    )


def frobenius_ball(facts: Facts, terms: float | None = None) -> UtilityBound:
    """Return 4DR²/√t, the complexity of metrics of Frobenius norm up to D."""
    terms = facts.n if terms is None else terms
    assumptions = (
        Assumption("the scores are those of a metric", facts.is_metric),
        facts.is_bounded(),
    )
    met = all(each.met for each in assumptions)
    value = ball_complexity(terms, facts.radius, facts.score_norm) if met else None
    return _complexity(
        facts,
        "Remark 1 (Frobenius norm)",
        assumptions,
        terms,
        rate="O(D·R²/√t)",
        proved=Proved(value, f"t = {terms:g}") if value else None,
        remark="an order only",
    )


def _complexity(
    facts: Facts,
    statement: str,
    assumptions: tuple[Assumption, ...],
    terms: float,
    *,
    value: float | None = None,
    rate: str = "O(D·R/√t)",
    proved: Proved | None = None,
    remark: str,
) -> UtilityBound:
    return UtilityBound(
        PAPER,
        statement,
        "Rademacher complexity",
        "in expectation",
        assumptions,
        rate=rate,
        value=value,
        setting=f"scores, t = {terms:g}",
        trivial=facts.radius * facts.score_norm,
        proved=proved,
        remark=remark,
    )


def _common(facts: Facts) -> tuple[Assumption, ...]:
    return (
        facts.is_convex(),
        facts.is_lipschitz(),
        facts.is_nonnegative(),
        facts.has_linear_scores(),
    )


def _bounded(facts: Facts) -> tuple[Assumption, ...]:
    return (*_common(facts), facts.is_bounded())


def _long(facts: Facts, steps: float) -> Assumption:
    return Assumption("T ≥ n", steps >= facts.n)


def _bounded_value(facts: Facts, steps: float, step_size: float, extra: float) -> float:
    """Return the terms that Theorems 2 and 5 share; ``extra`` is the one beside √T."""
    lipschitz, width, n = facts.regularized_lipschitz, facts.diameter, facts.n
    c1, c2 = _c1(facts), (6 + 19 * math.e) * (facts.at_zero + lipschitz * width)
    return (
        4 * _complexity_of_losses(facts, width, steps)
        + width**2 / (2 * steps * step_size)
        + step_size * lipschitz**2 / 2
        + c2 * math.sqrt(math.log(6 * steps / facts.failure) / n)
        + c1 * step_size * math.ceil(math.log(n)) * (math.sqrt(steps) + extra)
    )


def _unbounded_value(facts: Facts, steps: float, step_size: float) -> float:
    lipschitz, at_zero, width = facts.regularized_lipschitz, facts.at_zero, facts.solution_norm
    n, gamma = facts.n, facts.failure
    reach = math.sqrt(lipschitz**2 + 2 * at_zero)
    c3 = (
        (7 + 12 * math.sqrt(2) * math.e) * at_zero + 4 * lipschitz * width + 16 * math.e * lipschitz
    )
    c4, c5 = 3 * lipschitz * reach, 12 * math.sqrt(2) * math.e * lipschitz * reach
    # R_t(ℓ∘W_t) ≤ G·√((G²+2M)ηt)/√t is the same for all t.
    complexity = lipschitz * reach * math.sqrt(step_size) + _complexity_of_losses(
        facts, width, steps
    )
    tail = 4 * steps * math.log(math.e * steps) * math.sqrt(math.log(6 * n / gamma)) / n
    return (
        2 * complexity
        + width**2 / (2 * steps * step_size)
        + step_size * lipschitz**2 / 2
        + c4 * math.sqrt(step_size * math.log(6 * steps / gamma))
        + c5 * math.sqrt(step_size * steps * math.log(6 * math.e / gamma) / n)
        + c3 * math.sqrt(math.log(6 * steps / gamma) / n)
        + _c1(facts) * step_size * math.ceil(math.log(n)) * (math.sqrt(steps) + tail)
    )


def _c1(facts: Facts) -> float:
    lipschitz = facts.regularized_lipschitz
    scale = 100 * math.sqrt(6) * math.exp(1.5) * lipschitz * max(1.0, lipschitz)
    return scale * math.log(6 * math.e / facts.failure)


def _complexity_of_losses(facts: Facts, radius: float, steps: float) -> float:
    """Return (1/T)ΣR_t(ℓ∘W) ≤ 2(GD + r)/√T: a regulariser of size up to r adds r/√t to R_t."""
    added = facts.regularization / 2 * (radius + facts.center_norm) ** 2
    scores = facts.lipschitz / facts.score_norm * ball_complexity(steps, radius, facts.score_norm)
    return 2 * (scores + added / math.sqrt(steps))


def _reach(facts: Facts, steps: float, step_size: float) -> float:
    """Return a bound on the norms of all iterates from zero and of w* (Lemma A.10)."""
    lipschitz, at_zero = facts.regularized_lipschitz, facts.at_zero
    iterates = math.sqrt((step_size * lipschitz**2 + 2 * at_zero) * step_size * steps)
    return min(facts.radius, max(iterates, facts.solution_norm))


def _noise(facts: Facts, steps: float, step_size: float) -> float:
    """Return σ of equation (5)."""
    delta, n = facts.budget.delta, facts.n
    often = 3 * (steps * math.log(math.e * steps) * math.log(2 / delta) / n) ** 2
    scale = step_size * facts.regularized_lipschitz / facts.budget.epsilon
    return scale * math.sqrt(8 * math.log(2.5 / delta) * (steps + often))


def _schedule(
    facts: Facts, steps: float | None, step_size: float | None, power: float, decay: float
) -> tuple[float, float]:
    return (
        float(math.ceil(facts.n**power)) if steps is None else float(steps),
        facts.n**-decay if step_size is None else step_size,
    )


def _setting(steps: float, step_size: float) -> str:
    return f"T = {steps:g}, η = {step_size:.3g}"
