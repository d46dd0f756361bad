"""The axes of a metric: how many are kept, their order and their signs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import pairdp
from pairdp import ModelFileError, OnlinePrivateMetric, PrivateMetric
from pairdp.estimators.axes import axes_of, directions_of
from tests.estimators.data import FEW_RECORDS, three_classes

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)


def rotated(values: list[float], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    return turn @ np.diag(values) @ turn.T


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 0.2, 1.0, 1.0, 3.0]), min_size=1, max_size=7),
    st.integers(0, 10**6),
)
def test_axes_are_ordered_signed_and_stable(values: list[float], seed: int) -> None:
    matrix = rotated(values, seed)
    matrix = (matrix + matrix.T) / 2
    found, axes = axes_of(matrix)
    np.testing.assert_allclose(found, sorted(values, reverse=True), atol=1e-12)
    assert np.all(np.diff(found) <= 0)
    np.testing.assert_allclose(axes.T @ axes, matrix, atol=1e-8)
    for axis in axes:
        sizes = np.abs(axis)
        assert sizes.max() == 0 or axis[np.argmax(sizes >= 0.999999 * sizes.max())] >= 0
    # Another machine rounds differently: equal eigenvalues must not turn the axes then.
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=matrix.shape) * 1e-14
    again = axes_of(matrix + noise + noise.T)
    np.testing.assert_allclose(again.components, axes, atol=2e-7)


def test_the_axes_of_the_euclidean_metric_are_the_coordinates() -> None:
    values, axes = axes_of(4 * np.eye(3))
    np.testing.assert_array_equal(values, [4, 4, 4])
    np.testing.assert_array_equal(axes, 2 * np.eye(3))
    assert directions_of(values) == 0
    assert directions_of(np.array([5.0, 4.0, 4.0, 1.0])) == 2


@pytest.fixture(scope="module")
def full() -> PrivateMetric:
    return PrivateMetric(5.0, algorithm="scatter", random_state=0, data_norm=1.0).fit(
        *three_classes()
    )


@pytest.mark.parametrize("kept", [1, 2, 4])
def test_components_are_the_largest_axes_of_the_same_release(
    full: PrivateMetric, kept: int, tmp_path: Path
) -> None:
    x, y = three_classes()
    few = clone(full).set_params(n_components=kept).fit(x, y)
    assert few.components_.shape == (kept, 4)
    np.testing.assert_array_equal(few.components_, full.components_[:kept])
    np.testing.assert_array_equal(few.eigenvalues_, full.eigenvalues_)
    np.testing.assert_allclose(
        np.linalg.norm(few.components_, axis=1) ** 2, full.eigenvalues_[:kept], rtol=1e-9
    )
    assert few.n_directions_ == full.n_directions_
    assert few.certificate_ == full.certificate_  # it costs nothing
    assert few.transform(x).shape == (len(x), kept)
    assert list(few.get_feature_names_out()) == [f"privatemetric{i}" for i in range(kept)]
    np.testing.assert_allclose(
        few.pair_distance(x[:20].reshape(10, 2, 4)),
        np.linalg.norm(few.transform(x[:20:2]) - few.transform(x[1:20:2]), axis=1),
    )
    assert np.linalg.matrix_rank(few.get_mahalanobis_matrix()) <= kept
    few.save(tmp_path / "model.pairdp")
    copy = pairdp.load(tmp_path / "model.pairdp")
    np.testing.assert_array_equal(copy.transform(x), few.transform(x))
    assert copy.n_components == kept
    assert copy.n_directions_ == few.n_directions_


def test_numbers_of_components_that_make_no_sense(full: PrivateMetric) -> None:
    x, y = three_classes(60)
    for wrong, error in ((5, ValueError), (0, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match="n_components"):
            clone(full).set_params(n_components=wrong).fit(x, y)
        with pytest.raises(error, match="n_components"):
            clone(full).set_params(n_components=wrong).plan(60, 4)


def test_files_with_other_axes_are_refused(full: PrivateMetric, tmp_path: Path) -> None:
    x, y = three_classes()
    for name, change in (
        ("components_", lambda a: a[::-1]),
        ("components_", lambda a: 2 * a),
        ("components_", lambda a: a[:2]),
        ("eigenvalues_", lambda a: a[::-1]),
        ("eigenvalues_", lambda a: -a),
    ):
        edited = clone(full).fit(x, y)
        setattr(edited, name, change(getattr(edited, name)))
        edited.save(tmp_path / "edited.pairdp")
        with pytest.raises(ModelFileError, match=name):
            pairdp.load(tmp_path / "edited.pairdp")


def test_score_pairs_is_the_distance_as_in_metric_learn(full: PrivateMetric) -> None:
    x, _ = three_classes()
    pairs = x[:20].reshape(10, 2, 4)
    np.testing.assert_array_equal(full.score_pairs(pairs), full.pair_distance(pairs))
    np.testing.assert_array_equal(full.pair_score(pairs), -full.pair_distance(pairs))


def test_axes_of_streams_follow_the_same_rule() -> None:
    x, y = three_classes(60)
    metric = OnlinePrivateMetric(5.0, horizon=60, data_norm=1.0, random_state=0).partial_fit(x, y)
    values, axes = axes_of(metric.get_mahalanobis_matrix())
    np.testing.assert_allclose(metric.components_, axes, atol=1e-7)
    np.testing.assert_allclose(metric.eigenvalues_, values, atol=1e-9)
