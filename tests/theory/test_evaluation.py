"""Which statements have numbers, for which problems, and how many records they need."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace

import numpy as np
import pytest

from pairdp.constraints import L2Ball, PSDNuclearBall, SymmetricMatrices, Unconstrained
from pairdp.losses import (
    BilinearSimilarity,
    GradedRanking,
    HingeMetric,
    HingeRanking,
    LogisticPointwise,
    LogisticRanking,
    SigmoidRanking,
)
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Budget
from pairdp.problem import Problem
from pairdp.theory import (
    RISK_RATES,
    TABLE,
    Facts,
    UtilityBound,
    as_text,
    evaluate,
    records_needed,
)
from tests.theory.populations import METRIC, RANKING, REGULARIZED, population

BUDGET = Budget(1.0, 1e-6)


def by_name(
    problem: Problem, n: int = 1000, budget: Budget = BUDGET, features: int = 5
) -> dict[str, UtilityBound]:
    bounds = evaluate(problem, n, features, budget)
    return {f"{bound.paper} {bound.statement}": bound for bound in bounds}


PROBLEMS = [
    RANKING,
    REGULARIZED,
    METRIC,
    Problem(HingeRanking(), L2Ball(2.0)),
    Problem(HingeRanking("one-sided"), Unconstrained()),
    Problem(LogisticRanking(), Unconstrained(), regularization=0.1),
    Problem(HingeMetric(), PSDNuclearBall(1.0)),
    Problem(HingeMetric(), SymmetricMatrices()),
    Problem(SigmoidRanking(), L2Ball(1.0)),
    Problem(GradedRanking(), Unconstrained(), regularization=0.1),
    Problem(BilinearSimilarity(), SymmetricMatrices(), regularization=0.1),
]


@pytest.mark.parametrize("budget", [BUDGET, Budget(1.0)])
@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
def test_a_printed_number_is_given_only_if_all_assumptions_are_met(
    problem: Problem, budget: Budget
) -> None:
    for name, bound in by_name(problem, budget=budget).items():
        assert bound.value is None or bound.applies, name
        assert bound.value is None or (math.isfinite(bound.value) and bound.value > 0), name
        assert bound.proved is None or math.isfinite(bound.proved.value), name
        assert bound.value is not None or bound.vacuous is None, name
        assert bound.rate or bound.value or bound.proved or not bound.applies, name


def test_no_bound_on_private_risk_is_given_for_a_loss_that_is_not_convex() -> None:
    bounds = by_name(Problem(SigmoidRanking(), L2Ball(1.0), regularization=0.1))
    for bound in bounds.values():
        if bound.quantity == "excess risk":
            assert bound.value is None
            assert bound.proved is None
            assert bound.unmet


def test_orders_have_no_number() -> None:
    bounds = by_name(REGULARIZED)
    for name in (
        "Huai 2020 Theorem 2 (OnPairStrC)",
        "Huai 2020 Theorem 3 (OnPairC)",
        "Huai 2020 Theorem 5 (OffPairStrC)",
        "Kang 2021 Theorem 3",
        "Wang 2024 Theorem 6(a)",
        "Xue 2021 Theorem 1 (DPGDSC)",
    ):
        assert bounds[name].value is None
        assert bounds[name].rate.startswith("O(")


def test_the_trivial_bound_is_that_of_publishing_zero() -> None:
    steep = replace(RANKING, regularization=50.0)  # |∇F(0)|²/(2α) is less than the loss at zero
    assert Facts.of(steep, 100, 3, BUDGET).zero_excess < Facts.of(steep, 100, 3, BUDGET).at_zero
    for problem in (RANKING, REGULARIZED, METRIC, steep):
        zero = population(problem).excess(problem.constraint.initial(3))
        assert 0 < zero <= Facts.of(problem, 100, 3, BUDGET).zero_excess


def test_graded_responses_have_the_numbers_of_two_classes() -> None:
    graded = GradedRanking(LogisticRanking(), label_bound=0.5)
    for constraint, added in ((L2Ball(1.0), 0.1), (L2Ball(1.0), 0.0), (Unconstrained(), 0.1)):
        one, two = (
            evaluate(Problem(loss, constraint, added), 1000, 5, BUDGET)
            for loss in (graded, graded.two_class)
        )
        assert one == two


def test_a_starting_point_is_no_worse_than_any_point_of_the_set() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        point = rng.normal(size=3)
        excess = population(RANKING).excess(point / np.linalg.norm(point))
        assert excess <= Facts.of(RANKING, 100, 3, BUDGET).start_excess


def test_vacuous_numbers_are_marked_and_become_useful_with_more_records() -> None:
    few, many = (by_name(REGULARIZED, n)["Kang 2021 Theorem 2"] for n in (50, 10**9))
    assert few.vacuous is True
    assert few.proved_vacuous is True
    assert many.vacuous is False
    assert many.proved_vacuous is False


@pytest.mark.parametrize("problem", [RANKING, REGULARIZED, METRIC])
def test_records_needed_invert_the_bounds(problem: Problem) -> None:
    target = 0.05
    needed = records_needed(problem, 5, BUDGET, target)
    assert any(entry.proved for entry in needed)
    for entry in needed:
        name = f"{entry.paper} {entry.statement}"
        for n, kind in ((entry.printed, "printed"), (entry.proved, "proved")):
            if n is None:
                continue
            for records, enough in ((n, True), (n // 2, False)):
                bound = by_name(problem, records)[name]
                value = bound.value
                if kind == "proved":
                    assert bound.proved is not None
                    value = bound.proved.value
                assert value is not None
                assert (value <= target) == enough


def test_more_privacy_and_smaller_risks_need_more_records() -> None:
    def proved(epsilon: float, risk: float) -> int:
        needed = records_needed(RANKING, 5, Budget(epsilon, 1e-6), risk)
        (found,) = (e.proved for e in needed if e.statement == "Theorem 2 (DPGDC2)")
        assert found is not None
        return found

    assert proved(1.0, 0.1) < proved(1.0, 0.05) < proved(0.1, 0.05)


def test_a_risk_that_no_bound_reaches() -> None:
    assert records_needed(Problem(SigmoidRanking(), L2Ball(1.0)), 5, BUDGET, 0.1) == ()


def test_losses_of_one_record_are_refused() -> None:
    problem = PointwiseProblem(LogisticPointwise(), L2Ball(1.0))
    with pytest.raises(TypeError, match="pairs"):
        evaluate(problem, 100, 5, BUDGET)


def test_the_norm_of_the_solution_is_needed_without_a_bounded_set() -> None:
    problem = Problem(HingeRanking(), Unconstrained())
    (unknown,) = (
        b for b in evaluate(problem, 100, 5, BUDGET) if b.statement.startswith("Theorem 3 (no")
    )
    assert any("solution_norm" in text for text in unknown.unmet)
    bounds = evaluate(problem, 100, 5, BUDGET, solution_norm=2.0)
    (known,) = (b for b in bounds if b.statement.startswith("Theorem 3 (no"))
    assert known.value is not None
    assert known.proved is not None


def test_the_text_names_every_statement_and_what_is_not_met() -> None:
    bounds = evaluate(RANKING, 1000, 5, BUDGET)
    text = as_text(bounds, records_needed(RANKING, 5, BUDGET, 0.1), TABLE)
    for bound in bounds:
        assert f"{bound.paper} {bound.statement}" in text
    assert "NOT MET: the problem is strongly convex" in text
    assert "records that suffice" in text
    assert "Table 2" in text


def test_bounds_are_frozen() -> None:
    bound = evaluate(RANKING, 1000, 5, BUDGET)[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        bound.value = 0.0  # type: ignore[misc]


def test_theorem_2_of_xue_needs_a_smooth_loss_for_its_noise() -> None:
    name = "Xue 2021 Theorem 2 (DPGDC2)"
    enough = by_name(RANKING)[name]
    assert enough.applies
    few = by_name(RANKING, budget=Budget(1e-3, 1e-6))[name]
    (unmet,) = few.unmet
    assert unmet.startswith("L ≤ (‖C‖/2G)·min(n, nε/√(d·ln(1/δ)))")


@pytest.mark.parametrize("theorem", ["3 (OnPairC)", "4 (OnPairC)", "5 (OffPairC)"])
def test_theorems_of_huai_need_a_small_delta(theorem: str) -> None:
    name = f"Huai 2020 Theorem {theorem}"
    assert by_name(RANKING, budget=Budget(1.0, 1e-6))[name].applies
    (unmet,) = by_name(RANKING, budget=Budget(1.0, 1e-2))[name].unmet
    assert unmet.startswith("ln(1/δ) ≫ 1")


def test_bounds_go_on_decreasing_beyond_a_million_records() -> None:
    for problem, name in (
        (RANKING, "Xue 2021 Theorem 4 (DPGDC)"),
        (Problem(LogisticRanking(), L2Ball(1.0), regularization=1e-6), "Kang 2021 Theorem 2"),
    ):
        values = []
        for n in (10**12, 10**14):
            found = by_name(problem, n, Budget(1.0, 1e-9))[name].proved
            assert found is not None
            values.append(found.value)
        assert values[1] < values[0] / 9


def test_rates_of_tables_are_those_of_the_theorems() -> None:
    expected, likely = (
        next(
            rate.upper
            for rate in RISK_RATES
            if rate.table == rate.work == "Kang 2021" and rate.holds == holds
        )
        for holds in ("in expectation", "with high probability")
    )
    bounds = by_name(REGULARIZED)
    assert bounds["Kang 2021 Theorem 2"].rate == expected
    assert bounds["Kang 2021 Theorem 3"].rate == likely
