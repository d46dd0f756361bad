"""Named bounds: formulas, second routes, and attacks on what they bound."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy import Bound, Sensitivity, register_bound
from pairdp.privacy.bounds.sensitivity import ROUNDING_SLACK, find_bound

positive = st.floats(1e-3, 1e3)


def both_routes(name: str, **inputs: float) -> tuple[float, float]:
    bound = find_bound(name)
    assert bound.second_route is not None
    return bound.formula(**inputs), bound.second_route(**inputs)


@given(diameter=positive, n=st.integers(2, 10**9))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_average_over_pairs(diameter: float, n: int) -> None:
    first, second = both_routes("average over pairs", diameter=diameter, n=n)
    assert first == pytest.approx(second, rel=1e-12)


@given(
    record_diameter=positive,
    n=st.integers(2, 1000),
    step_size=positive,
    contraction=st.one_of(st.floats(0, 1.05), st.sampled_from([0.0, 1.0, 1 - 1e-12])),
    steps=st.integers(1, 200),
    diameter=st.one_of(st.none(), positive),
)
@settings(max_examples=150, deadline=None, derandomize=True)
@pytest.mark.parametrize(
    "name", ["last iterate of gradient descent", "average iterate of gradient descent"]
)
def test_gradient_descent_unrolled(
    name: str,
    record_diameter: float,
    n: int,
    step_size: float,
    contraction: float,
    steps: int,
    diameter: float | None,
) -> None:
    inputs: dict[str, float] = {
        "record_diameter": record_diameter,
        "n": n,
        "step_size": step_size,
        "contraction": contraction,
        "steps": steps,
    }
    if diameter is not None:
        inputs["diameter"] = diameter
    first, second = both_routes(name, **inputs)
    assert first == pytest.approx(second, rel=1e-10)


def class_sums(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    n, up = len(y), y > 0
    return ((~up).sum() * x[up].sum(0) - up.sum() * x[~up].sum(0)) / (n * (n - 1))


@given(n=st.integers(2, 12), seed=st.integers(0, 10**6), extreme=st.booleans())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_no_replacement_moves_class_sums_further(n: int, seed: int, extreme: bool) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n + 1, 3))
    if extreme:
        x = np.sign(rng.standard_normal((n + 1, 1))) * np.array([[1.0, 0.0, 0.0]])
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    y = rng.choice([-1, 1], n + 1)
    neighbour, labels = np.vstack([x[n:], x[1:n]]), np.concatenate([y[n:], y[1:n]])
    moved = float(np.linalg.norm(class_sums(x[:n], y[:n]) - class_sums(neighbour, labels)))
    bound = Sensitivity.of("difference of class sums", data_norm=1.0, n=n).value
    assert moved <= bound
    assert both_routes("difference of class sums", data_norm=1.0, n=n)[1] * (
        1 + ROUNDING_SLACK
    ) == pytest.approx(bound)


def test_the_class_sums_bound_is_attained_by_a_flipped_label() -> None:
    n = 10
    x = np.full((n, 1), -1.0)
    x[0] = 1.0
    y = -np.ones(n, dtype=int)
    y[0] = 1
    neighbour, labels = x.copy(), y.copy()
    labels[0] = -1
    moved = float(np.abs(class_sums(x, y) - class_sums(neighbour, labels))[0])
    assert moved == pytest.approx(2 / n)


def test_the_last_iterate_bound_is_attained_by_a_quadratic() -> None:
    # l = α/2 w² + g w with g = ±s/2: the two runs drift apart exactly as bounded.
    alpha, eta, s, steps = 0.3, 0.8, 0.5, 17
    ends = []
    for gradient in (s / 2, -s / 2):
        w = 0.0
        for _ in range(steps):
            w -= eta * (alpha * w + gradient)
        ends.append(w)
    bound = Sensitivity.of(
        "last iterate of gradient descent",
        record_diameter=10 * s,
        n=10,
        step_size=eta,
        contraction=1 - eta * alpha,
        steps=steps,
    )
    assert abs(ends[0] - ends[1]) == pytest.approx(bound.value, rel=1e-8)
    assert abs(ends[0] - ends[1]) <= bound.value


def test_a_stated_sensitivity_is_taken_as_it_is() -> None:
    assert Sensitivity.stated(2.0).value == pytest.approx(2.0)
    assert find_bound("stated").second_route is None


def test_sensitivity_is_frozen_hashable_and_pickles() -> None:
    one = Sensitivity.of("average over pairs", diameter=4.0, n=10)
    assert one == pickle.loads(pickle.dumps(one))
    assert hash(one) == hash(Sensitivity.of("average over pairs", diameter=4.0, n=10))
    with pytest.raises(TypeError):
        one.inputs["n"] = 11  # type: ignore[index]
    with pytest.raises(AttributeError):
        one.value = 0.0  # type: ignore[misc]


def test_refusals() -> None:
    with pytest.raises(KeyError, match="no bound named 'wishful'"):
        Sensitivity.of("wishful")
    with pytest.raises(ValueError, match="already registered"):
        register_bound(Bound("stated", "again", lambda value: value, None))
    with pytest.raises(ValueError, match="n must be at least 2"):
        Sensitivity.of("average over pairs", diameter=1.0, n=1)
    with pytest.raises(ValueError, match="omit it if it is unbounded"):
        Sensitivity("stated", {"value": math.inf}, 1.0)
    with pytest.raises(ValueError, match="positive"):
        Sensitivity.stated(0.0)
    with pytest.raises(TypeError, match=r"takes diameter, n: .*colour"):
        Sensitivity.of("average over pairs", diameter=1.0, n=5, colour=3)
    with pytest.raises(TypeError, match=r"takes diameter, n: missing .*diameter"):
        Sensitivity.of("average over pairs", n=5)


def average_of_products(values: np.ndarray) -> float:
    n = len(values)
    return float(values.sum() ** 2 - (values**2).sum()) / (n * (n - 1))


@pytest.mark.parametrize("n", [2, 3, 10, 101])
def test_average_over_pairs_is_attained_by_a_flipped_label(n: int) -> None:
    # f(z, p) = y y' moves by 2 when a label flips, and f(z, p) + f(p, z) by 4.
    bound = Sensitivity.of("average over pairs", diameter=4.0, n=n).value
    labels = np.ones(n)
    flipped = labels.copy()
    flipped[0] = -1
    moved = abs(average_of_products(labels) - average_of_products(flipped))
    assert bound * 0.999 <= moved <= bound


@given(n=st.integers(2, 30), seed=st.integers(0, 10**6))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_no_replacement_moves_an_average_over_pairs_further(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, n)
    neighbour = values.copy()
    neighbour[rng.integers(n)] = rng.uniform(-1, 1)
    moved = abs(average_of_products(values) - average_of_products(neighbour))
    assert moved <= Sensitivity.of("average over pairs", diameter=4.0, n=n).value


def test_the_average_iterate_bound_is_attained_by_a_quadratic() -> None:
    alpha, eta, s, steps = 0.3, 0.8, 0.5, 17
    averages = []
    for gradient in (s / 2, -s / 2):
        w, total = 0.0, 0.0
        for _ in range(steps):
            w -= eta * (alpha * w + gradient)
            total += w
        averages.append(total / steps)
    bound = Sensitivity.of(
        "average iterate of gradient descent",
        record_diameter=10 * s,
        n=10,
        step_size=eta,
        contraction=1 - eta * alpha,
        steps=steps,
    )
    assert bound.value * 0.999999 <= abs(averages[0] - averages[1]) <= bound.value
