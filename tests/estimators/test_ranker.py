"""PrivateRanker: scores, thresholds, labels, batches."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score

from pairdp import PrivateRanker
from pairdp.algorithms import (
    Algorithm,
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    WithThreshold,
    find_algorithm,
)
from pairdp.losses import HingeRanking, LogisticMetric, LogisticRanking
from tests.estimators.data import two_classes


def test_scores_are_linear_and_rank() -> None:
    x, y = two_classes()
    ranker = PrivateRanker(5.0, model="linear", random_state=0, data_norm=1.0).fit(x, y)
    np.testing.assert_allclose(ranker.decision_function(x), x @ ranker.coef_[0] + ranker.intercept_)
    assert ranker.coef_.shape == (1, 4)
    assert ranker.score(x, y) == roc_auc_score(y, ranker.decision_function(x)) > 0.9
    held_out = two_classes(seed=1)
    assert ranker.score(*held_out) > 0.9


@pytest.mark.parametrize(
    "algorithm", ["auto", "DPGDSC", "DPGDC", MomentRelease(), MinimizerRelease()]
)
def test_the_paid_threshold_tells_classes_apart(algorithm: str | Algorithm) -> None:
    x, y = two_classes(2000)
    x = x * 0.7 + 0.2  # away from zero, where a threshold of zero would fail
    ranker = PrivateRanker(4.0, algorithm=algorithm, random_state=0, data_norm=1.0).fit(x, y)
    assert np.mean(ranker.predict(x) == y) > 0.8
    zero = PrivateRanker(
        4.0, algorithm=algorithm, threshold=0.0, random_state=0, data_norm=1.0
    ).fit(x, y)
    assert zero.intercept_ == 0
    assert "threshold" not in {release.name for release in zero.certificate_.releases}


def test_a_public_threshold_is_what_predict_uses() -> None:
    x, y = two_classes()
    ranker = PrivateRanker(2.0, threshold=0.1, model="linear", random_state=0, data_norm=1.0)
    ranker.fit(x, y)
    scores = x @ ranker.coef_[0]
    np.testing.assert_array_equal(ranker.predict(x), (scores > 0.1).astype(int))


@pytest.mark.parametrize(
    ("low", "high"), [("benign", "malignant"), (False, True), (-1.0, 1.0), (3, 7)]
)
@pytest.mark.filterwarnings("ignore::pairdp.UncoveredSearchWarning")
def test_labels_of_any_kind(low: object, high: object) -> None:
    x, y = two_classes()
    labels = np.array([low, high])[y]
    ranker = PrivateRanker(3.0, random_state=0, data_norm=1.0).fit(x, labels)
    assert list(ranker.classes_) == [low, high]
    assert ranker.score(x, labels) > 0.85
    given = PrivateRanker(3.0, classes=[high, low], random_state=0, data_norm=1.0).fit(x, labels)
    assert list(given.classes_) == [low, high]  # sorted, as everywhere in scikit-learn
    assert cross_val_score(given, x, labels, scoring="roc_auc", cv=3).min() > 0.85


@pytest.mark.parametrize("kind", ["?", "u1", "<i2", ">f4", ">f8"])
def test_labels_keep_their_type(kind: str) -> None:
    x, y = two_classes()
    labels = y.astype(kind)
    ranker = PrivateRanker(3.0, random_state=0, data_norm=1.0).fit(x, labels)
    assert ranker.classes_.dtype == ranker.predict(x).dtype == labels.dtype


def test_given_labels_need_not_occur() -> None:
    x, _ = two_classes()
    ranker = PrivateRanker(classes=["no", "yes"], data_norm=1.0).fit(x, np.full(len(x), "no"))
    assert set(ranker.predict(x)) <= {"no", "yes"}
    assert "Which two labels occur is public." not in ranker.certificate_.assumptions
    with pytest.raises(ValueError, match="not in classes"):
        PrivateRanker(classes=["no", "yes"], data_norm=1.0).fit(x, np.full(len(x), "maybe"))
    for wrong in (["a"], ["a", "a"], "ab", [1, 2, 3]):
        with pytest.raises(ValueError, match="two different labels"):
            PrivateRanker(classes=wrong, data_norm=1.0).fit(x, np.full(len(x), "a"))


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        ({"epsilon": 0.0}, ValueError, "epsilon"),
        ({"epsilon": "1"}, TypeError, "epsilon"),
        ({"delta": 1.0}, ValueError, "delta"),
        ({"loss": "cubic"}, ValueError, "least_squares, logistic"),
        ({"loss": LogisticMetric()}, TypeError, "RankingLoss"),
        ({"algorithm": "SGD"}, ValueError, "known: .*DPGDSC"),
        ({"algorithm": 3}, TypeError, "Algorithm"),
        ({"radius": -1.0}, ValueError, "radius"),
        ({"data_norm": 0.0}, ValueError, "data_norm"),
        ({"regularization": -1.0, "algorithm": "DPGDSC"}, ValueError, "regularization"),
        ({"threshold": "best"}, ValueError, "midpoint"),
        ({"threshold": float("nan")}, ValueError, "threshold"),
        ({"threshold": float("inf")}, ValueError, "threshold must be finite"),
        ({"algorithm": "DPGDC2", "delta": 0.0}, ValueError, "delta > 0"),
        ({"calibration": "guessed", "algorithm": "DPGDSC"}, ValueError, "printed"),
        ({"ledger": 3.0}, TypeError, "BudgetLedger"),
        ({"random_state": "a"}, TypeError, "random_state"),
        ({"loss": "hinge", "algorithm": "DPGDSC"}, ValueError, "not smooth"),
    ],
)
def test_wrong_parameters_are_refused_at_fit(
    params: dict[str, object], error: type[Exception], match: str
) -> None:
    x, y = two_classes()
    with pytest.raises(error, match=match):
        PrivateRanker(**{"data_norm": 1.0, **params}).fit(x, y)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["DPGDSC", "DPGDC", "DPGDC2", "DPEGD", "OffPairStrC", "Kang2021"])
def test_published_names(name: str) -> None:
    x, y = two_classes(100)
    ranker = PrivateRanker(8.0, algorithm=name, random_state=0, data_norm=1.0).fit(x, y)
    assert ranker.certificate_.algorithm == find_algorithm(name).name


@pytest.mark.parametrize("loss", ["logistic", "least_squares", "squared_hinge"])
def test_auto_keeps_a_given_loss(loss: str) -> None:
    x, y = two_classes()
    ranker = PrivateRanker(5.0, loss=loss, random_state=0, data_norm=1.0).fit(x, y)
    assert type(ranker.plan_.problem.loss).__name__.lower().startswith(loss.replace("_", "")[:6])
    assert ranker.plan_.reasons[0].startswith("auto: ")


def test_losses_as_objects() -> None:
    x, y = two_classes()
    for loss in (LogisticRanking(temperature=0.5), HingeRanking(width=0.5)):
        ranker = PrivateRanker(5.0, loss=loss, random_state=0, data_norm=1.0).fit(x, y)
        assert ranker.plan_.problem.loss == loss


@pytest.mark.parametrize("algorithm", [MomentRelease(), "DPGDSC"])
@pytest.mark.parametrize("size", [33, 400])
def test_batches_give_the_same_model(algorithm: str | Algorithm, size: int) -> None:
    x, y = two_classes()
    whole = PrivateRanker(algorithm=algorithm, random_state=0, data_norm=1.0).fit(x, y)
    batches = ((x[i : i + size], y[i : i + size]) for i in range(0, len(x), size))
    parts = PrivateRanker(algorithm=algorithm, random_state=0, data_norm=1.0)
    parts.fit_batches(batches, 400, 4, labels=[0, 1])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-6)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-6)
    np.testing.assert_array_equal(parts.predict(x), whole.predict(x))
    with pytest.raises(ValueError, match="labels must be given"):
        PrivateRanker(algorithm=algorithm, data_norm=1.0).fit_batches([(x, y)], 400, 4)
    with pytest.raises(ValueError, match="records"):
        PrivateRanker(algorithm=algorithm, data_norm=1.0).fit_batches(
            [(x, y)], 401, 4, labels=[0, 1]
        )


def test_rows_beyond_the_bound_are_clipped_in_silence() -> None:
    x, y = two_classes()
    x[0] = 1e6
    PrivateRanker(random_state=0, data_norm=1.0).fit(x, y)


@pytest.mark.parametrize("inner", [MomentRelease(), GradientDescent("last")])
def test_an_algorithm_may_bring_its_threshold(inner: Algorithm) -> None:
    x, y = two_classes()
    ranker = PrivateRanker(5.0, algorithm=WithThreshold(inner, 0.3), data_norm=1.0).fit(x, y)
    assert ranker.certificate_.holds
    public = PrivateRanker(5.0, algorithm=WithThreshold(inner), threshold=0.0, data_norm=1.0).fit(
        x, y
    )
    assert public.intercept_ == 0
