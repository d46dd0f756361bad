"""Minimum error entropy: constants that hold and are attained, and that it is not convex."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp import Budget
from pairdp.algorithms import GradientDescent, MinimizerRelease, NoisyGradientDescent
from pairdp.constraints import L2Ball
from pairdp.losses import Domain, MinimumErrorEntropy, PairwiseLoss, find_loss
from pairdp.problem import Problem
from pairdp.testing._loss_checks.structures import structure_problem
from tests.testing.examined import examine

sizes = st.floats(0.1, 8.0)


@given(norm=sizes, radius=st.floats(0.0, 5.0), bound=sizes, width=sizes, seed=st.integers(0, 999))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_no_pair_exceeds_a_constant(
    norm: float, radius: float, bound: float, width: float, seed: int
) -> None:
    loss, domain = MinimumErrorEntropy(width, bound), Domain(norm, radius)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, 300, 2))
    x *= norm / np.linalg.norm(x, axis=2, keepdims=True)
    y = np.clip(rng.uniform(-2 * bound, 2 * bound, (3, 300)), -bound, bound)
    w, v = (radius * u / np.linalg.norm(u) for u in rng.normal(size=(2, 2)))
    first = loss.gradient(w, x[0], y[0], x[2], y[2])
    second = loss.gradient(w, x[1], y[1], x[2], y[2])
    allowed = 1 + 1e-9
    assert np.linalg.norm(first, axis=1).max() <= loss.lipschitz(domain) * allowed
    assert np.linalg.norm(first - second, axis=1).max() <= loss.pair_diameter(domain) * allowed
    elsewhere = loss.gradient(v, x[0], y[0], x[2], y[2])
    change = np.linalg.norm(first - elsewhere, axis=1).max()
    assert change <= loss.smoothness(domain) * np.linalg.norm(w - v) * allowed


@given(norm=sizes, radius=st.floats(0.0, 5.0), width=sizes, more=st.floats(1.0, 3.0))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_diameter_is_attained_for_a_narrow_kernel(
    norm: float, radius: float, width: float, more: float
) -> None:
    # At w = 0, errors of ±h around the partner's have the steepest slopes, with opposite signs.
    loss, domain = MinimumErrorEntropy(width, more * width), Domain(norm, radius)
    x = np.array([[norm], [-norm]])
    y = np.array([width, -width])
    one, two = (loss.gradient(np.zeros(1), x[:1], y[i : i + 1], x[1:], np.zeros(1)) for i in (0, 1))
    assert np.linalg.norm(one - two) == pytest.approx(loss.pair_diameter(domain))
    assert np.linalg.norm(one) == pytest.approx(loss.lipschitz(domain))
    assert loss.lipschitz(domain) == pytest.approx(2 * norm / width * math.exp(-0.5))


@given(norm=sizes, bound=sizes, width=sizes)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_diameter_is_attained_at_the_start(norm: float, bound: float, width: float) -> None:
    loss, domain = MinimumErrorEntropy(width, bound), Domain(norm, 0.0)
    x, size = np.array([[norm], [-norm]]), min(bound, width)
    one, two = (
        loss.gradient(np.zeros(1), x[:1], np.array([y]), x[1:], np.zeros(1)) for y in (size, -size)
    )
    assert np.linalg.norm(one - two) == pytest.approx(loss.pair_diameter(domain))


def test_curvature_is_attained_at_equal_errors() -> None:
    loss, step = MinimumErrorEntropy(0.4), 1e-5
    x, y = np.array([[1.5], [-1.5]]), np.zeros(1)
    ends = [loss.gradient(np.array([w]), x[:1], y, x[1:], y)[0, 0] for w in (-step, step)]
    expected = loss.smoothness(Domain(1.5, 1.0))
    assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(expected, rel=1e-6)


def test_the_search_finds_no_more_than_what_is_declared_and_not_less() -> None:
    report = examine(MinimumErrorEntropy())
    assert report.passed, report
    for name in ("lipschitz", "smoothness", "pair_diameter", "record_diameter"):
        assert report.worst(name).ratio > 0.999, name


def test_its_structure_is_the_function() -> None:
    loss = MinimumErrorEntropy()
    assert structure_problem(loss.phi, loss.slope, loss.structure()) == ""


def test_only_noise_in_gradients_accepts_it() -> None:
    assert find_loss("minimum_error_entropy", PairwiseLoss) == MinimumErrorEntropy()
    problem = Problem(MinimumErrorEntropy(), L2Ball(1.0), regularization=0.1)
    for algorithm in (GradientDescent(), MinimizerRelease()):
        with pytest.raises(ValueError, match="needs a convex loss") as refusal:
            algorithm.plan(problem, 1000, 3, Budget(1.0, 1e-6))
        assert "Online" not in str(refusal.value)  # streams refuse labels that are numbers
    plan = NoisyGradientDescent(output="average", steps=5).plan(problem, 1000, 3, Budget(1.0, 1e-6))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 3)) / 3
    records = problem.records(x, x @ [0.5, -0.5, 0.0])
    assert np.isfinite(plan.run(records, progress=False).parameters).all()
    assert "clipped to at most 1 in size" in plan.certificate.statement()


def test_refusals() -> None:
    with pytest.raises(ValueError, match="bandwidth must be positive"):
        MinimumErrorEntropy(0.0)
    with pytest.raises(ValueError, match="label_bound must be positive"):
        MinimumErrorEntropy(label_bound=math.inf)
