"""Checks that apply to every loss, whatever its constants."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pairdp.losses.base import PairwiseLoss
from pairdp.losses.convexity import declared_convex
from pairdp.losses.metric import MetricLoss
from pairdp.losses.ranking import RankingLoss
from pairdp.testing._loss_checks.report import Check, problem_check
from pairdp.testing._loss_checks.search import describe
from pairdp.testing._loss_checks.search_space import SearchSpace, Subject

Array = NDArray[np.float64]
_TUPLES = 40
_SEGMENTS = 6
_POINTS = 9
_LONG, _SHORT = 1e-4, 1e-5
_ROUNDING = 1e-9


def well_formed(subject: Subject, space: SearchSpace, rng: np.random.Generator) -> Iterator[Check]:
    """Yield checks of shapes, finiteness and side effects."""
    space = space.moderate
    w = space.random_parameters(rng)
    for count in (1, _TUPLES):
        x, y = space.random_records(rng, count, subject.arity)
        problem = _shape_problem(subject, w, x, y)
        yield problem_check("shapes", space, problem)
        if problem:
            return
    # Zero and equal records, where a formula may divide by zero.
    x[0], x[1:4] = 0.0, x[1:4, :1]
    for point in (np.zeros_like(w), w):
        values, gradients = subject.values(point, x, y), subject.gradients(point, x, y)[:, 0]
        finite = np.isfinite(values) & np.isfinite(gradients).all(axis=1)
        yield problem_check("finite", space, _first_at(point, x, y, ~finite))
        if not finite.all():
            return
    yield problem_check("inputs unchanged", space, _mutation(subject, w, x, y))
    again = subject.values(w, x, y), subject.gradients(w, x, y)[:, 0]
    same = np.array_equal(values, again[0]) and np.array_equal(gradients, again[1])
    yield problem_check("deterministic", space, "" if same else "two equal calls differ")
    yield problem_check("independent of others", space, _dependence_on_others(subject, w, x, y))
    if space.matrix:
        square = gradients.reshape(-1, *space.shape)
        gap = np.abs(square - square.transpose(0, 2, 1)).max(axis=(1, 2))
        wrong = gap > _ROUNDING * np.abs(gradients).max()
        yield problem_check("symmetric gradient", space, _first_at(w, x, y, wrong))


def _shape_problem(subject: Subject, w: Array, x: Array, y: Array) -> str:
    slots = [item for k in range(subject.arity) for item in (x[:, k], y[:, k])]
    expected = {"value": (len(x),), "gradient": (len(x), *w.shape)}
    for name, shape in expected.items():
        got = np.shape(getattr(subject.loss, name)(w, *slots))
        if got != shape:
            return f"{name} of {len(x)} has shape {got}, expected {shape}"
    return ""


def _mutation(subject: Subject, w: Array, x: Array, y: Array) -> str:
    given = [w.copy()]
    for k in range(subject.arity):
        given += [x[:, k].copy(), y[:, k].copy()]
    kept = [array.copy() for array in given]
    for name in ("value", "gradient"):
        getattr(subject.loss, name)(*given)
        if not all(np.array_equal(a, b) for a, b in zip(given, kept, strict=True)):
            return f"{name} writes to its arguments"
    return ""


def _dependence_on_others(subject: Subject, w: Array, x: Array, y: Array) -> str:
    """Return a problem if a value depends on the other records of a call, voiding all constants."""
    together = subject.values(w, x, y), subject.gradients(w, x, y)
    for k in range(len(x) - 5, len(x)):
        alone = slice(k, k + 1)
        apart = subject.values(w, x[alone], y[alone]), subject.gradients(w, x[alone], y[alone])
        for a, b in zip(together, apart, strict=True):
            if not np.allclose(a[k], b[0], rtol=_ROUNDING, atol=_ROUNDING * np.abs(a).max()):
                return "what a call returns for one depends on the others"
    return ""


def along_segments(
    subject: Subject, space: SearchSpace, rng: np.random.Generator
) -> Iterator[Check]:
    """Yield checks of declared convexity and of the gradient, along segments within the domain."""
    space = space.moderate
    for number in range(_SEGMENTS):
        w = space.random_parameters(rng)
        # Short segments, for a loss that is linear almost everywhere.
        v = w + (space.random_parameters(rng) - w) * (0.05 if number % 2 else 1.0)
        x, y = space.random_records(rng, _TUPLES, subject.arity)
        # Random points avoid kinks, where the derivative is undefined.
        points = np.sort(rng.uniform(_LONG, 1 - _LONG, _POINTS))
        yield from _along(subject, space, (w, v), points, x, y)


def _along(
    subject: Subject,
    space: SearchSpace,
    ends: tuple[Array, Array],
    points: Array,
    x: Array,
    y: Array,
) -> Iterator[Check]:
    w, v = ends

    def values(t: float) -> Array:
        return subject.values(w + t * (v - w), x, y)

    lines = np.stack([values(t) for t in points])
    gradients = np.stack([subject.gradients(w + t * (v - w), x, y)[:, 0] for t in points])
    slopes = gradients @ (v - w).ravel()
    length = np.linalg.norm(gradients, axis=2).max(axis=0) * np.linalg.norm(v - w)
    slack = _ROUNDING * (np.abs(lines).max(axis=0) + length)
    if declared_convex(subject.loss):
        share = ((points[1:-1] - points[:-2]) / (points[2:] - points[:-2]))[:, None]
        bent = share * lines[2:] + (1 - share) * lines[:-2] - lines[1:-1] < -slack
        yield problem_check("convex", space, _first_at(ends, x, y, bent.any(axis=0)))
        steps = (points[:, None] - points)[:, :, None]
        below = lines[:, None] - lines - steps * slopes < -slack
        yield problem_check("subgradient", space, _first_at(ends, x, y, below.any(axis=(0, 1))))
    wrong, rounding = np.zeros(len(x), dtype=bool), 1e-14 / _SHORT * np.abs(lines).max(axis=0)
    for t, slope in zip(points, slopes, strict=True):
        far, near = ((values(t + h) - values(t - h)) / (2 * h) for h in (_LONG, _SHORT))
        size = np.abs(near) + np.abs(slope)
        # Where two step sizes disagree there is a kink, or curvature that they cannot resolve.
        smooth = np.abs(far - near) <= 1e-6 * size
        wrong |= smooth & (np.abs(near - slope) > 1e-4 * size + rounding)
    yield problem_check("derivative", space, _first_at(ends, x, y, wrong))


def order_and_equals(
    subject: Subject, space: SearchSpace, rng: np.random.Generator
) -> Iterator[Check]:
    """Yield checks of the declared symmetry, and of pairs that must have no gradient."""
    loss = subject.loss
    if not isinstance(loss, PairwiseLoss):
        return
    w = space.moderate.random_parameters(rng)
    x, y = space.random_records(rng, _TUPLES, 2)
    if loss.symmetric:
        there = np.column_stack([subject.values(w, x, y), subject.gradients(w, x, y)[:, 0]])
        x_, y_ = x[:, ::-1], y[:, ::-1]
        back = np.column_stack([subject.values(w, x_, y_), subject.gradients(w, x_, y_)[:, 0]])
        wrong = (np.abs(there - back) > _ROUNDING * np.abs(there).max()).any(axis=1)
        yield problem_check("declared symmetric", space, _first_at(w, x, y, wrong))
    if isinstance(loss, RankingLoss | MetricLoss):
        x[:, 1] = x[:, 0]
        yield problem_check("equal records", space, _gradient_left(subject, w, x, y))
    if isinstance(loss, RankingLoss):
        x, y = space.random_records(rng, _TUPLES, 2)
        y[:, 1] = y[:, 0]
        yield problem_check("equal labels", space, _gradient_left(subject, w, x, y))


def _gradient_left(subject: Subject, w: Array, x: Array, y: Array) -> str:
    left = np.abs(subject.gradients(w, x, y)[:, 0]).max(axis=1) > 0
    return _first_at(w, x, y, left)


def _first_at(w: Array | tuple[Array, ...], x: Array, y: Array, wrong: NDArray[np.bool_]) -> str:
    """Describe the first example that is wrong, if any is."""
    if not wrong.any():
        return ""
    row = wrong.argmax()
    return describe(w if isinstance(w, tuple) else (w,), x[row], y[row])
