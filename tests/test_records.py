"""Rows are clipped whatever they hold, and nothing tells whether they were."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.clipping import clip_rows
from pairdp.records import Records


@given(
    n=st.integers(1, 30),
    d=st.integers(1, 5),
    log_size=st.floats(-300, 300),
    data_norm=st.floats(1e-3, 1e3),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_no_row_exceeds_the_bound(
    n: int, d: int, log_size: float, data_norm: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * 10.0**log_size
    clipped = Records(x, rng.choice([-1, 1], n), data_norm=data_norm).x
    norms = np.linalg.norm(clipped, axis=1)
    assert np.all(norms <= data_norm * (1 + 1e-12))
    inside = np.abs(x).max(axis=1) * np.sqrt(d) <= data_norm
    np.testing.assert_array_equal(clipped[inside], x[inside])


def test_clipping_keeps_directions_and_the_callers_array() -> None:
    x = np.array([[3.0, 4.0], [0.3, 0.4], [1e308, 1e308], [0.0, 0.0]])
    kept = x.copy()
    clipped = Records(x, [1, -1, 1, -1]).x
    np.testing.assert_array_equal(x, kept)
    half = np.sqrt(0.5)
    np.testing.assert_allclose(clipped, [[0.6, 0.8], [0.3, 0.4], [half, half], [0, 0]], rtol=1e-14)


def test_nothing_tells_whether_rows_were_clipped() -> None:
    inside, outside = np.full((3, 2), 0.1), np.full((3, 2), 100.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        records = [Records(x, [1, -1, 1]) for x in (inside, outside)]
    assert repr(records[0]) == repr(records[1]) == "Records(n=3, features=2, data_norm=1)"
    assert vars(records[0]).keys() == vars(records[1]).keys()


def test_labels_of_metric_problems_only_name_classes() -> None:
    x = np.zeros((4, 1))
    for labels in (["b", "a", "c", "a"], [7, -2, 9, -2], np.array([2.5, 1.0, 3.5, 1.0])):
        np.testing.assert_array_equal(Records(x, labels, binary=False).y, [1, 0, 2, 0])


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([[np.nan]], [1], "NaN or infinity"),
        ([[1.0], [np.inf]], [1, -1], "NaN or infinity"),
        ([["secret"]], [1], "table of numbers"),
        ([1.0, 2.0], [1, -1], r"got shape \(2,\)"),
        (np.zeros((0, 2)), [], "non-empty"),
        ([[1.0], [2.0]], [1], "2 rows"),
        ([[1.0]], [0], r"-1 and \+1"),
        ([[1.0]], ["secret"], r"-1 and \+1"),
        ([[1.0]], [[1]], "label for each"),
    ],
)
def test_bad_data_is_refused_without_quoting_it(x: object, y: object, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        Records(x, y)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_bad_bounds_and_mixed_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="data_norm must be positive"):
        Records([[1.0]], [1], data_norm=0)
    with pytest.raises(ValueError, match="NaN"):
        Records([[1.0]], [np.nan], binary=False)
    with pytest.raises(ValueError, match="one label per record"):
        Records([[1.0]], [["a"]], binary=False)
    with pytest.raises(ValueError, match="one type"):
        Records([[1.0], [2.0]], np.array(["a", 1], dtype=object), binary=False)


def test_records_are_not_pickled() -> None:
    with pytest.raises(TypeError, match="raw data"):
        pickle.dumps(Records([[1.0]], [1]))


def test_nobody_can_change_what_was_clipped() -> None:
    x = np.full((3, 2), 0.5)
    records = Records(x, [1, -1, 1])
    x *= 1000
    assert records.x.max() == 0.5
    with pytest.raises(ValueError, match="read-only"):
        records.x[0, 0] = 7.0
    with pytest.raises(ValueError, match="read-only"):
        records.part(slice(0, 2)).x[0, 0] = 7.0


def test_bounds_that_squares_cannot_hold_are_refused() -> None:
    for data_norm in (1e-200, 1e200):
        with pytest.raises(ValueError, match="between 1e-30 and 1e30"):
            Records([[1.0]], [1], data_norm=data_norm)
    np.testing.assert_allclose(Records([[1e-170]], [1], data_norm=1e-30).x, [[1e-170]])


def test_tables_have_real_numbers_and_the_stated_features() -> None:
    with pytest.raises(ValueError, match="complex"):
        clip_rows([[1j, 0.0]], 1.0)
    with pytest.raises(ValueError, match="2 features, not 3"):
        clip_rows([[1.0, 0.0]], 1.0, features=3)
