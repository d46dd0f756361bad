"""Counts of scores by class: their sensitivity, figures at a threshold, ROC and calibration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from pairdp import Budget, evaluate, verify
from pairdp.drawing import write_svg
from pairdp.evaluation.calibration import fit_calibration
from pairdp.evaluation.planning import ScoreEvaluation
from pairdp.evaluation.ratios import CountNoise, NoisyCount, share_of
from pairdp.evaluation.score_bins import count_bins, half_range, spread_edges
from pairdp.evaluation.threshold import NoisyBins
from tests.evaluation.test_evaluate import TABLE, X, Y, model, of_arrays

Array = NDArray[np.float64]
EDGES = (-1.0, 0.0, 0.5)


def test_no_replacement_moves_the_counts_by_more_than_stated() -> None:
    """All pairs of records, null ones and scores on edges among them; the bound is attained."""
    scores = (-np.inf, -1.0, -0.5, 0.0, -0.0, 0.2, 0.5, np.inf, np.nan)
    kinds = list(itertools.product(scores, (-1.0, 0.0, 1.0)))
    found = np.array(
        [count_bins(np.array([s]), np.array([y]), np.array(EDGES)).ravel() for s, y in kinds]
    )
    assert set(found.sum(axis=1)) == {0.0, 1.0}
    changes = found[:, None] - found[None]
    for noise, order in (("laplace", 1), ("gaussian", 2)):
        plan = ScoreEvaluation(("a", "b"), noise=noise, edges=EDGES).plan(9, Budget(1.0, 1e-3))  # type: ignore[arg-type]
        bound = plan.certificate.releases[1].sensitivity
        assert bound is not None
        worst = float(np.linalg.norm(changes, ord=order, axis=2).max())
        assert 0.999 * bound.value < worst <= bound.value


@pytest.mark.parametrize("budget", [Budget(0.5), Budget(1.0, 1e-6), Budget(0.1, 0.1)])
@pytest.mark.parametrize("noise", ["auto", "laplace", "gaussian"])
def test_certificates_with_counts_hold(budget: Budget, noise: Any) -> None:
    if noise == "gaussian" and budget.is_pure:
        return
    certificate = ScoreEvaluation(("a", "b"), True, noise, EDGES).certify(300, budget)
    report = verify(certificate.to_json())
    assert report.holds
    assert report.planned_again
    pair, counts = certificate.releases
    assert (pair.dimension, counts.dimension) == (3, 8)
    assert type(pair.mechanism) is type(counts.mechanism)


def bins(counts: Any, scale: float = 1e-6, edges: tuple[float, ...] = EDGES) -> NoisyBins:
    rows = tuple(tuple(map(float, row)) for row in counts)
    return NoisyBins(edges, rows, CountNoise(scale, False))  # type: ignore[arg-type]


def test_figures_at_a_threshold_without_noise() -> None:
    found = bins([[400, 300, 200, 100], [10, 20, 30, 40]])
    figures = found.at(0.0)
    assert figures.sensitivity.value == pytest.approx(0.7)
    assert figures.specificity.value == pytest.approx(0.7)
    assert figures.precision.value == pytest.approx(70 / 370)
    for share in figures[1:]:
        assert share.interval.lower < share.value < share.interval.upper
    assert "at threshold 0" in str(figures)
    assert "sensitivity  0.700, 95 % interval" in str(figures)
    with pytest.raises(ValueError, match=r"the nearest is at 0\.5"):
        found.at(0.4)


def test_a_roc_curve_without_noise() -> None:
    roc = bins([[400, 300, 200, 100], [10, 20, 30, 40]]).roc()
    assert roc.false_positive_rate == pytest.approx((0.6, 0.3, 0.1))
    assert roc.true_positive_rate == pytest.approx((0.9, 0.7, 0.4))
    lower, upper = roc.band(0.3)
    assert 0.2 < lower < 0.7 < upper
    assert roc.band(0.0).lower == 0
    assert roc.band(1.0).upper == 1
    svg = write_svg(roc.figure())
    assert "true positive rate" in svg


@pytest.mark.parametrize("gaussian", [False, True])
def test_any_counts_give_figures(gaussian: bool) -> None:
    rng = np.random.default_rng(0)
    for scale in (1e-3, 10.0, 1e6):
        for _ in range(10):
            counts = tuple(tuple(row) for row in (scale * rng.normal(size=(2, 4))).tolist())
            found = NoisyBins(EDGES, counts, CountNoise(scale, gaussian))  # type: ignore[arg-type]
            for share in found.at(0.0)[1:]:
                assert 0 <= share.interval.lower <= share.value <= share.interval.upper <= 1
            roc = found.roc()
            assert all(0 <= rate <= 1 for rate in roc.true_positive_rate)
            assert list(roc.true_positive_rate) == sorted(roc.true_positive_rate, reverse=True)
            assert np.all(np.diff(roc.curve()[0]) >= 0)
            assert 0 <= found.calibration().probability(0.3) <= 1
            roc.figure()


def test_a_share_is_wider_with_more_noise_and_more_bins() -> None:
    widths = [
        share_of(
            NoisyCount(80.0, j), NoisyCount(20.0, j), CountNoise(b, False), 0.96
        ).interval.width
        for b, j in ((0.1, 1), (3.0, 1), (3.0, 4), (30.0, 4))
    ]
    assert widths == sorted(widths)
    assert widths[-1] == 1.0
    empty = share_of(NoisyCount(-5.0, 1), NoisyCount(-5.0, 1), CountNoise(1.0, False), 0.96)
    assert empty.value == 0.5


def test_calibration_recovers_the_odds() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000)
    signs = np.where(rng.random(20_000) < expit(2 * scores - 1), 1.0, -1.0)
    edges = spread_edges(4.0)
    counts = count_bins(scores, signs, np.array(edges)) + rng.laplace(size=(2, 16)) * 2
    found = fit_calibration(edges, counts, CountNoise(2.0, False))
    assert found.slope == pytest.approx(2.0, abs=0.2)
    assert found.intercept == pytest.approx(-1.0, abs=0.1)
    turned = fit_calibration(edges, counts[::-1], CountNoise(2.0, False))
    assert turned.slope < found.slope
    assert fit_calibration(edges, counts[:, ::-1], CountNoise(2.0, False)).slope == 0.0
    assert fit_calibration(edges, -counts, CountNoise(2.0, False)) == (0.0, 0.0)
    assert fit_calibration((0.0,), np.array([[5.0, 1], [1, 5]]), CountNoise(0.1, False)).slope > 0


@pytest.mark.parametrize("kind", ["ranker", "classifier", "scaled", "scorecard"])
def test_the_range_of_scores_is_that_of_the_model(kind: str) -> None:
    found = model(kind)
    largest = np.abs(found.decision_function(TABLE if kind == "scorecard" else X)).max()
    half = half_range(found[-1] if kind == "scaled" else found)
    assert largest / 2 < half < 20 * largest


def test_edges_are_denser_at_zero_and_contain_a_threshold() -> None:
    edges = spread_edges(2.0, 16, 0.123)
    assert 0.123 in edges
    assert 0.0 in edges
    assert len(edges) == 16
    assert max(map(abs, edges)) < 2
    with pytest.raises(ValueError, match="positive range"):
        spread_edges(0.0)
    with pytest.raises(ValueError, match="finite"):
        spread_edges(1.0, 16, float("inf"))


def test_evaluate_with_a_curve_and_with_a_threshold() -> None:
    found = of_arrays(roc=True)
    assert found.at(0.0).sensitivity.value == pytest.approx(0.8, abs=0.15)
    assert found.roc.band(0.5).lower > 0.5
    assert found.calibration.slope > 0
    assert len(found.figures()["thresholds"]) == 15
    scores = model("ranker").decision_function(X)
    threshold = float(np.std(scores)) / 2
    one = of_arrays(threshold=threshold)
    true = float(np.mean(scores[Y == 1] > threshold))
    value, (lower, upper) = one.at(threshold).sensitivity
    assert value == pytest.approx(true, abs=0.05)
    assert lower < true < upper
    assert verify(one.certificate).holds
    with pytest.raises(ValueError, match="were not paid for"):
        _ = of_arrays().roc
    with pytest.raises(TypeError, match="True or False"):
        of_arrays(roc=1)
    assert of_arrays(roc=True, score_range=0.5).released.bins.edges[-1] < 0.5


def test_other_models_need_a_range() -> None:
    class Scores:
        classes_ = np.array([0, 1])
        n_features_in_ = 3

        def decision_function(self, x: Array) -> Array:
            return np.asarray(x).sum(axis=1)

    with pytest.raises(ValueError, match="pass score_range"):
        evaluate(Scores(), X, Y, 2.0, roc=True)
    assert evaluate(Scores(), X, Y, 2.0, roc=True, score_range=1.0, random_state=0).auc > 0.7
