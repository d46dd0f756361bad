"""What was tried: one record, to move more of a concordance than is paid for.

- Every record in its place: scores and responses that turn the order of its pair, equal scores,
  equal responses, null records, responses beyond their bounds, through the whole of `evaluate`.
- Units of several records.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from pairdp import evaluate
from pairdp.evaluation.pair_distances import matching, ordered_pairs
from tests.attacks.test_evaluation import tapped
from tests.evaluation.test_concordance import X, Y, model

N = 24
ROWS: list[list[Any]] = [[0.4, -0.4, 0], [-0.4, 0.4, 0], [0, 0, 0], [None, 0, 0], [1e300, 0, 0]]
RESPONSES: list[Any] = [-2, 0, 2, 1e9, None, "high", float("nan")]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("place", [0, 5])
def test_no_replacement_moves_it_by_more_than_stated(
    noise: Any, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the other record of the pair is: it may have the same score or response."""
    fitted = model("ranker")
    values = tapped(monkeypatch)
    one, other = (int(places[place]) for places in matching(N))
    largest = 0.0
    for of_other in ([0.4, -0.4, 0], [0, 0, 0]):
        values.clear()
        rows, responses = X[:N].tolist(), Y[:N].tolist()
        rows[other], responses[other] = of_other, 0
        for row, response in itertools.product(ROWS, RESPONSES):
            rows[one], responses[one] = row, response
            evaluate(
                fitted, rows, responses, 9.0, 1e-3, noise=noise, invalid="null", random_state=0
            )
        found = np.array(values)
        order = 1 if noise == "laplace" else 2
        worst = np.linalg.norm(found[:, None] - found[None], ord=order, axis=2).max()
        changes = found - found[0]
        assert np.unique(np.round(changes, 6), axis=0).shape[0] >= 3
        largest = max(largest, float(worst))
    assert 0.95 < largest < 1 + 1e-6


@pytest.mark.parametrize("k", [2, 4])
def test_a_unit_moves_it_by_as_many_records(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs of a unit turn; k records are used of the k + 1 that it has."""
    fitted = model("ranker")
    values = tapped(monkeypatch)
    first, second = matching(N)
    groups = np.arange(N)
    groups[first[: k + 1]] = first[0]
    rows, responses = np.zeros((N, 3)), np.zeros(N)
    responses[second] = 1.0
    for a, response in itertools.product((-0.4, 0.0, 0.4), (0.0, 1.0, 2.0, np.nan)):
        rows[first[: k + 1], 0], responses[first[: k + 1]] = a, response
        evaluate(
            fitted, rows, responses, 9.0, groups=groups, max_records=k, invalid="null",
            random_state=0, hopeless="warn",
        )  # fmt: skip
    found = np.array(values)
    worst = np.abs(found[:, None] - found[None]).sum(axis=2).max()
    assert 0.95 * k < worst < k + 1e-6


def test_one_record_changes_one_pair() -> None:
    rng = np.random.default_rng(0)
    for n in (10, 11, 30):
        scores, responses = rng.normal(size=(2, n))
        before = ordered_pairs(scores, responses)
        values = (-9.0, 0.0, 9.0, np.nan, np.inf)
        for place, score, response in itertools.product(range(n), values, values):
            moved, others = scores.copy(), responses.copy()
            moved[place], others[place] = score, response
            after = ordered_pairs(moved, others)
            assert np.sum((after != before) & ~(np.isnan(after) & np.isnan(before))) <= 1
