"""PrivateRanker with a graded response: coding, scores, certificates, files and refusals."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from pairdp import BoundsScaler, Budget, PrivateRanker, load, verify
from pairdp.algorithms import MomentRelease, NoisyGradientDescent, WithThreshold
from pairdp.algorithms.facts import ResponseBounds
from pairdp.constraints import L2Ball
from pairdp.estimators.graded import coded_responses, concordance
from pairdp.losses import GradedRanking, LeastSquaresRanking, LogisticRanking
from pairdp.online import OnlineDescent
from pairdp.privacy import CertificateError
from pairdp.problem import Problem
from pairdp.storage import ModelFileError
from pairdp.verification import verify_model
from tests.estimators.data import FEW_RECORDS
from tests.model_file.models import forge, opened

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)


def grades(n: int = 300, seed: int = 0) -> tuple[Any, Any]:
    """Rows in the unit ball, and grades from 0 to 4 that grow along the first feature."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)) / 4
    return x, np.clip(np.round(2 + 5 * x[:, 0] + 0.3 * rng.normal(size=n)), 0, 4)


def ranker(**params: Any) -> PrivateRanker:
    given = {"data_norm": 1.0, "random_state": 0, "response_bounds": (0, 4), **params}
    return PrivateRanker(given.pop("epsilon", 3.0), **given)


def plain_concordance(y: Any, scores: Any) -> float:
    pairs = [(i, j) for i, j in combinations(range(len(y)), 2) if y[i] != y[j]]
    signs = [np.sign((y[i] - y[j]) * (scores[i] - scores[j])) for i, j in pairs]
    return float((1 + np.mean(signs)) / 2)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), min_size=2, max_size=30).filter(
        lambda pairs: len({y for y, _ in pairs}) > 1
    )
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_concordance_is_that_of_all_pairs(pairs: list[tuple[int, int]]) -> None:
    y, scores = np.array(pairs, dtype=float).T
    found = concordance(y, scores)
    assert found == pytest.approx(plain_concordance(y, scores), abs=1e-12)
    if len(set(y)) == 2:
        assert found == pytest.approx(roc_auc_score(y == y.max(), scores), abs=1e-12)


def test_a_graded_response_is_ranked() -> None:
    x, y = grades(1500)
    model = ranker().fit(x, y)
    assert model.score(x, y) > 0.8
    expected = plain_concordance(y[:100], x[:100] @ model.coef_[0])
    assert model.score(x[:100], y[:100]) == pytest.approx(expected)
    np.testing.assert_array_equal(model.predict(x), model.decision_function(x))
    assert model.intercept_ == 0
    assert not hasattr(model, "classes_")
    assert any("O(n²)" in reason for reason in model.plan_.reasons)


@pytest.mark.parametrize("loss", ["hinge", "least_squares", "sigmoid", LogisticRanking()])
def test_every_loss_is_available(loss: Any) -> None:
    x, y = grades()
    found = ranker(loss=loss).fit(x, y).plan_.problem.loss
    assert isinstance(found, GradedRanking)
    assert found.ranking == loss or isinstance(loss, str)


def test_published_algorithms_take_it() -> None:
    x, y = grades(60)
    for algorithm in ("DPGDSC", "DPEGD", "Yang2021"):
        model = ranker(algorithm=algorithm).fit(x, y)
        assert isinstance(model.plan_.problem.loss, GradedRanking)
        assert verify(model.certificate_).planned_again


def test_responses_are_clipped_to_their_bounds() -> None:
    x, y = grades()
    wild = np.where(y == 4, 1e300, np.where(y == 0, -7.0, y))
    same = [ranker(algorithm="DPGDSC").fit(x, of).coef_ for of in (y, wild, y.tolist())]
    np.testing.assert_array_equal(same[0], same[1])
    np.testing.assert_array_equal(same[0], same[2])
    moved = ranker(algorithm="DPGDSC", response_bounds=(10, 14)).fit(x, y + 10).coef_
    np.testing.assert_allclose(same[0], moved, rtol=1e-12)
    coded = coded_responses([-9, 0, 1, 4, 1e308], ResponseBounds(0, 4), "error")
    np.testing.assert_allclose(coded, [-1, -1, -0.5, 1, 1])


def test_null_records() -> None:
    x, y = grades()
    strange: Any = np.array(y, dtype=object)
    strange[[1, 2, 3]] = ["high", None, np.nan]
    found = ranker(algorithm="DPGDSC", invalid="null").fit(x, strange).coef_
    rows = x.copy()
    rows[[1, 2, 3]] = np.nan
    np.testing.assert_array_equal(
        found, ranker(algorithm="DPGDSC", invalid="null").fit(rows, y).coef_
    )
    for bad in (strange, np.where(y == 2, np.nan, y)):
        with pytest.raises(ValueError, match=r"convert|NaN|numbers"):
            ranker().fit(x, bad)


def test_batches_give_the_same_model() -> None:
    x, y = grades()
    whole = ranker(algorithm="DPGDSC").fit(x, y)
    parts = ((x[i : i + 100], y[i : i + 100]) for i in (0, 100, 200))
    batched = ranker(algorithm="DPGDSC").fit_batches(parts, 300, 3)
    np.testing.assert_allclose(whole.coef_, batched.coef_, rtol=1e-10)


