"""Bounds for prefix sums: two routes to each, and the number of batches."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy.bounds.prefix_sums import batch_count
from pairdp.privacy.bounds.sensitivity import ROUNDING_SLACK, Sensitivity, find_bound
from pairdp.privacy.mechanisms.matrix_mechanism import PrefixFactor

MEANS, SQUARES = "prefix sums of class means", "prefix sums of second moments of classes"


@given(
    data_norm=st.floats(1e-3, 1e3),
    n=st.integers(2, 5000),
    weight=st.floats(0.01, 1),
    batch_size=st.integers(1, 300),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_both_routes_of_the_bounds(
    data_norm: float, n: int, weight: float, batch_size: int
) -> None:
    inputs = {"data_norm": data_norm, "n": n, "batch_size": batch_size}
    norm = PrefixFactor.of(batch_count(n, batch_size)).column_norm()
    for name, given_inputs, one in (
        (MEANS, {**inputs, "weight": weight}, 2 * data_norm * math.hypot(1, weight)),
        (SQUARES, inputs, math.sqrt(2) * data_norm**2),
    ):
        bound = find_bound(name)
        assert bound.second_route is not None
        value = bound.formula(**given_inputs)
        assert value == pytest.approx(bound.second_route(**given_inputs), rel=1e-10)
        assert value == pytest.approx(one * norm, rel=2e-9)
        assert value >= one * norm
        stated = Sensitivity.of(name, **given_inputs).value
        assert stated == pytest.approx(value * (1 + ROUNDING_SLACK), rel=1e-15)


@pytest.mark.parametrize(("n", "size", "steps"), [(1, 1, 1), (10, 3, 4), (9, 3, 3), (5, 100, 1)])
def test_steps_of_a_stream(n: int, size: int, steps: int) -> None:
    assert batch_count(n, size) == steps


def test_a_weight_above_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 1"):
        Sensitivity.of(MEANS, data_norm=1.0, n=5, weight=1.5)
