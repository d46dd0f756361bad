"""What was tried: one record, to move more of an accuracy, an error or distances than is paid for.

- Records and labels of every kind in the place of one record, through the whole of `evaluate`:
  null records, huge numbers, labels that no other record has, targets beyond their range.
- One record that is in many pairs of a metric, or whose label renames the classes of others.
- Units of several records.
- Noise that is half of what is certified, which audits must find.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pairdp import Budget, Unit, evaluate
from pairdp.audit import audit_evaluation
from pairdp.evaluation import (
    AccuracyEvaluation,
    ConcordanceEvaluation,
    ErrorEvaluation,
    ScoreEvaluation,
)
from pairdp.evaluation.pair_distances import matching
from pairdp.evaluation.plan import EvaluationStatistic
from tests.attacks.test_evaluation import tapped
from tests.evaluation.test_kinds import CLUSTERS, TARGET, THREE, X, model

Array = NDArray[np.float64]
N = 24
STRANGE: list[Any] = [None, "old", float("nan"), 1e300, -1e308, 10**400]
NEAR, FAR = CLUSTERS[THREE == 0][0].tolist(), CLUSTERS[THREE == 1][0].tolist()


def classes_of(values: Any) -> list[Any]:
    found: list[Any] = values[:N].tolist()
    return found


KINDS: dict[str, tuple[Any, Any, list[Any], list[Any]]] = {
    "neighbours": (CLUSTERS, THREE, [NEAR, FAR], [0, 1, 2, 7, None, "a"]),
    "regressor": (X, TARGET, [[1e9, 0, 0], [-1e9, 0, 0], [0.5] * 3], [-1, 1, 5.0, None, 1e300]),
    "metric": (CLUSTERS, np.arange(N) // 22, [NEAR, FAR, [9.0] * 3], [0, 1, 5, None, "a"]),
}


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_replacement_moves_what_is_released_by_more_than_stated(
    kind: str, noise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model(kind)
    values = tapped(monkeypatch)
    x, y, rows, labels = KINDS[kind]
    options: dict[str, Any] = {"invalid": "null", "noise": noise, "hopeless": "warn"}
    place = int(matching(N)[0][0])
    others, classes = x[:N].tolist(), classes_of(y)
    rows = [*rows, *([cell, *rows[0][1:]] for cell in STRANGE)]
    for row, label in itertools.product(rows, labels):
        others[place], classes[place] = row, label
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            evaluate(model(kind), others, classes, 1.0, 1e-3, random_state=0, **options)
    found = np.array(values)
    order = 1 if noise == "laplace" else 2
    worst = float(np.linalg.norm(found[:, None] - found[None], ord=order, axis=2).max())
    # Pairs of 22 and 2 records: a pair of the rarer kind moves from the top to the bottom.
    assert (0.5 if kind == "metric" else 0.95) < worst < 1 + 1e-6


def test_one_record_of_a_metric_changes_one_pair() -> None:
    """Whatever its row and its label are, and whatever these are for others."""
    from pairdp.evaluation.pair_distances import matched_pairs

    rng = np.random.default_rng(0)
    for n in (10, 11, 50):
        rows, codes = rng.normal(size=(n, 3)), rng.integers(0, 3, n).astype(float)
        scores, signs = matched_pairs(rows, codes)
        for place, code in itertools.product(range(n), (0.0, 1.0, 9.0, np.nan)):
            moved, labels = rows.copy(), codes.copy()
            moved[place], labels[place] = 1e200, code
            after, classes = matched_pairs(moved, labels)
            changed = (after != scores) & ~(np.isnan(after) & np.isnan(scores))
            assert np.sum(changed | (classes != signs)) <= 1


@pytest.mark.parametrize("norm", [1, 2])
def test_distances_reach_their_bound(norm: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only pair of the same class moves from the top to the bottom."""
    values = tapped(monkeypatch)
    n = 60
    first, second = matching(n)
    x = np.zeros((n, 3))
    x[second] = 0.5
    y = np.arange(n)
    y[second[0]] = y[first[0]]
    noise: Any = "laplace" if norm == 1 else "gaussian"
    for row in (0.0, 0.9):
        x[second[0]] = row
        evaluate(model("metric"), x, y, 9.0, 1e-3, noise=noise, random_state=0)
    assert np.linalg.norm(values[1] - values[0], ord=norm) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("kind", ["neighbours", "regressor"])
def test_a_unit_moves_it_by_as_many_records(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model(kind)
    values = tapped(monkeypatch)
    x, y, rows, labels = KINDS[kind]
    groups = np.r_[np.zeros(5), np.arange(1, N - 4)]
    for row, label in itertools.product(rows[:2], labels[:3]):
        moved, classes = x[:N].copy(), np.array(classes_of(y))
        moved[:5], classes[:5] = row, label
        evaluate(
            model(kind), moved, classes, 9.0, groups=groups, max_records=4, random_state=0,
            hopeless="warn",
        )  # fmt: skip
    found = np.array(values)
    worst = np.abs(found[:, None] - found[None]).sum(axis=2).max()
    assert 0.75 * 4 < worst < 4 + 1e-6


STATISTICS: dict[str, EvaluationStatistic] = {
    "scores": ScoreEvaluation(("no", "yes")),
    "scores with counts": ScoreEvaluation(("no", "yes"), edges=(0.0,)),
    "distances": ScoreEvaluation(("different", "same"), items="matched pairs"),
    "accuracy": AccuracyEvaluation(null_records=True),
    "errors": ErrorEvaluation((-1.0, 1.0)),
    "errors and targets": ErrorEvaluation((-1.0, 1.0), r2=True),
    "concordance": ConcordanceEvaluation(),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_audits_find_no_violation(name: str) -> None:
    """Each is wrong with probability 1e-7."""
    plan = STATISTICS[name].plan(30, Budget(1.0), Unit("person", 2) if name == "errors" else None)
    report = audit_evaluation(plan, runs=40_000, confidence=1 - 1e-7)
    assert report.verdict == "consistent"
    assert report.lower_bound > 0.6


def test_rounding_of_simulated_noise_is_no_violation() -> None:
    """Noise that an audit adds in floating point has other roundings around another value."""
    plan = STATISTICS["scores with counts"].plan(1000, Budget(1.0), None)
    report = audit_evaluation(plan, runs=200_000, confidence=1 - 1e-7, seed=1)
    assert report.verdict == "consistent"


@pytest.mark.parametrize("name", STATISTICS)
def test_audits_find_halved_noise(name: str) -> None:
    """Noise for ε = 2 with a claim of 1; the audit sees what is drawn, not the certificate."""
    make: Callable[..., Any] = STATISTICS[name].plan
    report = audit_evaluation(
        make(30, Budget(2.0)), claimed=Budget(1.0), runs=40_000, confidence=1 - 1e-7
    )
    assert report.verdict == "violated"
    assert report.lower_bound > 1.2


@pytest.mark.parametrize("name", ["accuracy", "errors"])
def test_gaussian_noise_is_audited(name: str) -> None:
    facts: dict[str, Any] = {"accuracy": {}, "errors": {"target": (0.0, 1.0)}}[name]
    plan = type(STATISTICS[name])(noise="gaussian", **facts).plan(30, Budget(1.0, 1e-3))
    report = audit_evaluation(plan, runs=40_000, confidence=1 - 1e-7)
    assert report.verdict == "consistent"
    assert report.lower_bound > 0.65
