"""BoundsScaler: into the unit ball, by public bounds alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pairdp import BoundsScaler

NAMES = ["age", "weight"]
LOWER, UPPER = {"age": 0.0, "weight": 40.0}, {"age": 120.0, "weight": 140.0}
FRAME = pd.DataFrame({"age": [0, 60, 120, 300], "weight": [40.0, 90.0, 115.0, -1e9]})
HALF = np.sqrt(0.5)
SCALED = [[-HALF, -HALF], [0, 0], [HALF, HALF / 2], [HALF, -HALF]]
ANY = st.floats(allow_nan=False, allow_infinity=False)


# Values


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (LOWER, UPPER),
        ({"weight": 40, "age": 0}, {"weight": 140, "age": 120}),
        ({**LOWER, "age": np.float32(0)}, UPPER),
        (pd.Series(LOWER), pd.Series(UPPER)[["weight", "age"]]),
        ([0, 40], (120, 140)),
        (np.array([0, 40]), np.array([120.0, 140.0])),
        ([0, 40], UPPER),
    ],
    ids=["dict", "other order", "numpy number", "series", "sequences", "arrays", "mixed"],
)
def test_all_forms_of_bounds_are_the_same(lower: Any, upper: Any) -> None:
    scaler = BoundsScaler(lower, upper).fit(FRAME)
    np.testing.assert_allclose(scaler.transform(FRAME), SCALED, rtol=1e-15)
    np.testing.assert_array_equal(scaler.center_, [60, 90])
    np.testing.assert_array_equal(scaler.half_width_, [60, 50])


@given(
    st.integers(1, 6).flatmap(
        lambda d: st.tuples(
            arrays(np.float64, (3, d), elements=ANY),
            arrays(np.float64, (2, d), elements=ANY),
        )
    )
)
def test_rows_have_norm_at_most_one_whatever_the_data(
    drawn: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    rows, (lower, upper) = drawn[0], np.sort(drawn[1], axis=0)
    scaler = BoundsScaler(lower, upper)
    if not np.all(lower / 2 < upper / 2):
        with pytest.raises(ValueError, match="lower bound must be below"):
            scaler.fit(rows)
        return
    scaled = scaler.fit_transform(rows)
    assert np.all(np.linalg.norm(scaled, axis=1) <= 1 + 1e-12)
    # Order is kept, and what is out of bounds is at the rim.
    d = rows.shape[1]
    np.testing.assert_allclose(scaled[rows >= upper], 1 / np.sqrt(d))
    np.testing.assert_allclose(scaled[rows <= lower], -1 / np.sqrt(d))
    order = np.argsort(rows, axis=0)
    assert np.all(np.diff(np.take_along_axis(scaled, order, axis=0), axis=0) >= 0)


@given(arrays(np.float64, (4, 3), elements=st.floats(-1e6, 1e6)))
def test_the_inverse_brings_rows_back_that_are_within_bounds(rows: NDArray[np.float64]) -> None:
    scaler = BoundsScaler([-1e6, -1e6, 0], [1e6, 2e6, 1]).fit(rows)
    back = scaler.inverse_transform(scaler.transform(rows))
    within = np.clip(rows, [-1e6, -1e6, 0], [1e6, 2e6, 1])
    np.testing.assert_allclose(back, within, rtol=1e-12, atol=1e-8)


def test_the_fit_does_not_look_at_values() -> None:
    fits = [BoundsScaler(LOWER, UPPER).fit(frame) for frame in (FRAME, -17 * FRAME - 4)]
    assert vars(fits[0]).keys() == vars(fits[1]).keys()
    np.testing.assert_array_equal(fits[0].center_, fits[1].center_)
    np.testing.assert_array_equal(fits[0].transform(FRAME), fits[1].transform(FRAME))


def test_values_far_out_of_bounds_give_no_warning() -> None:
    scaler = BoundsScaler(-1e308, [1e308, -0.99e308]).fit([[0.0, 0.0]])
    np.testing.assert_allclose(scaler.transform([[1.7e308, 1.7e308]]), [[HALF, HALF]])
    narrow = BoundsScaler(0, 1e-300).fit([[0.0]])
    assert narrow.transform([[1e10], [-1e10]]).tolist() == [[1.0], [-1.0]]


def test_the_data_is_not_changed_and_bounds_are_copied() -> None:
    rows, lower = np.array([[5.0, 5.0]]), np.array([0.0, 0.0])
    scaler = BoundsScaler(lower, 10).fit(rows)
    scaler.transform(rows)
    lower[:] = 9
    assert rows.tolist() == [[5.0, 5.0]]
    assert scaler.transform(rows).tolist() == [[0.0, 0.0]]


# Names


def test_names_are_kept_and_come_out() -> None:
    scaler = BoundsScaler(LOWER, UPPER).fit(FRAME)
    assert scaler.feature_names_in_.tolist() == NAMES
    assert scaler.get_feature_names_out().tolist() == NAMES
    out = scaler.set_output(transform="pandas").transform(FRAME)
    assert isinstance(out, pd.DataFrame)
    assert out.columns.tolist() == NAMES
    np.testing.assert_allclose(out.to_numpy(), SCALED, rtol=1e-15)
    assert out.index.equals(FRAME.index)


def test_columns_by_name_are_the_same_fit_as_a_frame() -> None:
    by_name = BoundsScaler(LOWER, UPPER).fit_columns(NAMES)
    by_frame = BoundsScaler(LOWER, UPPER).fit(FRAME)
    assert vars(by_name).keys() == vars(by_frame).keys()
    np.testing.assert_array_equal(by_name.transform(FRAME), by_frame.transform(FRAME))
    np.testing.assert_array_equal(by_name.scale(FRAME.to_numpy()), by_frame.transform(FRAME))
    assert by_name.get_feature_names_out().tolist() == NAMES


def test_columns_in_another_order_are_refused_and_not_mixed_up() -> None:
    scaler = BoundsScaler(LOWER, UPPER).fit(FRAME)
    with pytest.raises(ValueError, match="same order"):
        scaler.transform(FRAME[NAMES[::-1]])
    # Fitted in that order, the mapping goes by name.
    turned = BoundsScaler(LOWER, UPPER).fit_transform(FRAME[NAMES[::-1]])
    np.testing.assert_array_equal(turned[:, ::-1], scaler.transform(FRAME))


@pytest.mark.parametrize(
    ("lower", "reason"),
    [
        ({"age": 0}, "lower lacks 'weight'"),
        ({}, "lower lacks 'age', 'weight'"),
        ({**LOWER, "size": 1}, "lower has 'size', but X does not"),
        ({"Age": 0, "weight": 1}, "lower lacks 'age'"),
        (pd.Series([0.0, 40.0]), "lower lacks 'age'"),
        ({**LOWER, "age": "young"}, "lower must be a number"),
        ({**LOWER, "age": None}, "lower must be finite"),
        ({**LOWER, "age": float("nan")}, "lower must be finite"),
        ({**LOWER, "age": 120.0}, "lower bound must be below"),
        ({**LOWER, "age": 130.0}, "lower bound must be below"),
        (-np.inf, "lower must be finite"),
        ([0], None),
        ([0, 1, 2], "lower must be a number, 2 numbers, or a mapping"),
        ([[0, 1]], "lower must be a number"),
        ("low", "lower must be a number"),
        (1j, "lower must be a number"),
    ],
    ids=str,
)
def test_bounds_that_do_not_fit_are_refused(lower: Any, reason: str | None) -> None:
    scaler = BoundsScaler(lower, UPPER)
    if reason is None:
        scaler.fit(FRAME)
        return
    for attempt in (lambda: scaler.fit(FRAME), lambda: scaler.fit_columns(NAMES)):
        with pytest.raises(ValueError, match=reason):
            attempt()
    with pytest.raises(NotFittedError):
        scaler.inverse_transform(FRAME)


def test_the_upper_bound_is_checked_as_well() -> None:
    with pytest.raises(ValueError, match="upper lacks 'weight'"):
        BoundsScaler(LOWER, {"age": 120}).fit(FRAME)
    with pytest.raises(ValueError, match="upper must be finite"):
        BoundsScaler(LOWER, np.inf).fit(FRAME)


@pytest.mark.parametrize("rows", [FRAME.to_numpy(), FRAME.set_axis([0, 1], axis=1)], ids=type)
def test_names_need_a_frame_with_names(rows: Any) -> None:
    with pytest.raises(ValueError, match="lower is a mapping of names, but X has no names"):
        BoundsScaler(LOWER, UPPER).fit(rows)


def test_bounds_so_close_that_they_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(ValueError, match="lower bound must be below"):
        BoundsScaler(0, 5e-324).fit([[0.0]])


# As an estimator


def test_it_says_when_it_is_not_fitted_and_when_features_are_missing() -> None:
    with pytest.raises(NotFittedError):
        BoundsScaler().transform([[0.0]])
    scaler = BoundsScaler().fit([[0.0, 0.0]])
    for method in (scaler.transform, scaler.inverse_transform):
        with pytest.raises(ValueError, match="2 features"):
            method([[0.0]])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_values_are_refused(bad: float) -> None:
    scaler = BoundsScaler().fit([[0.0]])
    for attempt in (scaler.fit, scaler.transform, scaler.inverse_transform):
        with pytest.raises(ValueError, match="contains"):
            attempt([[bad]])


def test_clones_have_the_bounds_and_no_fit() -> None:
    copy = clone(BoundsScaler(LOWER, UPPER).fit(FRAME))
    assert isinstance(copy.lower, Mapping)
    assert copy.lower == LOWER
    with pytest.raises(NotFittedError):
        copy.transform(FRAME)


def test_a_new_fit_forgets_the_names_of_the_old_one() -> None:
    scaler = BoundsScaler(-1, 1).fit_columns(NAMES)
    scaler.fit(np.zeros((2, 3)))
    assert scaler.n_features_in_ == 3
    assert not hasattr(scaler, "feature_names_in_")