def test_statement_and_files(tmp_path: Path) -> None:
    x, y = grades()
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    scaler = BoundsScaler(dict.fromkeys("abc", -2.0), dict.fromkeys("abc", 2.0))
    model = make_pipeline(scaler, ranker()).fit(frame, y)
    model[-1].save(tmp_path / "ranker.pairdp")
    found = load(tmp_path / "ranker.pairdp")
    assert found.response_bounds == (0, 4)
    assert not hasattr(found, "classes_")
    np.testing.assert_array_equal(found.coef_, model[-1].coef_)
    (report,) = verify_model(found)
    assert report.planned_again
    statement = found.privacy_statement()
    assert "Larger responses are ranked above smaller ones." in statement
    assert "clipped to the range from 0 to 4" in " ".join(statement.split())
    assert "two labels" not in statement
    found.response_bounds = (0, 5)
    with pytest.raises(CertificateError, match="does not follow from the model's parameters"):
        verify_model(found)


def test_files_have_classes_or_bounds(tmp_path: Path) -> None:
    path = tmp_path / "ranker.pairdp"
    x, y = grades()
    ranker(algorithm="DPGDSC", response_bounds=None).fit(x, y > 2).save(path)
    header, arrays = opened(path)
    del header["steps"][0]["classes"]
    forge(path, header, arrays)
    with pytest.raises(ModelFileError, match="lacks classes"):
        load(path)


@pytest.mark.filterwarnings("ignore::pairdp.UncoveredSearchWarning")
def test_it_is_no_classifier_for_scikit_learn() -> None:
    x, y = grades()
    assert not is_classifier(ranker())
    assert is_classifier(ranker(response_bounds=None))
    assert clone(ranker()).response_bounds == (0, 4)
    model = ranker(algorithm="DPGDSC", epsilon=1e3)
    assert cross_val_score(model, x, y + 0.01 * x[:, 1], cv=2).min() > 0.7


def test_a_refit_to_grades_forgets_the_classes() -> None:
    x, y = grades()
    model = ranker(algorithm="DPGDSC", response_bounds=None).fit(x, y > 2)
    assert model.classes_.size == 2
    model.set_params(response_bounds=(0, 4)).fit(x, y)
    assert not hasattr(model, "classes_")


def test_levels_are_fast_and_change_nothing_for_grades() -> None:
    x, y = grades()
    steps = NoisyGradientDescent(steps=3, step_size=0.1)
    models = [
        ranker(algorithm=steps, response_levels=levels, epsilon=None).fit(x, y)
        for levels in (None, 5, 2)
    ]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-10)
    assert np.abs(models[0].coef_ - models[2].coef_).max() > 1e-3
    assert any("O(n²)" in reason for reason in models[0].plan_.reasons)
    assert not any("O(n²)" in reason for reason in models[1].plan_.reasons)
    many = ranker(loss="logistic", response_levels=5).plan(100_000, 5)
    assert many.settings.to_dict().get("batch_size", 100_000) >= 10_000


def test_many_records_are_summed_in_batches() -> None:
    slow, fast = ranker(loss="logistic").plan(100_000, 5), ranker(loss="least_squares")
    assert slow.settings.to_dict()["batch_size"] <= 2000
    assert fast.plan(100_000, 5).settings.to_dict()["batch_size"] == 100_000
    pure = ranker(loss="logistic", delta=0.0).plan(100_000, 5)
    assert pure.task.budget == Budget(3.0, 0.0)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"response_bounds": 3}, "must be None or two numbers"),
        ({"response_bounds": (1, 2, 3)}, "must be None or two numbers"),
        ({"response_bounds": (4, 0)}, "low below high"),
        ({"response_bounds": (0, np.inf)}, "at most"),
        ({"response_bounds": (0, np.nan)}, "."),
        ({"response_levels": 1}, "levels must be"),
        ({"response_bounds": None, "response_levels": 5}, "give response_bounds"),
        ({"threshold": 0.5}, "threshold is for two classes"),
        ({"classes": (0, 1)}, "classes are not for a graded response"),
        ({"loss": LogisticRanking("one-sided")}, "two-sided form"),
        ({"algorithm": WithThreshold(NoisyGradientDescent())}, "a threshold separates two classes"),
        ({"algorithm": MomentRelease()}, "moments of two classes.*use .*DPGDC2"),
        ({"algorithm": "moments"}, "moments of two classes.*use .*DPGDC2"),
    ],
)
def test_refusals(params: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        ranker(**params).fit(*grades())


def test_refusals_of_scores() -> None:
    x, y = grades()
    model = ranker(algorithm="DPGDSC").fit(x, y)
    with pytest.raises(ValueError, match="different responses"):
        model.score(x, np.ones(300))
    with pytest.raises(ValueError, match="no sample_weight"):
        model.score(x, y, np.ones(300))
    with pytest.raises(ValueError, match="must be numbers"):
        model.score(x, ["high"] * 300)


def test_streams_refuse_it() -> None:
    for ranking in (LogisticRanking(), LeastSquaresRanking()):
        problem = Problem(GradedRanking(ranking), L2Ball(1.0))
        with pytest.raises(ValueError, match="labels of a stream are classes"):
            OnlineDescent().plan(problem, 100, 3, Budget(1.0, 1e-6))
