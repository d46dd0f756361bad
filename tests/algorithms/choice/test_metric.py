"""Choosing a metric learner: from public facts, within the budget, and no worse than Euclid."""

from __future__ import annotations

import math
import re
import tracemalloc

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms import (
    EpochGradientDescent,
    FisherMetric,
    GradientDescent,
    MinimizerRelease,
    NoisyGradientDescent,
    ScatterMetric,
    StreamGradientDescent,
)
from pairdp.algorithms.choice import Choice
from pairdp.algorithms.choice.metric import choose_metric
from pairdp.constraints import PSDFrobeniusBall
from pairdp.losses import HingeMetric, LogisticMetric, LogisticRanking

BUDGET, PURE = Budget(1.0, 1e-5), Budget(1.0)


def kinds(choice: Choice) -> set[type]:
    return {type(candidate.algorithm) for candidate in choice.candidates}


@pytest.mark.parametrize("budget", [BUDGET, PURE, Budget(8.0, 1e-8), None], ids=str)
@pytest.mark.parametrize(("n", "d"), [(100, 30), (1000, 2), (4000, 10), (20_000, 20)])
@pytest.mark.slow
def test_candidates_are_sorted_plan_and_keep_their_budget(
    n: int, d: int, budget: Budget | None
) -> None:
    choice = choose_metric(n, d, budget, data_norm=2.0, radius=3.0)
    assert (choice.n, choice.features, choice.budget) == (n, d, budget)
    errors = [candidate.error for candidate in choice.candidates]
    assert errors == sorted(errors)
    assert all(math.isfinite(error) and error >= 0 for error in errors)
    for candidate in choice.candidates:
        plan = candidate.algorithm.plan(candidate.problem, n, d, budget)
        assert plan.claim_is_proved == (budget is not None)
        assert plan.problem.data_norm == 2.0
        assert plan.problem.constraint == PSDFrobeniusBall(3.0)
        assert verify(plan.certificate)
        assert re.search(r"noise of size \d.* and a typical signal of \d", candidate.reason)
    assert choice.plan().algorithm == choice.best.algorithm


def test_all_algorithms_are_considered() -> None:
    assert kinds(choose_metric(1000, 5, BUDGET)) == {
        FisherMetric,
        ScatterMetric,
        MinimizerRelease,
        GradientDescent,
        NoisyGradientDescent,
        EpochGradientDescent,
        StreamGradientDescent,
    }
    assert NoisyGradientDescent not in kinds(choose_metric(1000, 5, PURE))


def test_many_records_take_what_is_linear_in_their_number() -> None:
    choice = choose_metric(20_000, 5, BUDGET)
    assert kinds(choice) == {FisherMetric, ScatterMetric, NoisyGradientDescent}
    for candidate in choice.candidates:
        if isinstance(candidate.algorithm, NoisyGradientDescent):
            assert candidate.algorithm.batch_size is not None
    # Mini-batches cannot be pure, so with a loss there is nothing but all pairs.
    assert MinimizerRelease in kinds(choose_metric(20_000, 5, PURE, loss=LogisticMetric()))


