"""Attacks on the sensitivities of plans for units: all rows of one unit are replaced at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms import Plan
from tests.algorithms.attacks import transcript

Array = NDArray[np.float64]
NULL = np.full(2, np.nan)


@dataclass(frozen=True)
class UnitNeighbours:
    """Two data sets that differ in the rows of one unit; a row of NaN is a null record."""

    x: Array
    y: Array
    rows: tuple[int, ...]
    other_x: Array
    other_y: Array

    @property
    def groups(self) -> list[str]:
        """The unit of each row; every other row is a unit of its own."""
        return ["unit" if i in self.rows else f"other {i}" for i in range(len(self.y))]

    def both(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        x, y = self.x.copy(), self.y.copy()
        x[list(self.rows)], y[list(self.rows)] = self.other_x, self.other_y
        return (self.x, self.y), (x, y)


def moved(plan: Plan, pair: UnitNeighbours, kick: float = 0.0) -> list[float]:
    """Return how far each released value moves, as a share of its stated sensitivity."""
    first, second = (plan.read([(x, y, pair.groups)], invalid="null") for x, y in pair.both())
    values, answers, _ = transcript(plan, first, kick)
    others, _, _ = transcript(plan, second, kick, answers)
    stated = [r.sensitivity.value for r in plan.certificate.releases for _ in range(r.count)]
    return [
        float(np.linalg.norm(value - other)) / bound
        for value, other, bound in zip(values, others, stated, strict=True)
    ]


def staged(n: int, norm: float, rows: tuple[int, ...]) -> Iterator[UnitNeighbours]:
    """Yield the worst cases for one record, for all rows of a unit at once."""
    e, f = np.array([norm, 0.0]), np.array([0.0, norm])
    places = list(rows)
    for label in (-1.0, 1.0):
        for own, sign, other, other_sign in (
            (e, -1, e, 1),  # the labels flip, and with them the only records of a class
            (e, -1, -e, 1),  # they flip, and join the others
            (e, -1, -e, -1),  # the labels stay
            (e, 1, -e, 1),  # they stay, in the class of the others
            (f, -1, e, -1),  # they stay, and the records turn
            (e, -1, NULL, -1),  # the unit is removed
            (NULL, 1, e, -1),  # it is added
        ):
            x, y = np.tile(-e, (n, 1)), np.full(n, label)
            x[places], y[places] = own, sign * label
            k = len(rows)
            yield UnitNeighbours(x, y, rows, np.tile(other, (k, 1)), np.full(k, other_sign * label))


def drawn(n: int, norm: float, rows: tuple[int, ...], rng: np.random.Generator) -> UnitNeighbours:
    """Return random neighbours; some of their records are null."""
    k = len(rows)
    x, y = rng.normal(size=(n, 2)) * norm, rng.choice([-1.0, 1.0], n)
    if rng.random() < 0.3:
        y[:], y[list(rows)] = -1.0, 1.0
    x[rng.random(n) < 0.1] = np.nan
    other_x = 3 * norm * rng.normal(size=(k, 2))
    other_x[rng.random(k) < 0.2] = np.nan
    return UnitNeighbours(x, y, rows, other_x, rng.choice([-1.0, 1.0], k))


def row_sets(n: int, k: int) -> list[tuple[int, ...]]:
    """Return rows of a unit: the first, the last, in the middle, apart, and more than are used."""
    middle = (n - k) // 2
    sets = [
        tuple(range(k)),
        tuple(range(n - k, n)),
        tuple(range(middle, middle + k)),
        tuple(int(i) for i in np.linspace(0, n - 1, k)),
        tuple(range(k + 1)),
    ]
    return [rows for rows in sets if len(rows) < n]


def attack(plan: Plan, tries: int = 1, enough: float = math.inf) -> float:
    """Return the largest share of its sensitivity that replacing a unit moves any release by.

    The search stops once a share is above ``enough``.
    """
    rng, norm, n = np.random.default_rng(0), plan.problem.data_norm, plan.task.n
    several = sum(r.count for r in plan.certificate.releases) > 1
    kicks = (0.0, 1.0) if several else (0.0,)  # noise moves where later ones start from
    worst = 0.0
    for rows in row_sets(n, plan.task.records):
        for pair in (*staged(n, norm, rows), *(drawn(n, norm, rows, rng) for _ in range(tries))):
            for kick in kicks:
                worst = max(worst, *moved(plan, pair, kick))
                if worst > enough:
                    return worst
    return worst
