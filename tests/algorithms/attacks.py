"""Attacks on sensitivities: neighbouring data sets, and what a plan puts into its noise.

`moved` runs a plan on two neighbours with its mechanisms tapped. What reaches a mechanism
is kept, and the second run is answered with what the first one released: a
sensitivity must hold given all that was released before, whatever the noise was.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from pairdp import NoiseSource
from pairdp.algorithms import Plan
from pairdp.privacy import (
    GaussianMechanism,
    KNormMechanism,
    L1LaplaceMechanism,
    NoMechanism,
    Release,
    Sensitivity,
)
from pairdp.records import Records

Array = NDArray[np.float64]
SEED = 3


@dataclass(frozen=True)
class Neighbours:
    """Two data sets that differ in the record at one place; a row of NaN is a null record."""

    x: Array
    y: Array
    place: int
    other_x: Array
    other_y: float

    def both(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        x, y = self.x.copy(), self.y.copy()
        x[self.place], y[self.place] = self.other_x, self.other_y
        return (self.x, self.y), (x, y)


def without_noise(plan: Plan) -> Plan:
    """Return the plan with the same settings and no noise, as the baseline it then is."""
    releases = tuple(
        Release(r.name, NoMechanism(), None, r.dimension, part=r.part)
        for r in plan.certificate.releases
    )
    certificate = replace(plan.certificate, budget=None, calibration="none", releases=releases)
    return replace(plan, task=replace(plan.task, budget=None), certificate=certificate)


def tampered(plan: Plan, factor: float) -> Plan:
    """Return the plan with its sensitivities scaled, as a wrong proof would have them."""
    releases = []
    for release in plan.certificate.releases:
        stated = release.sensitivity
        less = Sensitivity(stated.bound, stated.inputs, factor * stated.value)
        mechanism = replace(release.mechanism, sensitivity=less.value)
        releases.append(replace(release, mechanism=mechanism, sensitivity=less))
    return replace(plan, certificate=replace(plan.certificate, releases=tuple(releases)))


def transcript(
    plan: Plan, records: Records, kick: float = 0.0, answers: list[Array] | None = None
) -> tuple[list[Array], list[Array], Array]:
    """Return what the mechanisms of a run were given, what they answered, and its result."""
    values: list[Array] = []
    given: list[Array] = []
    rng = np.random.default_rng(SEED)

    def add_to(mechanism: object, value: Array, noise: object) -> Array:
        values.append(np.array(value))
        noisy = value + kick * rng.normal(size=np.shape(value))
        given.append(noisy if answers is None else answers[len(given)])
        return given[-1]

    with ExitStack() as patched:
        for mechanism in (GaussianMechanism, KNormMechanism, L1LaplaceMechanism):
            patched.enter_context(patch.object(mechanism, "add_to", add_to))
        fit = plan.run(records, NoiseSource(SEED), progress=False)
    return values, given, fit.parameters


def moved(plan: Plan, pair: Neighbours, kick: float = 0.0) -> list[float]:
    """Return how far each released value moves, as a share of its stated sensitivity."""
    first, second = (plan.problem.records(x, y, invalid="null") for x, y in pair.both())
    values, answers, _ = transcript(plan, first, kick)
    others, _, _ = transcript(plan, second, kick, answers)
    stated = [r.sensitivity.value for r in plan.certificate.releases for _ in range(r.count)]
    norms = [
        1 if isinstance(r.mechanism, L1LaplaceMechanism) else 2
        for r in plan.certificate.releases
        for _ in range(r.count)
    ]
    return [
        float(np.linalg.norm(value - other, ord=norm)) / bound
        for value, other, bound, norm in zip(values, others, stated, norms, strict=True)
    ]


def staged(n: int, norm: float, place: int) -> Iterator[Neighbours]:
    """Yield the worst cases of the errata: all others at the farthest partner."""
    e, f = np.array([norm, 0.0]), np.array([0.0, norm])
    for label in (-1.0, 1.0):
        x, y = np.tile(-e, (n, 1)), np.full(n, label)
        for own, sign, other, other_sign in (
            (e, -1, e, 1),  # the label flips, and with it a record alone in its class
            (e, -1, -e, 1),  # it flips and joins the others
            (e, -1, -e, -1),  # the label stays
            (e, 1, -e, 1),  # it stays, in the class of the others
            (f, -1, e, -1),  # it stays and turns
        ):
            own_x, own_y = x.copy(), y.copy()
            own_x[place], own_y[place] = own, sign * label
            yield Neighbours(own_x, own_y, place, other, other_sign * label)


def drawn(n: int, norm: float, place: int, rng: np.random.Generator) -> Neighbours:
    """Return random neighbours; now and then the record is alone in its class."""
    x, y = rng.normal(size=(n, 2)) * norm * rng.choice([0.5, 3.0]), rng.choice([-1.0, 1.0], n)
    if rng.random() < 0.3:
        y[:], y[place] = -1.0, 1.0
    return Neighbours(x, y, place, 3 * norm * rng.normal(size=2), float(rng.choice([-1, 1])))


def with_null(
    n: int, norm: float, place: int, rng: np.random.Generator, count: int = 4
) -> Iterator[Neighbours]:
    """Yield neighbours one of which has a null record at a place: z → null, and null → z.

    All others are the worst partner or random ones, and some of them may be null, too.
    """
    pairs = [*staged(n, norm, place), *(drawn(n, norm, place, rng) for _ in range(count))]
    nothing = np.full(2, np.nan)
    for i, pair in enumerate(pairs):
        x = pair.x.copy()
        if i % 2:
            x[(rng.random(n) < 0.3) & (np.arange(n) != place)] = np.nan
        yield Neighbours(x, pair.y, place, nothing, pair.y[place])
        without = x.copy()
        without[place] = nothing
        yield Neighbours(without, pair.y, place, pair.other_x, pair.other_y)


def nearby(pair: Neighbours, norm: float, rng: np.random.Generator) -> Neighbours:
    """Return neighbours like these with some records shifted and some labels flipped."""
    step = norm * 10.0 ** rng.uniform(-2, 0)
    x = pair.x + step * rng.normal(size=pair.x.shape) * (rng.random((len(pair.y), 1)) < 0.5)
    y = np.where(rng.random(len(pair.y)) < 0.1, -pair.y, pair.y)
    return Neighbours(
        x, y, pair.place, pair.other_x + step * rng.normal(size=2), math.copysign(1, pair.other_y)
    )


def places(plan: Plan) -> list[int]:
    """Return the first, middle and last record, and the first of every part."""
    found, start = {0, plan.task.n // 2, plan.task.n - 1}, 0
    for release in plan.certificate.releases:
        if release.part is not None:
            found.add(start)
            start += release.part.size
    return sorted(found)


def attack(plan: Plan, enough: float = math.inf, tries: int = 2, climbs: int = 6) -> float:
    """Return the largest share of its sensitivity that a search moves any release by.

    The search takes the worst cases and random ones at every place, and then climbs from the
    best; it stops once a share is above ``enough``.
    """
    rng, norm, n = np.random.default_rng(0), plan.problem.data_norm, plan.task.n
    several = sum(r.count for r in plan.certificate.releases) > 1
    kicks = (0.0, 1.0) if several else (0.0,)  # noise moves where later ones start from
    worst, best = -1.0, (drawn(n, norm, 0, rng), 0.0)
    starts = [
        (pair, kick)
        for place in places(plan)
        for pair in (*staged(n, norm, place), *(drawn(n, norm, place, rng) for _ in range(tries)))
        for kick in kicks
    ]
    for i in range(len(starts) + climbs):
        case = starts[i] if i < len(starts) else (nearby(best[0], norm, rng), best[1])
        found = max(moved(plan, *case))
        if found > worst:
            worst, best = found, case
        if worst > enough:
            break
    return worst


def survives(plan: Plan) -> bool:
    """Return whether no attack moves a release by more than its stated sensitivity."""
    return attack(plan, enough=1.0) <= 1
