"""Intervals of accuracies and of errors hold the figures of the population as often as they say."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, binom
from sklearn.metrics import r2_score

from pairdp import Budget, Unit
from pairdp.evaluation import AccuracyEvaluation, ErrorEvaluation
from pairdp.evaluation.inversion import inverted
from pairdp.evaluation.noisy_errors import TESTED_AT, NoisyErrors, largest_fourth_moment
from pairdp.evaluation.noisy_r2 import NoisyR2
from pairdp.evaluation.plan import EvaluationPlan, noise_of

Array = NDArray[np.float64]
DRAWS, CELLS = 1500, 200
# For cells that cover 0.95, the chance that any of them is below this is 1e-7.
FEWEST = int(binom.ppf(1e-7 / CELLS, DRAWS, 0.95))
RNG = np.random.default_rng(0)
ERRORS: dict[str, tuple[Callable[[int], Array], float, float]] = {
    "normal": (
        lambda n: np.minimum(0.1 * np.abs(RNG.normal(size=n)), 1.0),
        0.1 * math.sqrt(2 / math.pi),
        0.01,
    ),
    "at both ends": (lambda n: (RNG.random(n) < 0.02).astype(float), 0.02, 0.02),
    "two values": (lambda n: np.where(RNG.random(n) < 0.01, 1.0, 0.05), 0.0595, 0.012475),
}


def noisy(plan: EvaluationPlan, *records: Array) -> Any:
    scale, gaussian = noise_of(plan.certificate.releases[0])  # the same for all releases
    draw = RNG.normal if gaussian else RNG.laplace
    noised = [exact + draw(scale=scale, size=exact.size) for exact in plan.exact(*records)]
    return plan.read(*(numbers.tolist() for numbers in noised))


@pytest.mark.slow
@pytest.mark.parametrize("together", [1, 3])
@pytest.mark.parametrize("null", [0.0, 0.2])
@pytest.mark.parametrize("accuracy", [0.5, 0.98])
def test_intervals_of_accuracy_cover(accuracy: float, null: float, together: int) -> None:
    n, unit = 300, Unit("person", together) if together > 1 else None
    for epsilon in (0.1, 2.0):
        plan = AccuracyEvaluation(null > 0 or together > 1).plan(n, Budget(epsilon), unit)
        kept = 0
        for _ in range(DRAWS):
            right = np.repeat(RNG.random(n // together) < accuracy, together).astype(float)
            right[RNG.random(n) < null] = np.nan
            kept += noisy(plan, right).is_kept(accuracy)
        assert kept >= FEWEST


@pytest.mark.slow
@pytest.mark.parametrize("together", [1, 3])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("kind", ERRORS)
def test_intervals_of_errors_cover(kind: str, noise: Any, together: int) -> None:
    n, unit = 300, Unit("person", together) if together > 1 else None
    sample, mean, square = ERRORS[kind]
    for epsilon in (0.5, 10.0):
        evaluation = ErrorEvaluation((0.0, 1.0), together > 1, noise)
        plan = evaluation.plan(n, Budget(epsilon, 1e-6 if noise == "gaussian" else 0.0), unit)
        kept = np.zeros(2)
        for _ in range(DRAWS):
            errors = np.repeat(sample(n // together), together)
            found = noisy(plan, errors, np.zeros(n)).errors
            tails = found.absolute_tail(np.array([mean])), found.squared_tail(np.array([square]))
            kept += [tail[0] >= 1 - TESTED_AT for tail in tails]
        assert kept.min() >= FEWEST, (epsilon, kept)


@pytest.mark.slow
def test_intervals_that_leave_sampling_out_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    tail = NoisyErrors._tail
    monkeypatch.setattr(
        NoisyErrors, "_tail", lambda self, off, v, *rest: tail(self, off, 0 * v, *rest)
    )
    plan = ErrorEvaluation((0.0, 1.0)).plan(300, Budget(10.0))
    sample, mean, _ = ERRORS["normal"]
    found = [noisy(plan, sample(300), np.zeros(300)).errors for _ in range(DRAWS)]
    assert sum(each.absolute_tail(np.array([mean]))[0] >= 1 - TESTED_AT for each in found) < FEWEST


def test_no_distribution_has_a_larger_fourth_moment() -> None:
    """Random distributions with few values, and those at 1 and one other value, which attain it."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        values, weights = rng.random(4) ** 2, rng.dirichlet(np.ones(4))
        m, q, fourth = (float(weights @ values**power) for power in (1, 2, 4))
        bound = largest_fourth_moment(np.array([q]), m - q)[0]
        assert fourth <= bound + 1e-12
        smaller = largest_fourth_moment(np.array([q]), 0.9 * (m - q))[0]
        assert smaller >= bound - 1e-12
    p, x = 0.1, 0.3
    m, q, fourth = (p + (1 - p) * x**power for power in (1, 2, 4))
    assert largest_fourth_moment(np.array([q]), m - q)[0] == pytest.approx(fourth)


