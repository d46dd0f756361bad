"""A choice decides nothing twice: candidates keep what their predictions needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pairdp import Budget, PrivateLinearClassifier, PrivateMetric, PrivateRanker
from pairdp.algorithms import Algorithm, WithThreshold, algorithms
from pairdp.algorithms.choice import Choice, choose_linear, choose_metric, choose_ranker
from pairdp.algorithms.facts import PublicLabels
from pairdp.losses import LogisticMetric, LogisticPointwise, LogisticRanking

BUDGET, PURE = Budget(1.0, 1e-6), Budget(1.0)


class Counter:
    """Every task that an algorithm was asked to decide, and how many plans were made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.drafts: list[object] = []
        self.plans: list[str] = []
        for kind in {type(algorithm) for algorithm in algorithms().values()} | {WithThreshold}:
            monkeypatch.setattr(kind, "draft", self._counted(kind.draft))
        plan = Algorithm.plan

        def counted(algorithm: Algorithm, *facts: Any, **options: Any) -> Any:
            self.plans.append(algorithm.name)
            return plan(algorithm, *facts, **options)

        monkeypatch.setattr(Algorithm, "plan", counted)

    def _counted(self, draft: Callable[..., Any]) -> Callable[..., Any]:
        def counted(algorithm: Algorithm, task: Any) -> Any:
            self.drafts.append((algorithm, task))
            return draft(algorithm, task)

        return counted

    @property
    def repeated(self) -> list[object]:
        return [each for i, each in enumerate(self.drafts) if each in self.drafts[:i]]


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Counter:
    return Counter(monkeypatch)


CHOICES: dict[str, Callable[[Budget], Choice]] = {
    "ranker": lambda budget: choose_ranker(500, 4, budget),
    "logistic ranker": lambda budget: choose_ranker(500, 4, budget, loss=LogisticRanking()),
    "metric": lambda budget: choose_metric(500, 3, budget),
    "logistic metric": lambda budget: choose_metric(500, 3, budget, loss=LogisticMetric()),
    "linear": lambda budget: choose_linear(
        500, 4, budget, data_norm=1.0, radius=1.0, loss=LogisticPointwise()
    ),
}


@pytest.mark.parametrize("budget", [BUDGET, PURE], ids=str)
@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_plans_only_what_it_takes(counter: Counter, name: str, budget: Budget) -> None:
    choice = CHOICES[name](budget)
    assert not counter.plans
    choice.plan()
    assert counter.plans == [choice.best.algorithm.name]
    assert not counter.repeated


@pytest.mark.parametrize("name", CHOICES)
def test_a_kept_draft_makes_the_same_plan(name: str) -> None:
    choice = CHOICES[name](BUDGET)
    for candidate in choice.candidates:
        again = candidate.algorithm.plan(candidate.problem, choice.n, choice.features, BUDGET)
        assert choice.plan(candidate=candidate) == again


def test_a_completed_algorithm_is_planned_with_its_conditions() -> None:
    choice = choose_ranker(500, 4, BUDGET)
    for candidate in choice.candidates:
        made = choice.plan(
            candidate=candidate, complete=WithThreshold, conditions=(PublicLabels(),)
        )
        algorithm = WithThreshold(candidate.algorithm)
        again = algorithm.plan(candidate.problem, 500, 4, BUDGET, conditions=(PublicLabels(),))
        assert made == again


ESTIMATORS: dict[str, Any] = {
    "ranker": PrivateRanker(1.0, data_norm=1.0),
    "ranker with a given threshold": PrivateRanker(1.0, data_norm=1.0, threshold=0.0),
    "classifier": PrivateLinearClassifier(1.0, data_norm=1.0),
    "metric": PrivateMetric(1.0, data_norm=1.0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_plans_once_and_decides_nothing_twice(counter: Counter, name: str) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    ESTIMATORS[name].fit(rng.normal(size=(200, 3)) + y[:, None], y)
    assert len(counter.plans) == 1
    assert not counter.repeated
