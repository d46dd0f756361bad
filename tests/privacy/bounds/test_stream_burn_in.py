"""Bounds for streams with the burn-in of Huai 2020, one record and one step at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy.bounds.sensitivity import find_bound

AVERAGE = "average iterate of descent on a stream of pairs"
MODELS = "models of a stream in units of 1/t"


@st.composite
def streams(draw: st.DrawFn, longest: int) -> dict[str, float]:
    alpha = draw(st.sampled_from([0.01, 1.0, 3.0]))
    burn_in = draw(st.integers(7, 30))
    inputs: dict[str, float] = {
        "record_diameter": draw(st.floats(0.1, 10)),
        "strong_convexity": alpha,
        "smoothness": alpha * draw(st.floats(1.0, math.sqrt(burn_in) / 4 + 1)),
        "burn_in": burn_in,
        "n": burn_in + draw(st.integers(1, longest)),
    }
    if draw(st.booleans()):
        inputs["diameter"] = draw(st.floats(0.1, 3))
    return inputs


def changes(inputs: dict[str, float]) -> np.ndarray:
    """Return how far record k moves w_t, for all k and t: Lemma 4, with D/2 of a pair."""
    n, alpha, slot = int(inputs["n"]), inputs["strong_convexity"], inputs["record_diameter"] / 2
    found = np.zeros((n + 1, n + 1))
    for k in range(1, n + 1):
        moved = 0.0
        for t in range(int(inputs["burn_in"]) + 1, n + 1):
            eta = (t - 1) / (t - 2) * 2 / (alpha * t)
            if t < k:
                continue
            share = 1.0 if t == k else 1 / (t - 1)
            moved = (1 - eta * alpha) * moved + eta * slot * share
            moved = min(moved, inputs.get("diameter", math.inf))
            found[k, t] = moved
    return found


@given(inputs=streams(40))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_both_routes_are_those_of_one_record_at_a_time(inputs: dict[str, float]) -> None:
    n, found = int(inputs["n"]), changes(inputs)
    average = found.sum(axis=1).max() / n
    together = np.sqrt(((found * np.arange(n + 1)) ** 2).sum(axis=1).max())
    for name, expected in ((AVERAGE, average), (MODELS, together)):
        bound = find_bound(name)
        assert bound.second_route is not None
        assert bound.formula(**inputs) == pytest.approx(expected, rel=1e-9)
        assert bound.second_route(**inputs) == pytest.approx(expected, rel=1e-9)


def test_long_streams_are_never_below_one_record_at_a_time() -> None:
    inputs = {
        "record_diameter": 2.0, "n": 900, "strong_convexity": 0.5, "smoothness": 1.0,
        "burn_in": 64,
    }  # fmt: skip
    expected = changes(inputs).sum(axis=1).max() / 900
    bound = find_bound(AVERAGE)
    assert expected <= bound.formula(**inputs) <= 1.02 * expected
    assert bound.second_route is not None
    assert bound.second_route(**inputs) == pytest.approx(bound.formula(**inputs), rel=1e-9)


def test_lemma_4_holds_and_is_about_twice_too_large() -> None:
    # |w_t - w'_t| ≤ 8G/(αt), with D_h = 4G for any loss.
    inputs = {
        "record_diameter": 4.0, "n": 400, "strong_convexity": 0.5, "smoothness": 1.0,
        "burn_in": 64,
    }  # fmt: skip
    t = np.arange(1, 401)
    ratio = changes(inputs)[:, 1:] * 0.5 * t / 8
    assert 0.4 < ratio.max() <= 0.52


def test_steps_that_do_not_contract_are_refused() -> None:
    inputs = {"record_diameter": 1.0, "n": 50, "strong_convexity": 0.1, "smoothness": 4.0}
    for name in (AVERAGE, MODELS):
        with pytest.raises(ValueError, match="too short"):
            find_bound(name).formula(**inputs, burn_in=7)