def test_noise_against_signal_decides() -> None:
    # More records or budget: less error. More features: more.
    errors = [choose_metric(n, 10, BUDGET).best.error for n in (100, 1000, 10_000)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[0] > 0.8
    assert choose_metric(10_000, 10, PURE).best.error > errors[2]
    assert choose_metric(10_000, 30, BUDGET).best.error > errors[2]
    assert choose_metric(1000, 10, None).best.error == 0


def test_of_one_feature_the_plan_says_that_nothing_can_be_learned() -> None:
    for candidate in choose_metric(2000, 1, BUDGET).candidates:
        plan = candidate.algorithm.plan(candidate.problem, 2000, 1, BUDGET)
        assert "one feature" in plan.warnings[0]


def test_without_noise_the_full_form_is_chosen() -> None:
    assert choose_metric(2000, 30, None).best.algorithm == FisherMetric("full")


def test_the_pull_to_euclid_grows_with_the_noise() -> None:
    pulls = [
        choose_metric(1000, 5, Budget(epsilon, 1e-5), loss=LogisticMetric()).best.problem
        for epsilon in (0.1, 1.0, 10.0)
    ]
    assert pulls[0].regularization > 5 * pulls[1].regularization > 25 * pulls[2].regularization
    for problem in pulls:
        np.testing.assert_allclose(problem.center, problem.center[0, 0] * np.eye(5))
        assert 0 < np.linalg.norm(problem.center) <= 1


def test_a_pull_to_euclid_leaves_little_noise() -> None:
    n, d, rng = 400, 4, np.random.default_rng(0)
    x, y = rng.normal(size=(n, d)) / 4, rng.integers(2, size=n)
    for budget in (Budget(0.2, 1e-4), Budget(0.2)):
        choice = choose_metric(n, d, budget, loss=LogisticMetric())
        for candidate in choice.candidates:
            plan = candidate.algorithm.plan(candidate.problem, n, d, budget)
            fit = plan.run(candidate.problem.records(x, y), NoiseSource(1), progress=False)
            assert np.linalg.cond(fit.parameters) < 4, candidate.algorithm


@pytest.mark.parametrize("loss", [LogisticMetric(2.0), HingeMetric(width=0.5), HingeMetric()])
def test_a_given_loss_is_what_is_minimised(loss: LogisticMetric | HingeMetric) -> None:
    choice = choose_metric(500, 4, BUDGET, loss=loss)
    assert ScatterMetric not in kinds(choice)
    assert all(candidate.problem.loss is loss for candidate in choice.candidates)


def test_a_given_regularization_is_kept() -> None:
    for value in (0.0, 0.3):
        choice = choose_metric(500, 4, BUDGET, regularization=value)
        solved = {candidate.problem.regularization for candidate in choice.candidates}
        assert value in solved
        # A stream regularises what is not strongly convex.
        assert len(solved) == (2 if value == 0 else 1)


def test_refusals_say_what_to_change() -> None:
    with pytest.raises(ValueError, match=r"delta > 0.*LogisticMetric\(\).*leave the loss out"):
        choose_metric(500, 4, PURE, loss=HingeMetric())
    with pytest.raises(TypeError, match="metric loss such as"):
        choose_metric(500, 4, BUDGET, loss=LogisticRanking())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Budget or None"):
        choose_metric(500, 4, 1.0)  # type: ignore[arg-type]
    for wrong in ({"n": 1}, {"features": 0}, {"radius": 0.0}, {"data_norm": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            choose_metric(**{"n": 500, "features": 4, "budget": BUDGET, **wrong})
    with pytest.raises(ValueError, match="regularization"):
        choose_metric(500, 4, BUDGET, regularization=-1.0)


def test_a_choice_holds_nothing_of_the_size_of_the_data() -> None:
    choose_metric(10**7, 5, BUDGET)
    tracemalloc.start()
    try:
        choose_metric(10**7 + 1, 6, BUDGET)
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


# Against Euclid


def drawn(name: str, n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y, x = rng.integers(3, size=n), rng.normal(size=(n, d))
    match name:
        case "one direction":
            x[:, 0] += 1.5 * y
        case "nuisance":
            x[:, 0] += 2.0 * y
            x = (x * np.where(np.arange(d) == d - 1, 5.0, 1.0)) @ np.linalg.qr(
                rng.normal(size=(d, d))
            )[0]
        case "heavy tails":
            x = rng.standard_t(3, size=(n, d))
            x[:, :2] += rng.normal(size=(3, 2))[y] * 2
        case "two places a class":
            x[:, 0] += 3 * y * rng.choice([-1, 1], n)
    return 0.5 * x / np.abs(x).max() / math.sqrt(d), y


def gain(name: str, n: int, d: int, budget: Budget, seed: int) -> float:
    rng = np.random.default_rng(seed)
    x, y = drawn(name, n + 1500, d, rng)
    plan = choose_metric(n, d, budget).plan()
    metric = plan.run(plan.problem.records(x[:n], y[:n]), NoiseSource(seed)).parameters
    values, vectors = np.linalg.eigh(metric)
    half = vectors * np.sqrt(np.maximum(values, 0))
    learned, euclid = (
        KNeighborsClassifier(3).fit((x @ m)[:n], y[:n]).score((x @ m)[n:], y[n:])
        for m in (half, np.eye(d))
    )
    return float(learned - euclid)


@pytest.mark.parametrize(
    ("name", "n", "d", "budget", "least"),
    [
        ("one direction", 4000, 10, Budget(2.0, 1e-5), 0.005),
        ("nuisance", 4000, 6, Budget(4.0, 1e-6), 0.005),
        ("heavy tails", 3000, 12, Budget(4.0), -0.02),
        ("two places a class", 4000, 8, Budget(4.0, 1e-5), -0.02),
        ("nuisance", 300, 20, Budget(0.3, 1e-4), -0.02),
    ],
)
@pytest.mark.slow
def test_the_choice_is_no_worse_than_euclid(
    name: str, n: int, d: int, budget: Budget, least: float
) -> None:
    assert np.mean([gain(name, n, d, budget, seed) for seed in range(3)]) >= least
