"""A search for records and parameters that break a declared constant.

The search is only ever a lower bound on the true constant: what it finds is a real
example, what it does not find may still exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.testing._loss_checks import initial_points
from pairdp.testing._loss_checks.objectives import CLOSEST, Question
from pairdp.testing._loss_checks.search_space import Ground, Subject

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


def attack(
    subject: Subject,
    question: Question,
    ground: Ground,
    rng: np.random.Generator,
    known: Sequence[Found] = (),
) -> Found:
    """Return the worst example that a search finds.

    Parameters
    ----------
    subject, question, ground
        The loss, what is sought, and where.
    rng : numpy.random.Generator
        Decides where to look.
    known : sequence of Found
        Examples to start from, instead of the usual ones: they are thought to be the worst,
        and only a short search tries to do better.
    """
    climbs, rounds = (1, 15) if known else (2, 120)
    found = _worst_first(known or _screen(subject, question, ground, rng))
    if question.exponent:
        found = _worst_first(_bisect(subject, question, start) for start in _promising(found))
    climbed = [_climb(subject, question, ground, rng, start, rounds) for start in found[:climbs]]
    return _worst_first([*climbed, NOTHING])[0]


def _promising(found: list[Found]) -> list[Found]:
    """Return the worst segments, and those on which the gradient changes most for their length.

    A narrow corner hardly shows in the quotient of a long segment, and fully in the change.
    """

    def change(example: Found) -> float:
        return example.value * float(np.linalg.norm(np.subtract(*example.parameters)))

    by_change = sorted(found, key=lambda example: -example.value * change(example) ** 2)
    return [*found[:_BISECTED], *by_change[:_BISECTED]]


def _worst_first(found: Iterable[Found]) -> list[Found]:
    return sorted(found, key=lambda example: -example.value)


def measure(
    subject: Subject, question: Question, parameters: tuple[Array, ...], x: Array, y: Array
) -> Found:
    """Return the worst of several tuples of records at these parameters."""
    values = question.at(subject, parameters, x, y)
    worst = int(values.argmax())
    return Found(float(values[worst]), parameters, x[worst], y[worst])


def _screen(
    subject: Subject, question: Question, ground: Ground, rng: np.random.Generator
) -> list[Found]:
    """Look at every start once."""
    found = []
    for frame in initial_points.frames(ground, rng):
        x, y = initial_points.tuples(ground, frame, question.records, rng)
        places: Iterable[tuple[Array, ...]] = initial_points.segments(ground, frame, rng)
        if question.exponent is None:
            places = ((w,) for w in initial_points.parameters(ground, frame, rng))
        found += [measure(subject, question, parameters, x, y) for parameters in places]
    return found


def _bisect(subject: Subject, question: Question, start: Found) -> Found:
    """Halve a segment of parameters again and again, keeping the half that is worse.

    By the triangle inequality one half is at least as bad as the whole when the exponent
    is 1: this walks into a narrow corner that steps of a fixed size would jump over.
    """
    best, segment, stalled = start, start, 0
    while stalled < _PATIENCE:
        first, second = segment.parameters
        middle = (first + second) / 2
        size = float(np.linalg.norm(first)) + float(np.linalg.norm(second))
        if float(np.linalg.norm(first - middle)) <= CLOSEST * size:
            break
        halves = [
            measure(subject, question, half, segment.x[None], segment.y[None])
            for half in ((first, middle), (middle, second))
        ]
        segment = _worst_first(halves)[0]
        stalled = 0 if segment.value > best.value * (1 + 1e-5) else stalled + 1
        best = _worst_first([best, segment])[0]
    return best


def _climb(
    subject: Subject,
    question: Question,
    ground: Ground,
    rng: np.random.Generator,
    start: Found,
    rounds: int,
) -> Found:
    """Take random steps that shrink while nothing improves.

    Parameters take one step a round, records a batch of steps, since a loss takes many
    records at once and one parameter.
    """
    best, step = start, 0.3
    for turn in range(rounds):
        moved = best.parameters if turn % 3 == 0 else _move(best.parameters, ground, step, rng)
        x, y = _scatter(best, ground, step, rng)
        tried = measure(subject, question, moved, x, y)
        if tried.value > best.value * (1 + 1e-9):
            best, step = tried, min(1.5 * step, 1.0)
        else:
            step *= 0.75
        if step < _SMALLEST_STEP:
            break
    return best


def _move(
    parameters: tuple[Array, ...], ground: Ground, step: float, rng: np.random.Generator
) -> tuple[Array, ...]:
    """Return parameters nearby; of two, both move together and turn about their middle."""
    if ground.still:
        return parameters
    middle = np.mean(parameters, axis=0)
    half = parameters[0] - middle
    apart = float(np.linalg.norm(half))
    scales = [float(np.linalg.norm(middle)), ground.sizes[0], rng.choice(ground.sizes), apart]
    middle = middle + _jump(middle, step * rng.choice(scales if apart else scales[:-1]), rng)
    if len(parameters) == 1:
        return (ground.admit(middle),)
    half = half * np.exp(step * rng.standard_normal()) + _jump(half, step * apart, rng)
    if rng.random() < 0.5:
        # One end stays: a corner of the loss is often worst with one end exactly on it.
        return parameters[0], ground.admit(parameters[0] - 2 * half)
    return ground.admit(middle + half), ground.admit(middle - half)


def _jump(point: Array, size: float, rng: np.random.Generator) -> Array:
    return np.asarray(rng.standard_normal(point.shape) * (size / np.sqrt(point.size)))


def _scatter(
    best: Found, ground: Ground, step: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return the records of the best example and a batch of others nearby."""
    size, features = best.x.shape
    lengths = step * ground.domain.data_norm * 10 ** rng.uniform(-1.5, 0.0, (_BATCH, 1, 1))
    lengths = lengths * (rng.random((_BATCH, size, 1)) < rng.choice([0.4, 1.0]))
    x = best.x + lengths * rng.standard_normal((_BATCH, size, features))
    y = np.tile(best.y, (_BATCH, 1))
    relabelled = rng.random(y.shape) < 0.1
    y[relabelled] = rng.choice(np.array(ground.labels), int(relabelled.sum()))
    x[0], y[0] = best.x, best.y
    return ground.clip(x), y
