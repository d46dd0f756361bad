"""Comparing algorithms over ε, on synthetic and on public records."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from pairdp import compare
from pairdp.comparison import Comparison, PublicRecords, Score, SyntheticRecords

SMALL: dict[str, Any] = {"n": 200, "n_features": 4, "repeats": 3}


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(["auto", "moments"], [10.0, 0.5], **SMALL)


def public(n: int = 120, classes: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    return (rng.normal(size=(n, 3)) + y[:, None]) / 4, np.array(["a", "b", "c"])[y]


def test_every_algorithm_has_a_score_at_every_epsilon(found: Comparison) -> None:
    assert found.algorithms == ("auto", "moments")
    assert found.epsilons == (0.5, 10.0)
    names = [each.algorithm for each in found.baselines]
    assert names == ["logistic regression", "auto without noise"]
    assert all(len(score.values) == 3 for score in found.scores)
    assert found.score("moments", 10.0).mean > found.score("moments", 0.5).mean
    assert found.baselines[0].mean > 0.8
    with pytest.raises(KeyError, match="no score of 'DPGDSC'"):
        found.score("DPGDSC", 0.5)


def test_the_same_call_gives_the_same_numbers(found: Comparison) -> None:
    assert compare(["auto", "moments"], (0.5, 10.0), **SMALL) == found
    other = compare(["moments"], [0.5], **SMALL, seed=1)
    assert other.score("moments", 0.5).values != found.score("moments", 0.5).values
    # An algorithm has the same scores in whatever company.
    alone = compare(["moments"], [0.5], **SMALL)
    assert alone.score("moments", 0.5) == found.score("moments", 0.5)


def test_means_and_standard_errors() -> None:
    score = Score("x", 1.0, (0.5, 0.7, 0.9))
    assert score.mean == pytest.approx(0.7)
    assert score.standard_error == pytest.approx(0.2 / math.sqrt(3))
    assert str(score) == "0.700 ± 0.115"
    assert math.isnan(Score("x", 1.0, (), "why").mean)
    assert str(Score("x", 1.0, (), "why")) == "refused"


def test_synthetic_records_are_those_that_are_documented() -> None:
    records = SyntheticRecords(1000, 6, test=40_000)
    split = records.split(0)
    assert np.linalg.norm(split.x, axis=1).max() <= 1 + 1e-12
    assert (split.y > 0).sum() == 500
    best = norm.cdf(2 * 0.5 * math.sqrt(3) / math.sqrt(2))
    auc = roc_auc_score(split.y_test, split.x_test[:, :3].sum(axis=1))
    assert auc == pytest.approx(best, abs=0.01)
    assert abs(np.corrcoef(split.x_test[:, 5], split.y_test)[0, 1]) < 0.02
    assert not np.array_equal(records.split(1).x, split.x)


def test_refused_algorithms_are_named_with_the_reason(tmp_path: Path) -> None:
    found = compare(["DPGDC2", "moments"], [1.0], delta=0.0, **SMALL)
    assert found.score("DPGDC2", 1.0).values == ()
    assert len(found.refusals) == 1
    assert "pure ε-DP" in found.refusals[0]
    assert "refused" in str(found)
    assert found.to_dict()["scores"][0]["mean"] is None
    assert next(series.name for series in found.figure().series) == "moments"
    nothing = compare(["DPGDC2"], [1.0], delta=0.0, **SMALL)
    with pytest.raises(ValueError, match="every algorithm was refused"):
        nothing.save(tmp_path / "x.html")
    assert list(tmp_path.iterdir()) == []


def test_metrics_are_compared_by_nearest_neighbours() -> None:
    found = compare(["scatter"], [5.0], task="metric", **SMALL)
    assert found.measure == "accuracy of 3 nearest neighbours"
    assert next(each.algorithm for each in found.baselines) == "Euclidean 3-NN"
    assert found.baselines[1].mean > 0.6


def test_public_records_are_permuted_and_not_changed() -> None:
    X, y = public()
    before = X.copy()
    found = compare(["moments"], [5.0], public_data=(X, y), repeats=2)
    assert found.records == "public records: n = 80 of 120, 3 features, 2 classes"
    np.testing.assert_array_equal(X, before)
    split = PublicRecords(X, y).split(0)
    together = np.vstack([split.x, split.x_test])
    np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(X, axis=0))
    assert repr(PublicRecords(X, y)) != repr(PublicRecords(X + 1, y))


def test_tables_and_files(found: Comparison, tmp_path: Path) -> None:
    frame = found.to_frame()
    assert len(frame) == 6
    assert frame.columns.tolist() == ["algorithm", "epsilon", "mean", "standard_error", "refused"]
    assert json.loads(json.dumps(found.to_dict()))["delta"] == 1e-6
    lines = str(found).splitlines()
    assert "3 repeats; synthetic records: n = 200, 4 features" in lines[0]
    assert lines[1].split() == ["ε", "=", "0.5", "ε", "=", "10"]
    found.save(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "logistic regression (not private)" in page
    assert "http-equiv" in page
    found.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    with pytest.raises(ValueError, match=r"\.html or \.svg"):
        found.save(tmp_path / "a.png")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        ({"algorithms": "auto"}, TypeError, "several names"),
        ({"algorithms": []}, ValueError, "at least one algorithm"),
        ({"algorithms": ["momants"]}, ValueError, "did you mean 'moments'"),
        ({"epsilons": []}, ValueError, "one ε"),
        ({"epsilons": [0.0]}, ValueError, "epsilon must be positive"),
        ({"task": "clustering"}, ValueError, "task must be"),
        ({"repeats": 1}, ValueError, "repeats must be at least 2"),
        ({"n": 5}, ValueError, "n must be at least 10"),
        ({"delta": 1.0}, ValueError, "delta must be"),
        ({"public_data": public()[0]}, TypeError, "a pair"),
        ({"public_data": public(), "n_features": 3}, ValueError, "leave out n_features"),
        ({"public_data": public(), "n": 115}, ValueError, "are left to score on"),
        ({"public_data": public(classes=3)}, ValueError, "ranking needs two labels"),
        ({"public_data": (public()[0], [1, 2])}, ValueError, "one label for each"),
        ({"public_data": (public()[0] * np.nan, public()[1])}, ValueError, "finite"),
    ],
)
def test_wrong_calls_are_refused(call: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        compare(**call)
