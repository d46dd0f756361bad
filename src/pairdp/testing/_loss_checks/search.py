"""A search for records and parameters that exceed a declared constant.

The result is a lower bound on the true constant: what the search finds is a true example, but a
worse one may exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.testing._loss_checks import initial_points
from pairdp.testing._loss_checks.objectives import CLOSEST, Objective
from pairdp.testing._loss_checks.search_space import SearchSpace, Subject

Array = NDArray[np.float64]
_BATCH = 48
_BISECTED = 3
_PATIENCE = 4
_SMALLEST_STEP = 1e-3


@dataclass(frozen=True)
class Found:
    """The worst example so far: its value, parameters, records and labels."""

    value: float
    parameters: tuple[Array, ...]
    x: Array
    y: Array

    def __str__(self) -> str:
        return describe(self.parameters, self.x, self.y)


NOTHING = Found(0.0, (), np.empty((0, 0)), np.empty(0))
"""No example."""


def describe(parameters: tuple[Array, ...], x: Array, y: Array) -> str:
    """Return an example as lines of text."""
    shown = [f"parameters {_compact(w)}" for w in parameters]
    shown += [f"record {_compact(row)}, label {label:g}" for row, label in zip(x, y, strict=True)]
    return "\n".join(shown)


def _compact(values: Array) -> str:
    return " ".join(np.array2string(values, precision=8).split())


def maximize(
    subject: Subject,
    objective: Objective,
    space: SearchSpace,
    rng: np.random.Generator,
    known: Sequence[Found] = (),
) -> Found:
    """Return the worst example that a search finds.

    Parameters
    ----------
    subject, objective, space
        The loss, what is maximised, and where.
    rng : numpy.random.Generator
        The generator of the search.
    known : sequence of Found
        Examples to start from instead of the usual ones. They are expected to be the worst, so
        the search for a better one is short.
    """
    climbs, rounds = (1, 15) if known else (2, 120)
    found = _worst_first(known or _screen(subject, objective, space, rng))
    if objective.exponent:
        found = _worst_first(_bisect(subject, objective, start) for start in _promising(found))
    climbed = [_climb(subject, objective, space, rng, start, rounds) for start in found[:climbs]]
    return _worst_first([*climbed, NOTHING])[0]


def _promising(found: list[Found]) -> list[Found]:
    """Return the worst segments, and those with the largest change of the gradient.

    A narrow kink barely affects the quotient of a long segment, but fully affects the change.
    """

    def change(example: Found) -> float:
        return example.value * float(np.linalg.norm(np.subtract(*example.parameters)))

    by_change = sorted(found, key=lambda example: -example.value * change(example) ** 2)
    return [*found[:_BISECTED], *by_change[:_BISECTED]]


def _worst_first(found: Iterable[Found]) -> list[Found]:
    return sorted(found, key=lambda example: -example.value)


def measure(
    subject: Subject, objective: Objective, parameters: tuple[Array, ...], x: Array, y: Array
) -> Found:
    """Return the worst of several tuples of records at these parameters."""
    values = objective.at(subject, parameters, x, y)
    worst = int(values.argmax())
    return Found(float(values[worst]), parameters, x[worst], y[worst])


def _screen(
    subject: Subject, objective: Objective, space: SearchSpace, rng: np.random.Generator
) -> list[Found]:
    """Evaluate every starting point once."""
    found = []
    for frame in initial_points.frames(space, rng):
        x, y = initial_points.tuples(space, frame, objective.records, rng)
        points: Iterable[tuple[Array, ...]] = initial_points.segments(space, frame, rng)
        if objective.exponent is None:
            points = ((w,) for w in initial_points.parameters(space, frame, rng))
        found += [measure(subject, objective, parameters, x, y) for parameters in points]
    return found


def _bisect(subject: Subject, objective: Objective, start: Found) -> Found:
    """Halve a segment of parameters repeatedly, keeping the worse half.

    By the triangle inequality one half is at least as bad as the whole if the exponent is 1. This
    finds a narrow kink that steps of a fixed size would miss.
    """
    best, segment, stalled = start, start, 0
    while stalled < _PATIENCE:
        first, second = segment.parameters
        middle = (first + second) / 2
        size = float(np.linalg.norm(first)) + float(np.linalg.norm(second))
        if float(np.linalg.norm(first - middle)) <= CLOSEST * size:
            break
        halves = [
            measure(subject, objective, half, segment.x[None], segment.y[None])
            for half in ((first, middle), (middle, second))
        ]
        segment = _worst_first(halves)[0]
        stalled = 0 if segment.value > best.value * (1 + 1e-5) else stalled + 1
        best = _worst_first([best, segment])[0]
    return best


def _climb(
    subject: Subject,
    objective: Objective,
    space: SearchSpace,
    rng: np.random.Generator,
    start: Found,
    rounds: int,
) -> Found:
    """Take random steps, smaller ones while nothing improves.

    Each round tries one step of the parameters and a batch of steps of the records, since a loss
    takes many records but one parameter at a time.
    """
    best, step = start, 0.3
    for turn in range(rounds):
        moved = best.parameters if turn % 3 == 0 else _move(best.parameters, space, step, rng)
        x, y = _scatter(best, space, step, rng)
        tried = measure(subject, objective, moved, x, y)
        if tried.value > best.value * (1 + 1e-9):
            best, step = tried, min(1.5 * step, 1.0)
        else:
            step *= 0.75
        if step < _SMALLEST_STEP:
            break
    return best


def _move(
    parameters: tuple[Array, ...], space: SearchSpace, step: float, rng: np.random.Generator
) -> tuple[Array, ...]:
    """Return parameters nearby; two parameters move together and rotate about their midpoint."""
    if space.is_zero:
        return parameters
    middle = np.mean(parameters, axis=0)
    half = parameters[0] - middle
    apart = float(np.linalg.norm(half))
    scales = [float(np.linalg.norm(middle)), space.sizes[0], rng.choice(space.sizes), apart]
    middle = middle + _jump(middle, step * rng.choice(scales if apart else scales[:-1]), rng)
    if len(parameters) == 1:
        return (space.project(middle),)
    half = half * np.exp(step * rng.standard_normal()) + _jump(half, step * apart, rng)
    if rng.random() < 0.5:
        # One end stays: a kink of the loss is often worst with one end exactly on it.
        return parameters[0], space.project(parameters[0] - 2 * half)
    return space.project(middle + half), space.project(middle - half)


def _jump(point: Array, size: float, rng: np.random.Generator) -> Array:
    return np.asarray(rng.standard_normal(point.shape) * (size / np.sqrt(point.size)))


def _scatter(
    best: Found, space: SearchSpace, step: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return the records of the best example and a batch of others nearby."""
    size, features = best.x.shape
    lengths = step * space.domain.data_norm * 10 ** rng.uniform(-1.5, 0.0, (_BATCH, 1, 1))
    lengths = lengths * (rng.random((_BATCH, size, 1)) < rng.choice([0.4, 1.0]))
    x = best.x + lengths * rng.standard_normal((_BATCH, size, features))
    y = np.tile(best.y, (_BATCH, 1))
    relabelled = rng.random(y.shape) < 0.1
    y[relabelled] = rng.choice(np.array(space.labels), int(relabelled.sum()))
    x[0], y[0] = best.x, best.y
    return space.clip(x), y
