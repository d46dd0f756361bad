"""PrivateMetric: the methods of metric-learn's supervised learners."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from pairdp import PrivateMetric
from pairdp.losses import LogisticRanking
from tests.estimators.data import FEW_RECORDS, three_classes

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)


@pytest.fixture(scope="module")
def metric() -> PrivateMetric:
    return PrivateMetric(5.0, random_state=0, data_norm=1.0).fit(*three_classes())


def test_distances_are_those_of_the_matrix(metric: PrivateMetric) -> None:
    x, _ = three_classes()
    matrix = metric.get_mahalanobis_matrix()
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-15)
    assert np.linalg.eigvalsh(matrix).min() >= -1e-12
    assert np.linalg.norm(matrix) <= 1 + 1e-9
    np.testing.assert_allclose(metric.components_.T @ metric.components_, matrix)
    pairs = np.stack([x[:50], x[50:100]], axis=1)
    apart = pairs[:, 0] - pairs[:, 1]
    expected = np.sqrt(np.einsum("ij,jk,ik->i", apart, matrix, apart))
    np.testing.assert_allclose(metric.pair_distance(pairs), expected)
    np.testing.assert_array_equal(metric.pair_score(pairs), -metric.pair_distance(pairs))
    moved = metric.transform(x)
    np.testing.assert_allclose(np.linalg.norm(moved[:50] - moved[50:100], axis=1), expected)


def test_the_metric_function_stands_alone(metric: PrivateMetric) -> None:
    x, y = three_classes()
    function = metric.get_metric()
    expected = metric.pair_distance(x[None, :2])[0]
    assert function(x[0], x[1]) == pytest.approx(expected)
    assert function(x[0], x[1], squared=True) == pytest.approx(expected**2)
    before = function(x[0], x[1])
    other = PrivateMetric(5.0, random_state=1, data_norm=1.0).fit(x, y)
    function = other.get_metric()
    other.fit(x[:, ::-1], y)
    assert function(x[0], x[1]) == pytest.approx(
        PrivateMetric(5.0, random_state=1, data_norm=1.0).fit(x, y).get_metric()(x[0], x[1])
    )
    assert before == metric.get_metric()(x[0], x[1])
    near = KNeighborsClassifier(3, metric=metric.get_metric()).fit(x[:60], y[:60])
    same = make_pipeline(metric, KNeighborsClassifier(3)).fit(x[:60], y[:60])
    assert near.predict(x[:5]).shape == same.predict(x[:5]).shape


def test_it_helps_nearest_neighbours() -> None:
    rng = np.random.default_rng(0)
    x, y = three_classes(2000, 6)
    x[:, 3:] += rng.normal(size=(2000, 3))  # columns of noise
    x /= 3
    train, test = slice(0, 1500), slice(1500, 2000)
    metric = PrivateMetric(4.0, 1e-6, random_state=0, data_norm=1.0)
    private = make_pipeline(metric, KNeighborsClassifier(3)).fit(x[train], y[train])
    plain = KNeighborsClassifier(3).fit(x[train], y[train])
    assert private.score(x[test], y[test]) > plain.score(x[test], y[test]) + 0.02


def test_pairs_of_wrong_shapes_are_refused(metric: PrivateMetric) -> None:
    for wrong in (np.zeros((5, 4)), np.zeros((5, 3, 4)), np.zeros((5, 2, 3))):
        with pytest.raises(ValueError, match=r"shape|dim"):
            metric.pair_distance(wrong)
    with pytest.raises(ValueError, match="NaN"):
        metric.pair_distance(np.full((5, 2, 4), np.nan))


def test_labels_of_any_kind_and_number() -> None:
    x, y = three_classes()
    for labels in (np.array(["a", "b", "c"])[y], np.zeros_like(y), np.arange(len(y)) % 20):
        assert PrivateMetric(random_state=0, data_norm=1.0).fit(x, labels).components_.shape == (
            4,
            4,
        )
    with pytest.raises(TypeError, match="MetricLoss"):
        PrivateMetric(loss=LogisticRanking(), data_norm=1.0).fit(x, y)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["DPGDSC", "DPGDC", "DPGDC2", "DPEGD", "OffPairStrC", "Kang2021"])
def test_published_names(name: str) -> None:
    x, y = three_classes(60)
    metric = PrivateMetric(8.0, algorithm=name, random_state=0, data_norm=1.0).fit(x, y)
    assert metric.certificate_.holds


@pytest.mark.skipif(
    importlib.util.find_spec("metric_learn") is None, reason="metric-learn is not installed"
)
def test_the_same_interface_as_metric_learn() -> None:
    from metric_learn import Covariance

    theirs = {name for name in dir(Covariance) if not name.startswith("_")}
    missing = theirs - set(dir(PrivateMetric)) - {"preprocessor"}
    assert not missing
