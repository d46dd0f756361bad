"""Sums of right predictions, errors and squares: no replacement moves them by more than stated."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pairdp.privacy.bounds import matched_pairs, record_errors
from pairdp.privacy.bounds.centred_auc import IN_L1
from pairdp.privacy.bounds.sensitivity import find_bound

Array = NDArray[np.float64]
ALL = {
    1: (record_errors.RIGHT_IN_L1, record_errors.ERRORS_IN_L1, matched_pairs.MATCHED_IN_L1),
    2: (record_errors.RIGHT_IN_L2, record_errors.ERRORS_IN_L2, matched_pairs.MATCHED_IN_L2),
}


def error_terms(a: float | None, norm: int, w: float | None = None) -> Array:
    """Return what a record with error a adds; nothing if it is null."""
    if a is None:
        return np.zeros(3)
    weight = record_errors.SQUARE_WEIGHT[norm] if w is None else w
    return np.array([a - 0.5, weight * (a * a - a), record_errors.ERROR_COUNT_WEIGHT[norm]])


def right_terms(a: int | None, norm: int) -> Array:
    if a is None:
        return np.zeros(2)
    return np.array([0.5 - a, record_errors.RIGHT_COUNT_WEIGHT[norm]])


@given(
    one=st.none() | st.floats(0, 1), other=st.none() | st.floats(0, 1), norm=st.sampled_from([1, 2])
)
def test_no_replacement_moves_errors_farther(one: Any, other: Any, norm: int) -> None:
    change = error_terms(one, norm) - error_terms(other, norm)
    assert np.linalg.norm(change, ord=norm) <= find_bound(ALL[norm][1]).formula(n=100)


@pytest.mark.parametrize("norm", [1, 2])
def test_the_bounds_are_attained(norm: int) -> None:
    errors = error_terms(1.0, norm) - error_terms(0.0, norm)
    right = right_terms(1, norm) - right_terms(0, norm)
    assert np.linalg.norm(errors, ord=norm) == 1
    assert np.linalg.norm(right, ord=norm) == 1
    null = max(np.linalg.norm(error_terms(a, norm), ord=norm) for a in (0.0, 0.5, 1.0))
    assert 0.99 < null <= 1
    assert 0.99 < np.linalg.norm(right_terms(1, norm), ord=norm) <= 1


@pytest.mark.parametrize("norm", [1, 2])
def test_a_larger_weight_of_squares_would_be_found(norm: int) -> None:
    w = 1.05 * record_errors.SQUARE_WEIGHT[norm]
    grid = [None, *np.linspace(0, 1, 101)]
    worst = max(
        np.linalg.norm(error_terms(a, norm, w) - error_terms(b, norm, w), ord=norm)
        for a, b in itertools.combinations(grid, 2)
    )
    assert worst > find_bound(ALL[norm][1]).formula(n=100)


@pytest.mark.parametrize("n", [10, 1000, 10**9])
@pytest.mark.parametrize("norm", [1, 2])
def test_the_second_routes_agree(norm: int, n: int) -> None:
    for name in ALL[norm]:
        bound = find_bound(name)
        assert bound.second_route is not None
        assert bound.second_route(n=n) == pytest.approx(bound.formula(n=n), rel=1e-9)


def test_matched_pairs_have_the_bound_of_as_many_records() -> None:
    found = find_bound(matched_pairs.MATCHED_IN_L1).formula(n=1001)
    assert found == find_bound(IN_L1).formula(n=500)
    with pytest.raises(ValueError, match="at least 10"):
        matched_pairs.pairs_of(9)
