"""Losses whose formulas, declarations or structure are wrong: the checker names what is."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pytest

from pairdp.losses import (
    Domain,
    HingeRanking,
    LeastSquaresRanking,
    LogisticMetric,
    LogisticRanking,
    RankingLoss,
)
from pairdp.score_sums import AllPairs, Analytic, Quadratic, TruncatedPowers
from tests.testing.examined import examine


class WrongSign(LogisticRanking):
    convex = True

    def gradient(self, *arguments: Any) -> Any:
        return -super().gradient(*arguments)


class WrongScale(LogisticRanking):
    convex = True

    def gradient(self, *arguments: Any) -> Any:
        return 0.99 * super().gradient(*arguments)


class Wavy(LogisticRanking):
    convex = True

    def phi(self, u: Any) -> Any:
        return np.logaddexp(0.0, -u) + 0.3 * np.cos(u)

    def slope(self, u: Any) -> Any:
        return super().slope(u) - 0.3 * np.sin(u)

    def structure(self) -> Any:
        return AllPairs()


class OneOrder(LogisticRanking):
    convex = True

    symmetric: ClassVar[bool] = True  # type: ignore[assignment]
    orders: ClassVar[int] = 1  # type: ignore[assignment]

    def value(self, *arguments: Any) -> Any:
        return LogisticRanking("one-sided").value(*arguments)

    def gradient(self, *arguments: Any) -> Any:
        return LogisticRanking("one-sided").gradient(*arguments)


class Rising(LeastSquaresRanking):
    decreasing: ClassVar[bool] = True


class Repelling(LogisticMetric):
    convex = True

    def of_distance(self, squared: Any, similar: Any) -> Any:
        return super().of_distance(squared, ~similar)

    def slope(self, squared: Any, similar: Any) -> Any:
        return super().slope(squared, ~similar)


class Scribbling(LogisticRanking):
    convex = True

    def gradient(self, parameters: Any, x: Any, *others: Any) -> Any:
        gradients = super().gradient(parameters, x, *others)
        x *= 0.5
        return gradients


class Forgetful(LogisticRanking):
    convex = True

    def value(self, *arguments: Any) -> Any:
        values = super().value(*arguments)
        return values + 1e-3 * np.random.default_rng().random(len(values))


class Normalised(LogisticRanking):
    convex = True

    def gradient(self, *arguments: Any) -> Any:
        gradients = super().gradient(*arguments)
        return gradients / len(gradients)


class Lopsided(LogisticMetric):
    convex = True

    def gradient(self, *arguments: Any) -> Any:
        return 2 * np.tril(super().gradient(*arguments))


class Flat(LogisticRanking):
    convex = True

    def gradient(self, *arguments: Any) -> Any:
        return super().gradient(*arguments)[0]


class Undefined(LogisticRanking):
    convex = True

    def value(self, parameters: Any, x: Any, *others: Any) -> Any:
        return np.where(x[:, 0] > 0, np.nan, super().value(parameters, x, *others))


class Singular(LogisticRanking):
    convex = True

    def gradient(self, parameters: Any, *others: Any) -> Any:
        size = np.linalg.norm(parameters)
        return super().gradient(parameters, *others) * (size / size if size else math.nan)


class Restless(LogisticRanking):
    """Pairs of one label have a gradient, and so do two equal records."""

    convex = True

    def gradient(self, parameters: Any, x: Any, *others: Any) -> Any:
        return super().gradient(parameters, x, *others) + 1e-12


class Shrinking(LogisticRanking):
    def pair_diameter(self, domain: Domain) -> float:
        return math.nan


BROKEN = [
    (WrongSign(), {"subgradient", "derivative", "phi and slope"}),
    (WrongScale(), {"derivative", "phi and slope"}),
    (Wavy(), {"convex", "convex phi", "subgradient", "slope of phi", "decreasing", "curvature"}),
    (OneOrder(), {"declared symmetric"}),
    (Rising(), {"decreasing"}),
    (Repelling(), {"sign of similar", "sign of dissimilar"}),
    (Scribbling(), {"inputs unchanged"}),
    (Forgetful(), {"deterministic"}),
    (Normalised(), {"independent of others"}),
    (Lopsided(), {"symmetric gradient"}),
    (Flat(), {"shapes"}),
    (Undefined(), {"finite"}),
    (Singular(), {"finite"}),
    (Restless(), {"equal records", "equal labels"}),
    (Shrinking(), {"declared constants", "pair_diameter"}),
]


@pytest.mark.parametrize(("loss", "names"), BROKEN, ids=lambda part: type(part).__name__)
def test_errors_in_a_loss_are_named(loss: Any, names: set[str]) -> None:
    assert names <= set(examine(loss).failures)


def restructured(loss: RankingLoss, structure: Any) -> Any:
    made = type("Restructured", (type(loss),), {"structure": lambda self: structure})
    fake = object.__new__(made)
    vars(fake).update(vars(loss))
    return fake


STRUCTURES = [
    (HingeRanking(), TruncatedPowers(1.001, 1.0)),
    (HingeRanking(), TruncatedPowers(1.0, 1.001)),
    (HingeRanking(), TruncatedPowers(1.0, 0.5)),
    (HingeRanking(width=0.2), TruncatedPowers(1.0, 2.0, 2.5, ((1, 0.0), (-1, 0.21)))),
    (LeastSquaresRanking(), Quadratic(1.0, -2.0, 1.001)),
    (LogisticRanking(), Analytic(math.pi * 1.1, 40.0, -1.0, 0.0)),
    (LogisticRanking(), Analytic(math.pi, 30.0, -1.0, 0.0)),
    (LogisticRanking(), Analytic(math.pi, 40.0, -1.0, 0.1)),
    (HingeRanking(width=1.0), Analytic(math.pi, 40.0, -1.0, 0.0)),
]


@pytest.mark.parametrize(("loss", "structure"), STRUCTURES, ids=repr)
def test_a_wrong_structure_is_named(loss: RankingLoss, structure: Any) -> None:
    assert examine(restructured(loss, structure)).failures == ("structure",)


def test_a_cautious_strip_passes() -> None:
    assert examine(restructured(LogisticRanking(), Analytic(2.0, 60.0, -1.0, 0.0))).passed
