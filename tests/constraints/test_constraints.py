"""Projections are idempotent, non-expansive, and nearest; diameters hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.constraints import (
    Constraint,
    FrobeniusBall,
    L2Ball,
    PSDCone,
    PSDFrobeniusBall,
    PSDNuclearBall,
    SymmetricMatrices,
    Unconstrained,
)
from pairdp.constraints.vectors import shrink_to

VECTORS: list[Constraint] = [L2Ball(1.0), L2Ball(0.3), Unconstrained()]
MATRICES: list[Constraint] = [
    FrobeniusBall(1.0),
    PSDFrobeniusBall(1.0),
    PSDFrobeniusBall(0.2),
    PSDNuclearBall(1.0),
    PSDNuclearBall(5.0),
    PSDCone(),
    SymmetricMatrices(),
]
ALL = [*VECTORS, *MATRICES]
seeds = st.integers(0, 10**6)
orders = st.integers(1, 6)


def draw(constraint: Constraint, features: int, rng: np.random.Generator) -> np.ndarray:
    shape = constraint.initial(features).shape
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-2, 1.5)


@pytest.mark.parametrize("constraint", ALL, ids=repr)
@given(seed=seeds, features=orders)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_projection_is_idempotent_and_feasible(
    constraint: Constraint, seed: int, features: int
) -> None:
    point = constraint.project(draw(constraint, features, np.random.default_rng(seed)))
    np.testing.assert_allclose(constraint.project(point), point, atol=1e-12, rtol=1e-12)
    assert np.linalg.norm(point) <= constraint.radius * (1 + 1e-12)
    if constraint in MATRICES:
        np.testing.assert_array_equal(point, point.T)
        lowest = np.linalg.eigvalsh(point)[0]
        if type(constraint).__name__.startswith("PSD"):
            assert lowest >= -1e-12 * max(1.0, np.linalg.norm(point))
        if isinstance(constraint, PSDNuclearBall):
            assert np.trace(point) <= constraint.radius * (1 + 1e-12)


@pytest.mark.parametrize("constraint", ALL, ids=repr)
@given(seed=seeds, features=orders)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_projection_is_non_expansive(constraint: Constraint, seed: int, features: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = draw(constraint, features, rng), draw(constraint, features, rng)
    moved = np.linalg.norm(constraint.project(a) - constraint.project(b))
    assert moved <= np.linalg.norm(a - b) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("constraint", ALL, ids=repr)
@given(seed=seeds, features=orders)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_no_member_is_nearer(constraint: Constraint, seed: int, features: int) -> None:
    # The obtuse-angle property: <x - Px, z - Px> <= 0 for every member z, which is equivalent.
    rng = np.random.default_rng(seed)
    x = draw(constraint, features, rng)
    nearest = constraint.project(x)
    for _ in range(5):
        member = constraint.project(draw(constraint, features, rng))
        angle = float(np.sum((x - nearest) * (member - nearest)))
        assert angle <= 1e-9 * (1 + np.linalg.norm(x) * np.linalg.norm(member - nearest))


@pytest.mark.parametrize("constraint", [c for c in ALL if math.isfinite(c.radius)], ids=repr)
@pytest.mark.parametrize("features", [1, 2, 5])
def test_diameter_holds_and_is_attained(constraint: Constraint, features: int) -> None:
    rng = np.random.default_rng(0)
    diameter = constraint.diameter(features)
    for _ in range(200):
        a, b = (constraint.project(100 * draw(constraint, features, rng)) for _ in range(2))
        assert np.linalg.norm(a - b) <= diameter * (1 + 1e-12)
    first = constraint.initial(features)
    second = first.copy()
    if first.ndim == 1:
        first[0], second[0] = 1e3, -1e3
    elif isinstance(constraint, FrobeniusBall):
        first[0, 0], second[0, 0] = 1e3, -1e3
    else:
        first[0, 0], second[-1, -1] = 1e3, 1e3 if features > 1 else -1e3
    ends = np.linalg.norm(constraint.project(first) - constraint.project(second))
    assert ends == pytest.approx(diameter)


@pytest.mark.parametrize("constraint", ALL, ids=repr)
def test_dimension_and_start(constraint: Constraint) -> None:
    expected = 5 if constraint in VECTORS else 15
    assert constraint.dimension(5) == expected
    start = constraint.initial(5)
    np.testing.assert_array_equal(constraint.project(start), start)
    assert not start.any()


@pytest.mark.parametrize("constraint", [Unconstrained(), PSDCone(), SymmetricMatrices()], ids=repr)
def test_unbounded_sets_say_so(constraint: Constraint) -> None:
    assert constraint.radius == math.inf
    assert constraint.diameter(3) == math.inf


def test_refusals() -> None:
    for make in (L2Ball, FrobeniusBall, PSDFrobeniusBall, PSDNuclearBall):
        for bad in (0.0, -1.0, math.nan, math.inf, "1"):
            with pytest.raises((ValueError, TypeError), match="radius"):
                make(bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="non-empty vector"):
        L2Ball().project(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="square and not empty"):
        PSDCone().project(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="features"):
        L2Ball().initial(0)


@pytest.mark.parametrize("size", [1e6, 1e12, 1e15, 1e17, 1e100])
def test_projections_of_huge_points_stay_within(size: float) -> None:
    nuclear = PSDNuclearBall(1.0).project(size * np.eye(3))
    np.testing.assert_allclose(nuclear, np.eye(3) / 3, rtol=1e-12)
    frobenius = PSDFrobeniusBall(1.0).project(size * np.eye(3))
    assert np.linalg.norm(frobenius) == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(L2Ball(1.0).project(np.array([size**2, 0.0])), [1.0, 0.0])


def test_projections_of_tiny_points_onto_tiny_balls() -> None:
    np.testing.assert_allclose(shrink_to(np.array([1e-170, 0.0]), 1e-200), [1e-200, 0.0])
    np.testing.assert_allclose(L2Ball(1e-60).project(np.array([1e-30, 0.0])), [1e-60, 0.0])


@pytest.mark.parametrize("ball", [L2Ball, FrobeniusBall, PSDFrobeniusBall, PSDNuclearBall])
@pytest.mark.parametrize("radius", [1e-61, 1e61])
def test_radii_that_squares_cannot_hold_are_refused(ball: Any, radius: float) -> None:
    with pytest.raises(ValueError, match="between 1e-60 and 1e60"):
        ball(radius)