def test_with_little_noise_ends_are_those_of_clopper_and_pearson() -> None:
    """Noise as small as 1e-6 decides how much of the chance of 40 right predictions counts."""
    plan = AccuracyEvaluation().plan(50, Budget(1e6))
    lower = plan.read([40 - 25.0 - 1e-4]).interval(0.8).lower
    upper = plan.read([40 - 25.0 + 1e-4]).interval(0.8).upper
    assert lower == pytest.approx(beta.ppf(0.02, 40, 11), abs=1e-3)
    assert upper == pytest.approx(beta.ppf(0.98, 41, 10), abs=1e-3)


def test_an_interval_between_two_steps_is_found() -> None:
    found = inverted(lambda values: np.abs(values - 0.33333) < 1e-5, 0.333331, 11)
    assert found.lower == pytest.approx(0.33332, abs=1e-7)
    assert found.upper == pytest.approx(0.33334, abs=1e-7)
    assert inverted(lambda values: values > 2, 0.4) == (0.4, 0.4)


def regression(n: int, missed: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return predictions and targets with an R² of 1 - missed, nearly."""
    targets = np.clip(0.5 + 0.15 * rng.normal(size=n), 0, 1)
    return np.clip(targets + math.sqrt(missed) * 0.15 * rng.normal(size=n), 0, 1), targets


@pytest.mark.parametrize(
    ("missed", "noise", "null"), [(0.2, "laplace", 0.0), (0.8, "gaussian", 0.2)]
)
def test_intervals_of_r2_cover(missed: float, noise: Any, null: float) -> None:
    """If 95 % of them do, fewer of 60 hold R² with probability 1e-7."""
    rng = np.random.default_rng(0)
    n, kept = 3000, 0
    evaluation = ErrorEvaluation((0.0, 1.0), null > 0, noise, r2=True)
    plan = evaluation.plan(n, Budget(2.0, 1e-6 if noise == "gaussian" else 0.0))
    for _ in range(60):
        predicted, targets = regression(n, missed, rng)
        predicted[rng.random(n) < null] = np.nan
        found = NoisyR2(*noisy(plan, predicted, targets))
        kept += bool(found.kept(np.array([missed]))[0])
    assert kept >= binom.ppf(1e-7, 60, 0.95)
    assert found.estimate.interval.width < 0.9


def exact_r2(plan: Any, predicted: Array, targets: Array) -> Any:
    numbers = plan.exact(predicted, targets)
    return NoisyR2(*plan.read(*(each.tolist() for each in numbers))).estimate


def test_r2_without_noise_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    plan = ErrorEvaluation((0.0, 1.0), r2=True).plan(3000, Budget(1e6))
    for missed in (0.05, 0.5, 0.95):
        predicted, targets = regression(3000, missed, rng)
        found = exact_r2(plan, predicted, targets)
        assert found.value == pytest.approx(r2_score(targets, predicted), abs=1e-6)
        assert found.interval.lower < found.value < found.interval.upper
    worse = exact_r2(plan, 1 - targets, targets)  # R² is -3
    assert (worse.value, worse.interval.lower) == (0.0, 0.0)
    assert worse.interval.upper < 0.01
    perfect = exact_r2(plan, targets, targets)
    assert perfect.value == pytest.approx(1.0, abs=1e-6)
    constant = exact_r2(plan, np.full(3000, 0.5), np.full(3000, 0.5))
    assert constant.interval.width > 0.99  # nothing can be said
