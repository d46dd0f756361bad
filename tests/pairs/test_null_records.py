"""Null records count in n and contribute zero to every sum over pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from pairdp.constraints import L2Ball
from pairdp.losses import (
    Domain,
    HingeMetric,
    HingePointwise,
    HingeRanking,
    LeastSquaresPointwise,
    LeastSquaresRanking,
    LogisticMetric,
    LogisticPointwise,
    LogisticRanking,
    PairwiseLoss,
    PowerHingeRanking,
    SquaredHingeRanking,
)
from pairdp.pairs import PairDesign, RankingSums, risk
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.records import Records
from tests.oracles.all_pairs import average_gradient, average_value

N, D = 40, 3


@dataclass(frozen=True)
class Products(PairwiseLoss):
    """A loss of the base class, of both orders, that knows no labels but -1 and +1."""

    convex = True

    symmetric = False

    def value(self, w, x, y, other_x, other_y):
        assert np.all(np.abs(y) == 1)
        assert np.all(np.abs(other_y) == 1)
        return (2 + y * other_y) * ((x - 2 * other_x) @ w)

    def gradient(self, w, x, y, other_x, other_y):
        assert np.all(np.abs(y) == 1)
        assert np.all(np.abs(other_y) == 1)
        return (2 + y * other_y)[:, None] * (x - 2 * other_x)

    def lipschitz(self, domain: Domain) -> float:
        return 9 * domain.data_norm


LOSSES = {
    "logistic": LogisticRanking(),
    "one-sided": LogisticRanking("one-sided"),
    "sharp": LogisticRanking(temperature=1e-4),
    "hinge": HingeRanking(),
    "rounded hinge": HingeRanking("one-sided", width=0.3),
    "power": PowerHingeRanking(power=1.5),
    "squared hinge": SquaredHingeRanking(),
    "least squares": LeastSquaresRanking("one-sided"),
    "metric": LogisticMetric(),
    "hinge metric": HingeMetric(),
    "user": Products(),
}
NULL = {
    "none": [],
    "one": [7],
    "some": [0, 1, 5, 17, 39],
    "all but two": [i for i in range(N) if i not in (3, 30)],
    "all but one": [i for i in range(N) if i != 3],
    "all": list(range(N)),
}


def data(loss: PairwiseLoss, null: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(len(null))
    x, y = rng.normal(size=(N, D)), rng.choice([-1.0, 1.0], N)
    w = rng.normal(size=(D, D)) if loss.matrix else rng.normal(size=D)
    x[null, rng.integers(D)] = np.nan
    return x, y, (w + w.T) / 2 if loss.matrix else w


def expected(loss: PairwiseLoss, records: Records, w: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the averages over pairs of others, times their share of all pairs."""
    x, y = records.x[~records.null], records.y[~records.null]
    if len(y) < 2:
        return 0.0, np.zeros_like(w)
    share = len(y) * (len(y) - 1) / (N * (N - 1))
    return share * average_value(loss, w, x, y), share * average_gradient(loss, w, x, y)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("which", NULL)
def test_sums_over_all_pairs_equal_the_oracle(name: str, which: str) -> None:
    loss, null = LOSSES[name], NULL[which]
    x, y, w = data(loss, null)
    records = Records(x, y, binary=loss.binary, invalid="null")
    assert np.flatnonzero(records.null).tolist() == sorted(null)
    assert not records.x[null].any()
    value, gradient = expected(loss, records, w)
    size = float(np.linalg.norm(gradient)) + 1e-3
    found = risk(loss, records)
    assert found.value(w) == pytest.approx(value, rel=1e-11, abs=1e-14)
    np.testing.assert_allclose(found.gradient(w), gradient, rtol=0, atol=1e-11 * size)
    both = found.value_and_gradient(w)
    assert both[0] == pytest.approx(value, rel=1e-11, abs=1e-14)
    np.testing.assert_allclose(both[1], gradient, rtol=0, atol=1e-11 * size)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("which", ["one", "some", "all"])
