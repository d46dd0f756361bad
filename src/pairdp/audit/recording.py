"""Reading along: what reaches the mechanisms of a plan, and what they answer.

A tapped plan runs the same code with the same noise, and every call of a mechanism is written
down. The answers of an earlier run can be given again, so that the values of another data set
are known given all that was released before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist

from pairdp.algorithms import Fit, Plan
from pairdp.audit.densities import NoisyValue, log_likelihood_ratio, together
from pairdp.audit.neighbours import Neighbours
from pairdp.privacy import Mechanism, NoiseSource

Array = NDArray[np.float64]
Data = tuple[NDArray[Any], NDArray[Any]]
Listener = Callable[[Mechanism, Array, Array], Array]


class Call(NamedTuple):
    """One use of a mechanism: the value it was given, and what it answered."""

    mechanism: Mechanism
    value: Array
    answer: Array


class Run(NamedTuple):
    """A run of a tapped plan."""

    calls: tuple[Call, ...]
    fit: Fit


@lru_cache(maxsize=16)
def _kind_with_tap(kind: type[Any]) -> type[Any]:
    def release(self: Any, value: ArrayLike, generator: np.random.Generator) -> Array:
        answer = kind.release(self, value, generator)
        found: Array = self.listener(self.original, np.array(value, dtype=np.float64), answer)
        return found

    return type(f"Tapped{kind.__name__}", (kind,), {"release": release})


def _tapped(mechanism: Mechanism, listener: Listener) -> Mechanism:
    """Return the mechanism with a listener that sees its answers, and may replace them."""
    # Of the same kind, as algorithms ask what they have.
    kind = _kind_with_tap(type(mechanism))
    copy: Mechanism = object.__new__(kind)
    copy.__dict__.update(mechanism.__dict__, listener=listener, original=mechanism)
    return copy


def _with_taps(plan: Plan, listener: Listener) -> Plan:
    """Return the plan with tapped mechanisms in its releases."""
    releases = []
    for release in plan.certificate.releases:
        changed = replace(release)
        # Past the check that a release has a mechanism of a known class.
        object.__setattr__(changed, "mechanism", _tapped(release.mechanism, listener))
        releases.append(changed)
    return replace(plan, certificate=replace(plan.certificate, releases=tuple(releases)))


def listen(
    plan: Plan,
    data: Data,
    seed: int,
    answers: Sequence[Array] | None = None,
    *,
    noiseless: bool = False,
) -> Run:
    """Run a plan with taps on its mechanisms.

    Parameters
    ----------
    plan : Plan
        What to run.
    data : tuple of arrays
        Features and labels.
    seed : int
        Of the noise, and of draws of records.
    answers : sequence of array, optional
        What the mechanisms shall answer.
    noiseless : bool
        Whether they shall answer the values as they are.
    """
    calls: list[Call] = []

    def listener(mechanism: Mechanism, value: Array, answer: Array) -> Array:
        if answers is not None:
            answer = answers[len(calls)]
        elif noiseless:
            answer = value
        calls.append(Call(mechanism, value, np.array(answer)))
        return answer.copy()

    records = plan.problem.records(*data, invalid="null")
    fit = _with_taps(plan, listener).run(records, NoiseSource(seed), progress=False)
    return Run(tuple(calls), fit)


def listen_to_both(
    plan: Plan, pair: Neighbours, seed: int, *, on_other: bool = False, noiseless: bool = False
) -> tuple[tuple[Call, ...], tuple[Call, ...]]:
    """Return the calls of one run, and what they would have been on the neighbour.

    The second run gets the answers of the first: values are compared given the same past.
    The calls of the one data set come first, whichever was run.
    """
    here, there = (pair.other, pair.one) if on_other else (pair.one, pair.other)
    first = listen(plan, here, seed, noiseless=noiseless).calls
    second = listen(plan, there, seed, [call.answer for call in first]).calls
    if len(first) != len(second):
        raise ValueError("the number of noisy values depends on the data: audit the output itself")
    return (second, first) if on_other else (first, second)


def distance(plan: Plan, pair: Neighbours, seed: int = 0, *, noiseless: bool = True) -> float:
    """Return how far neighbours are apart in all noisy values of a run, in units of the noise.

    It is the μ of the run for Gaussian noise, and ε for pure noise; of both, their sum.
    """
    one, other = listen_to_both(plan, pair, seed, noiseless=noiseless)
    return together(
        NoisyValue(here.mechanism, here.value, there.value)
        for here, there in zip(one, other, strict=True)
    )


@dataclass(frozen=True, eq=False)
class TranscriptScores:
    """Runs a plan on either of two neighbours, and scores everything its mechanisms answered.

    The scores are two. The first is the log-likelihood ratio, given all earlier answers, which no
    attack beats where noise is fresh. The second is for noise that is not: how close two residuals
    of one run come to each other if the data is the other, against the one.
    """

    plan: Plan
    pair: Neighbours

    def __call__(self, on_other: bool, seed: int) -> Array:
        """Return the scores of one run."""
        one, other = listen_to_both(self.plan, self.pair, seed, on_other=on_other)
        ratio = sum(
            log_likelihood_ratio(here.mechanism, here.answer, here.value, there.value)
            for here, there in zip(one, other, strict=True)
        )
        return np.array([ratio, _closest(one) - _closest(other)])


def _closest(calls: Sequence[Call]) -> float:
    """Return ln of the least distance of two residuals, in units of their noise."""
    residuals: dict[int, list[Array]] = {}
    for call in calls:
        scale = getattr(call.mechanism, "scale", 1.0)
        residuals.setdefault(call.value.size, []).append((call.answer - call.value) / scale)
    least = 1.0
    for alike in residuals.values():
        if len(alike) > 1:
            least = min(least, float(pdist(np.array(alike), "chebyshev").min()))
    return math.log(max(least, 1e-12))
