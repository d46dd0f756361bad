"""Bounds for descent and for moments: two routes, limits, the values of the papers' audit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pairdp.privacy import Sensitivity
from pairdp.privacy.bounds.sensitivity import find_bound
from pairdp.privacy.bounds.stream_schedule import stream_steps

NOISY = "last iterate of noisy gradient descent"
STREAM = "average iterate of descent on a stream of pairs"
MINIMISER = "regularised minimiser"
SCATTER = "scatter between classes"

sizes = st.floats(1e-3, 1e3)
some_diameter = st.one_of(st.just({}), st.builds(lambda d: {"diameter": d}, sizes))


def value(name: str, **inputs: float) -> float:
    return find_bound(name).formula(**inputs)


def assert_routes_agree(name: str, rel: float = 1e-10, **inputs: float) -> None:
    bound = find_bound(name)
    assert bound.second_route is not None
    first, second = bound.formula(**inputs), bound.second_route(**inputs)
    assert math.isfinite(first)
    assert first > 0
    assert first == pytest.approx(second, rel=rel)


@given(
    record_diameter=sizes,
    n=st.integers(2, 10**6),
    step_size=sizes,
    contraction=st.one_of(st.floats(1e-3, 1.0), st.sampled_from([1.0, 1 - 1e-12, 0.5])),
    steps=st.integers(1, 60),
    diameter=some_diameter,
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_noisy_last_iterate_by_its_coupling(diameter: dict[str, float], **inputs: float) -> None:
    assert_routes_agree(NOISY, **inputs, **diameter)


@given(
    record_diameter=sizes,
    n=st.integers(2, 300),
    strong_convexity=st.floats(1e-4, 10.0),
    more=st.floats(0.0, 100.0),
    diameter=some_diameter,
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_stream_by_following_every_record(
    strong_convexity: float, more: float, diameter: dict[str, float], **inputs: float
) -> None:
    convexity = {"strong_convexity": strong_convexity, "smoothness": strong_convexity + more}
    assert_routes_agree(STREAM, **inputs, **convexity, **diameter)


def test_a_long_stream_by_its_worst_record() -> None:
    inputs = {"record_diameter": 8.0, "n": 5000, "strong_convexity": 0.1, "smoothness": 4.1}
    assert_routes_agree(STREAM, **inputs)


@given(
    record_diameter=sizes,
    n=st.integers(2, 10**9),
    strong_convexity=sizes,
    tolerance=st.floats(0.0, 1.0),
    diameter=some_diameter,
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_minimiser_as_the_limit_of_descent(diameter: dict[str, float], **inputs: float) -> None:
    assert_routes_agree(MINIMISER, **inputs, **diameter)


@pytest.mark.parametrize(
    "name",
    [
        SCATTER,
        "difference of class sums",
        "mean of signed records",
        "mean of records",
        "second moments of classes",
    ],
)
@given(data_norm=sizes, n=st.integers(2, 10**9))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_moments(name: str, data_norm: float, n: int) -> None:
    assert_routes_agree(name, data_norm=data_norm, n=n)


@given(data_norm=sizes, n=st.integers(2, 10**9), weight=st.floats(1e-3, 1.0))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_means_of_classes(data_norm: float, n: int, weight: float) -> None:
    assert_routes_agree("means of classes", data_norm=data_norm, n=n, weight=weight)


@given(
    weight=st.floats(0.01, 1.0),
    labels=st.tuples(st.sampled_from([-1, 1]), st.sampled_from([-1, 1])),
    one=arrays(float, 3, elements=st.floats(-1, 1)),
    other=arrays(float, 3, elements=st.floats(-1, 1)),
    n=st.integers(2, 50),
)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_no_record_moves_the_means_of_classes_further(
    weight: float, labels: tuple[int, int], one: np.ndarray, other: np.ndarray, n: int
) -> None:
    def part(y: int, x: np.ndarray) -> np.ndarray:
        x = x / max(1.0, float(np.linalg.norm(x)))
        return np.concatenate([y * x, weight * x, [weight * y]])

    moved = float(np.linalg.norm(part(labels[0], one) - part(labels[1], other))) / n
    assert moved <= value("means of classes", data_norm=1.0, n=n, weight=weight)


def test_the_means_of_classes_reach_their_bound() -> None:
    x = np.array([1.0, 0.0])
    for weight in (0.1, 0.7, 1.0):
        bound = value("means of classes", data_norm=1.0, n=10, weight=weight)
        for y, other in ((-1, x), (1, -x)):  # a flipped label, a turned record
            apart = np.concatenate([x - y * other, weight * (x - other), [weight * (1 - y)]])
            assert np.linalg.norm(apart) / 10 == pytest.approx(bound, rel=1e-6)


@given(n=st.integers(2, 10**6))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_share_of_positives(n: int) -> None:
    # Two nearby shares are subtracted, so n·1e-16 of the difference is lost.
    assert_routes_agree("share of positives", n=n)


def noisy(**changed: float) -> float:
    inputs = {"record_diameter": 8.0, "n": 100, "step_size": 0.4, "contraction": 0.9, "steps": 50}
    return value(NOISY, **{**inputs, **changed})


def test_noisy_last_iterate_in_its_limits() -> None:
    step = 8.0 / 100
    assert noisy(steps=1) == pytest.approx(step)
    assert noisy(contraction=1.0) == pytest.approx(math.sqrt(50) * step)  # nothing is forgotten
    assert noisy(steps=10**5, diameter=1e9) == pytest.approx(step * math.sqrt(1.9 / 0.1))
    assert noisy(contraction=1e-9, steps=3) == pytest.approx(step)  # all but the last step is
    # A tiny set is forgotten at once: what is left is one step.
    assert noisy(diameter=1e-12) == pytest.approx(step, rel=1e-6)
    tau, drift = 128, 0.5 * 8 / 256  # without contraction, best at τ = diameter / drift
    best = (2 + drift * tau) / (0.5 * math.sqrt(tau))
    inputs = {"n": 256, "step_size": 0.5, "contraction": 1.0, "steps": 10**4, "diameter": 2.0}
    assert noisy(**inputs) == pytest.approx(best)


@given(
    contraction=st.floats(0.01, 1.0),
    steps=st.integers(1, 300),
    diameter=st.floats(1e-3, 1e3),
    n=st.integers(2, 10**5),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_noisy_last_iterate_is_monotone_and_within_composition(
    contraction: float, steps: int, diameter: float, n: int
) -> None:
    inputs = {"contraction": contraction, "steps": steps, "n": n, "diameter": diameter}
    bound = noisy(**inputs)
    assert 8 / n * (1 - 1e-9) <= bound <= math.sqrt(steps) * 8 / n * (1 + 1e-9)
    assert bound <= noisy(**{**inputs, "steps": steps + 1}) * (1 + 1e-9)
    assert bound <= noisy(**{**inputs, "diameter": 2 * diameter}) * (1 + 1e-9)
    assert bound <= noisy(**{**inputs, "contraction": (1 + contraction) / 2}) * (1 + 1e-9)
    assert bound >= noisy(**{**inputs, "n": 2 * n}) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("convexity", "steps", "more", "gain"),
    [
        (0.1, 100, {}, 1.6),
        (0.1, 1000, {}, 4.9),
        (1.0, 1000, {}, 14.0),
        (0.0, 1000, {"n": 256, "diameter": 2.0}, 1.4),
        (0.0, 10**4, {"n": 256, "diameter": 2.0}, 4.4),
    ],
)
def test_gain_of_the_last_iterate_over_composition(
    convexity: float, steps: int, more: dict[str, float], gain: float
) -> None:
    # errata, X5: two-sided logistic loss, L = 4 + α, η = 2/(L + α), two digits.
    eta = 2 / (4 + 2 * convexity)
    inputs = {"step_size": eta, "contraction": 1 - eta * convexity, "steps": steps, **more}
    composed = math.sqrt(steps) * 8 / inputs.get("n", 100)
    assert composed / noisy(**inputs) == pytest.approx(gain, rel=0.03)


@pytest.mark.parametrize(
    ("n", "convexity", "audited"),
    [
        (100, 1e-3, 1.98), (100, 1e-2, 1.98), (100, 0.1, 1.37), (100, 1.0, 0.279),
        (1000, 1e-3, 2.0), (1000, 1e-2, 1.39), (1000, 0.1, 0.315), (1000, 1.0, 0.046),
        (10000, 1e-3, 1.39), (10000, 1e-2, 0.317), (10000, 0.1, 0.050), (10000, 1.0, 0.0065),
    ],
)  # fmt: skip
def test_stream_against_the_audit(n: int, convexity: float, audited: float) -> None:
    # errata, H3. Its table divides by n, we by the n - 1 iterates; it has three digits.
    ours = value(
        STREAM,
        record_diameter=8.0,
        n=n,
        strong_convexity=convexity,
        smoothness=4.0 + convexity,
        diameter=2.0,
    )
    assert ours * (n - 1) / n == pytest.approx(audited, rel=0.013)


def stream(**changed: float) -> float:
    inputs = {"record_diameter": 8.0, "n": 200, "strong_convexity": 0.5, "smoothness": 4.5}
    return value(STREAM, **{**inputs, **changed})


def test_stream_in_its_limits() -> None:
    assert stream(n=2) == pytest.approx(0.4 * 4)  # one step of 2/(L+α), moved by D_h/2
    assert stream(record_diameter=16.0) == pytest.approx(2 * stream())
    assert stream(diameter=1e-3) == pytest.approx(1e-3)
    assert stream(diameter=0.2) <= min(0.2, stream())
    assert stream(n=400) < stream() < stream(strong_convexity=0.25)
    # Far out, w_t moves by 2·D_o/(αt) (errata, H1), so averages by ln(n) times that.
    n = 10**5
    assert stream(n=n) * n / math.log(n) == pytest.approx(2 * 4 / 0.5, rel=0.25)


def test_steps_of_a_stream_contract() -> None:
    steps = stream_steps(1000, 0.5, 4.5)
    assert steps.size == 999
    assert steps.max() == 2 / (4.5 + 0.5)
    assert steps[-1] == pytest.approx(2 / (0.5 * 1000))
    assert np.all(np.diff(steps) <= 0)
    assert np.all(stream_steps(5, 0.0, 4.0) == 0.5)


def test_minimiser_in_its_limits() -> None:
    inputs = {"record_diameter": 8.0, "n": 100, "strong_convexity": 0.1}
    assert value(MINIMISER, **inputs, tolerance=0.0) == pytest.approx(0.8)
    assert value(MINIMISER, **inputs, tolerance=0.01) == pytest.approx(0.8 + 0.2)
    assert value(MINIMISER, **inputs, tolerance=0.01, diameter=0.5) == 0.5
    # Where gradient descent ends, if it never ends.
    descent = find_bound("last iterate of gradient descent").formula
    limit = descent(record_diameter=8.0, n=100, step_size=0.4, contraction=0.96, steps=2000)
    assert value(MINIMISER, **inputs, tolerance=0.0) == pytest.approx(limit)


def scatter(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    n, total = len(y), np.zeros((x.shape[1], x.shape[1]))
    for up in x[y > 0]:
        for down in x[y < 0]:
            total += np.outer(up - down, up - down)
    return total / (n * (n - 1))


def squares(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.concatenate([x[y > 0].T @ x[y > 0], x[y < 0].T @ x[y < 0]]) / len(y)


def clip(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1.0)


STATISTICS = {SCATTER: scatter, "second moments of classes": squares}


@pytest.mark.parametrize("name", STATISTICS)
@given(n=st.integers(2, 9), seed=st.integers(0, 10**6), size=st.sampled_from([0.3, 1.0, 10.0]))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_no_replacement_moves_second_moments_further(
    name: str, n: int, seed: int, size: float
) -> None:
    # A search from each start: the best of small changes is kept, labels and all.
    statistic, rng = STATISTICS[name], np.random.default_rng(seed)
    bound = Sensitivity.of(name, data_norm=1.0, n=n).value
    x, y = clip(rng.normal(size=(n + 1, 2)) * size), rng.choice([-1, 1], n + 1)
    if seed % 3 == 0:  # all others at the farthest partner
        x[1:n] = -x[0]

    def moved(x: np.ndarray, y: np.ndarray) -> float:
        other = np.r_[n, 1:n]
        return float(np.linalg.norm(statistic(x[:n], y[:n]) - statistic(x[other], y[other])))

    worst = moved(x, y)
    for _ in range(10):
        nearby_x = clip(x + rng.normal(size=x.shape) * 10.0 ** rng.uniform(-2, 0))
        nearby_y = np.where(rng.random(n + 1) < 0.2, -y, y)
        found = moved(nearby_x, nearby_y)
        if found > worst:
            x, y, worst = nearby_x, nearby_y, found
    assert worst <= bound


@pytest.mark.parametrize("n", [2, 3, 10, 40])
def test_second_moments_attain_their_bounds(n: int) -> None:
    x, y = np.full((n, 1), -1.0), -np.ones(n)
    x[0], y[0] = 1.0, 1.0
    flipped = np.where(np.arange(n) == 0, -1.0, y)
    moved = {name: np.linalg.norm(f(x, y) - f(x, flipped)) for name, f in STATISTICS.items()}
    assert moved[SCATTER] == pytest.approx(4 / n)
    assert moved["second moments of classes"] == pytest.approx(math.sqrt(2) / n)


@pytest.mark.parametrize(
    ("name", "changed", "words"),
    [
        (NOISY, {"contraction": 1.01}, "contraction must be at most 1"),
        (NOISY, {"contraction": -0.1}, "contraction"),
        (NOISY, {"steps": 0}, "steps must be at least 1"),
        (NOISY, {"steps": 10**8}, "steps"),
        (NOISY, {"n": 1}, "n must be at least 2"),
        (NOISY, {"step_size": 0.0}, "step_size must be positive"),
        (NOISY, {"record_diameter": -1.0}, "record_diameter must be positive"),
        (NOISY, {"diameter": 0.0}, "diameter must be positive"),
        (STREAM, {"n": 1}, "n must be at least 2"),
        (STREAM, {"record_diameter": 0.0}, "record_diameter must be positive"),
        (MINIMISER, {"strong_convexity": 0.0}, "strong_convexity must be positive"),
        (MINIMISER, {"tolerance": -1.0}, "tolerance"),
        (MINIMISER, {"n": 1}, "n must be at least 2"),
        (MINIMISER, {"diameter": -1.0}, "diameter must be positive"),
        (SCATTER, {"data_norm": 0.0}, "data_norm must be positive"),
        (SCATTER, {"n": 1}, "n must be at least 2"),
    ],
)
def test_refusals(name: str, changed: dict[str, float], words: str) -> None:
    inputs: dict[str, dict[str, float]] = {
        NOISY: {"record_diameter": 8.0, "n": 10, "step_size": 0.1, "contraction": 0.9, "steps": 5},
        STREAM: {"record_diameter": 8.0, "n": 10, "strong_convexity": 0.1, "smoothness": 4.0},
        MINIMISER: {"record_diameter": 8.0, "n": 10, "strong_convexity": 0.1, "tolerance": 0.0},
        SCATTER: {"data_norm": 1.0, "n": 10},
    }
    with pytest.raises(ValueError, match=words):
        Sensitivity.of(name, **{**inputs[name], **changed})


@pytest.mark.parametrize(
    "changed",
    [
        {"strong_convexity": 3.0, "smoothness": 0.1},  # L < α: 1 - ηα is then negative
        {"strong_convexity": math.nan},
        {"strong_convexity": 0.0, "smoothness": 0.0},
    ],
)
def test_streams_refuse_what_no_problem_has(changed: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"smoothness|strong_convexity"):
        stream(**changed)
