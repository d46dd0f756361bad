"""Huai 2020: orders of regret and excess risk; their proofs and constants are not published."""

from __future__ import annotations

from pairdp.theory.facts import Facts
from pairdp.theory.utility_bound import Assumption, UtilityBound

PAPER = "Huai 2020"
_MUCH = 10.0
_REMARK = "an order only; the proof is in a supplement that is not published with the paper"


def theorem_2(facts: Facts) -> UtilityBound:
    """Return the order of the regret of OnPairStrC on a stream of n records (equation 4)."""
    return _regret(
        facts,
        "Theorem 2 (OnPairStrC)",
        (facts.is_strongly_convex(),),
        "O(G²√d·ln^1.5(n/ζ)·√(n·ln(1/δ))/(αε) + GL²‖C‖/α² + G²ln(n)/α)",
    )


def theorem_3(facts: Facts) -> UtilityBound:
    """Return the order of the regret of OnPairC on a stream of n records (equation 4)."""
    rate = "O(L²G²‖C‖²√d·ln^1.5(n/ζ)·n^(3/4)·√ln(1/δ)/ε)"
    return _regret(facts, "Theorem 3 (OnPairC)", (), rate)


def _regret(facts: Facts, statement: str, more: tuple[Assumption, ...], rate: str) -> UtilityBound:
    return UtilityBound(
        PAPER,
        statement,
        "regret",
        f"with probability {1 - facts.failure:g}",
        (*_assumptions(facts), *more),
        rate=rate,
        trivial=(facts.n - 1) * facts.regularized_lipschitz * facts.diameter,
        remark=f"{_REMARK}; pairdp.studies.regret.regret_bound is a number for a plan",
    )


def theorem_4(facts: Facts) -> UtilityBound:
    """Return the order of the average of OnPairC, or of OnPairStrC if α > 0."""
    strongly = facts.strong_convexity > 0
    return UtilityBound(
        PAPER,
        "Theorem 4 (OnPairStrC)" if strongly else "Theorem 4 (OnPairC)",
        "excess risk",
        f"with probability {1 - 2 * facts.failure:g}",
        _assumptions(facts),
        rate=(
            "O(ΣR_t(ℓ∘C)/n + G²L²‖C‖√d·ln^1.5(n/ζ)·√ln(1/δ)/(α²ε√n))"
            if strongly
            else "O(ΣR_t(ℓ∘C)/n + G²L²‖C‖²√d·ln^1.5(n/ζ)·√ln(1/δ)/(ε·n^(1/4)))"
        ),
        trivial=facts.zero_excess,
        remark=_REMARK,
    )


def theorem_5(facts: Facts) -> UtilityBound:
    """Return the order of OffPairC, or of OffPairStrC if α > 0."""
    strongly = facts.strong_convexity > 0
    return UtilityBound(
        PAPER,
        "Theorem 5 (OffPairStrC)" if strongly else "Theorem 5 (OffPairC)",
        "excess risk",
        f"with probability {1 - 2 * facts.failure:g}",
        _assumptions(facts),
        rate=(
            "O(√d·G²‖C‖·ln(n/ζ)·√ln(1/δ)/(αεn) + ΣR_t(ℓ∘C)/n)"
            if strongly
            else "O(√d·G²‖C‖²·ln(n/ζ)·√ln(1/δ)·ln(n)/(ε√n) + ΣR_t(ℓ∘C)/n)"
        ),
        trivial=facts.zero_excess,
        remark=_REMARK,
    )


def _assumptions(facts: Facts) -> tuple[Assumption, ...]:
    return (
        facts.is_convex(),
        facts.is_smooth(),
        facts.is_lipschitz(),
        facts.is_bounded(),
        facts.is_approximate(),
        Assumption("ε ≤ 1", facts.budget.epsilon <= 1),
        Assumption(
            f"ln(1/δ) ≫ 1, of which no factor is stated; here at least {_MUCH:g}",
            facts.log_delta >= _MUCH,
        ),
    )