def test_pairs_of_a_design_that_have_a_null_record_are_zero(name: str, which: str) -> None:
    loss, null = LOSSES[name], NULL[which]
    x, y, w = data(loss, null)
    records = Records(x, y, binary=loss.binary, invalid="null")
    design = PairDesign.draw(N, 5, np.random.default_rng(0))
    value, gradient = 0.0, np.zeros_like(w)
    for left, right in design.blocks(1):
        if records.null[left[0]] or records.null[right[0]]:
            continue
        for i, j in ((left, right), (right, left)):
            sides = records.x[i], records.y[i], records.x[j], records.y[j]
            value += float(loss.value(w, *sides)[0]) / (2 * design.pairs)
            gradient += loss.gradient(w, *sides)[0] / (2 * design.pairs)
    found = risk(loss, records, design)
    assert found.value(w) == pytest.approx(value, rel=1e-11, abs=1e-14)
    np.testing.assert_allclose(found.gradient(w), gradient, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if hasattr(loss, "orders")])
@pytest.mark.parametrize("which", ["one", "some", "all but two", "all"])
def test_moments_of_parts_add_up_with_null_records(name: str, which: str) -> None:
    loss, null = LOSSES[name], NULL[which]
    x, y, w = data(loss, null)
    records = Records(x, y, invalid="null")
    sums = RankingSums(loss, w, N, 1.0)
    parts = [records.part(slice(0, 11)), records.part(slice(11, N))]
    moments = sums.moments(parts[0]) + sums.moments(parts[1])
    whole = risk(loss, records)
    np.testing.assert_allclose(
        sum(sums.gradient(part, moments) for part in parts), whole.gradient(w), atol=1e-12
    )
    assert sums.value(moments) == pytest.approx(whole.value(w), rel=1e-11, abs=1e-14)
    with pytest.raises(ValueError, match="not those of all n"):
        sums.value(sums.moments(parts[0]))


@pytest.mark.parametrize(
    "loss", [LogisticPointwise(), HingePointwise(), LeastSquaresPointwise(0.5)], ids=str
)
@pytest.mark.parametrize("which", NULL)
def test_sums_over_records_have_zeros_for_null_ones(loss, which: str) -> None:
    null = NULL[which]
    x, y, w = data(LogisticRanking(), null)
    problem = PointwiseProblem(loss, L2Ball(1.0))
    records = problem.records(x, y, invalid="null")
    there = ~records.null
    rows = records.x[there], records.y[there]
    found = problem.risk(records)
    assert found.value(w) == pytest.approx(float(np.sum(loss.value(w, *rows))) / N, abs=1e-14)
    np.testing.assert_allclose(
        found.gradient(w), loss.gradient(w, *rows).sum(axis=0) / N, atol=1e-14
    )
    for i in (0, 3):
        alone = problem.risk(records.part(slice(i, i + 1))).gradient(w)
        assert there[i] or not alone.any()


def test_other_pairs_keep_their_slopes_at_the_corner_of_a_hinge() -> None:
    # Scores that differ by the margin to a rounding: were null records left out before scores are
    # computed, the others' would be rounded anew, and some would cross the corner.
    rng = np.random.default_rng(0)
    for n in (9, 33, 70):
        x = rng.normal(size=(n, 7))
        x /= 2 * np.linalg.norm(x, axis=1)[:, None]
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        w = rng.normal(size=7)
        for loss in (HingeRanking("one-sided"), HingeMetric()):
            point = np.outer(w, w) if loss.matrix else w
            full = Records(x, y, binary=loss.binary)
            scores = full.x @ w
            apart = abs(scores[1] - scores[0])
            # Scale so that the pair of the first two is at the corner.
            point = point / apart**2 if loss.matrix else point * (1 / apart)
            before = risk(loss, full).gradient(point)
            bound = loss.record_diameter(Domain(0.5, float(np.linalg.norm(point)))) / n
            for place in range(2, n):
                other = x.copy()
                other[place] = np.nan
                null = Records(other, y, binary=loss.binary, invalid="null")
                moved = np.linalg.norm(risk(loss, null).gradient(point) - before)
                assert moved <= bound * (1 + 1e-9)
