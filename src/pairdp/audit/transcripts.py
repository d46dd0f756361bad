"""Transcripts: the values that a plan passes to its mechanisms, and their noisy outputs.

A plan with recording mechanisms runs the same code with the same noise, and every call is recorded.
The outputs of an earlier run can be replayed on another data set, so that its values are known
conditional on everything released before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from pairdp.algorithms import Fit, Plan
from pairdp.audit.likelihood_ratios import NoisyValue, composed_distance, log_likelihood_ratio
from pairdp.audit.neighbours import Neighbours
from pairdp.privacy import Mechanism, NoiseSource

Array = NDArray[np.float64]
Data = tuple[NDArray[Any], NDArray[Any]]
Observer = Callable[[Mechanism, Array, Array], Array]


class Call(NamedTuple):
    """One use of a mechanism: its input value and its noisy output."""

    mechanism: Mechanism
    value: Array
    noisy: Array


class Run(NamedTuple):
    """A recorded run of a plan."""

    calls: tuple[Call, ...]
    fit: Fit


@lru_cache(maxsize=16)
def _recording_class(kind: type[Any]) -> type[Any]:
    def add_to(self: Any, vector: Array, *noise: Any) -> Array:
        noisy = kind.add_to(self, vector, *noise)
        observed: Array = self.observer(self.original, vector.copy(), noisy)
        return observed

    def in_units(self: Any, unit: float) -> Mechanism:
        # What draws the noise may have been changed; observers are told what was planned.
        return _recording(kind.in_units(self, unit), self.observer, self.original.in_units(unit))

    members: dict[str, Any] = {"add_to": add_to}
    if hasattr(kind, "in_units"):
        members["in_units"] = in_units
    return type(f"Recording{kind.__name__}", (kind,), members)


def _recording(
    mechanism: Mechanism, observer: Observer, planned: Mechanism | None = None
) -> Mechanism:
    """Return a mechanism that passes its outputs to an observer, which may replace them."""
    # A subclass, since algorithms check the type of a mechanism.
    kind = _recording_class(type(mechanism))
    copy: Mechanism = object.__new__(kind)
    copy.__dict__.update(mechanism.__dict__, observer=observer, original=planned or mechanism)
    return copy


def _with_recording(plan: Plan, observer: Observer) -> Plan:
    """Return the plan with recording mechanisms in its releases."""
    releases = []
    for release in plan.certificate.releases:
        changed = replace(release)
        # Bypasses the check that a release has a mechanism of a known class.
        object.__setattr__(changed, "mechanism", _recording(release.mechanism, observer))
        releases.append(changed)
    return replace(plan, certificate=replace(plan.certificate, releases=tuple(releases)))


def records_for(plan: Plan, data: Data) -> Any:
    """Return the records of a data set; those that are null have NaN.

    The rows that differ between neighbours are at most those of one unit that are used. So, for a
    plan with units, every row may count as a unit of its own: none is beyond the limit.
    """
    if plan.task.unit is None:
        return plan.problem.records(*data, invalid="null")
    return plan.read([(*data, np.arange(len(data[1])))], invalid="null")


def record_run(
    plan: Plan,
    data: Data,
    seed: int,
    outputs: Sequence[Array] | None = None,
    *,
    noiseless: bool = False,
) -> Run:
    """Run a plan and record all calls of its mechanisms.

    Parameters
    ----------
    plan : Plan
        The plan to run.
    data : tuple of arrays
        Features and labels.
    seed : int
        The seed of the noise and of draws of records.
    outputs : sequence of array, optional
        Outputs to replay in place of the mechanisms' own.
    noiseless : bool
        Whether mechanisms return their values without noise.
    """
    calls: list[Call] = []

    def observer(mechanism: Mechanism, value: Array, noisy: Array) -> Array:
        if outputs is not None:
            noisy = outputs[len(calls)]
        elif noiseless:
            noisy = value
        calls.append(Call(mechanism, value, np.array(noisy)))
        return noisy.copy()

    records = records_for(plan, data)
    fit = _with_recording(plan, observer).run(records, NoiseSource(seed), progress=False)
    return Run(tuple(calls), fit)


def record_both(
    plan: Plan, pair: Neighbours, seed: int, *, on_other: bool = False, noiseless: bool = False
) -> tuple[tuple[Call, ...], tuple[Call, ...]]:
    """Return the calls of one run, and the corresponding calls on the neighbouring data set.

    The second run replays the outputs of the first, so that values are compared given the same
    past. The calls of the one data set come first, whichever was run.
    """
    here, there = (pair.other, pair.one) if on_other else (pair.one, pair.other)
    first = record_run(plan, here, seed, noiseless=noiseless).calls
    second = record_run(plan, there, seed, [call.noisy for call in first]).calls
    if len(first) != len(second):
        raise ValueError('the number of noisy values depends on the data: use view="release"')
    return (second, first) if on_other else (first, second)


def distance(plan: Plan, pair: Neighbours, seed: int = 0, *, noiseless: bool = True) -> float:
    """Return the distance of neighbours in all noisy values of a run, in units of the noise.

    It is the μ of the run for Gaussian noise and ε for pure noise; their sum if it has both.
    """
    one, other = record_both(plan, pair, seed, noiseless=noiseless)
    return composed_distance(
        NoisyValue(here.mechanism, here.value, there.value)
        for here, there in zip(one, other, strict=True)
    )


@dataclass(frozen=True, eq=False)
class TranscriptScores:
    """A function that runs a plan on either of two neighbours, and scores its transcript.

    The first score is the log-likelihood ratio given all earlier outputs, the best possible attack
    if all noise is fresh. The second detects reused noise: it compares the least distance of two
    residuals of the run under the one data set with that under the other.
    """

    plan: Plan
    pair: Neighbours

    def __call__(self, on_other: bool, seed: int) -> Array:
        """Return the scores of one run."""
        one, other = record_both(self.plan, self.pair, seed, on_other=on_other)
        ratio = sum(
            log_likelihood_ratio(here.mechanism, here.noisy, here.value, there.value)
            for here, there in zip(one, other, strict=True)
        )
        return np.array([ratio, _closest(one) - _closest(other)])


def _closest(calls: Sequence[Call]) -> float:
    """Return the log of the least distance of two residuals, in units of their noise."""
    residuals: dict[int, list[Array]] = {}
    for call in calls:
        scale = getattr(call.mechanism, "scale", 1.0)
        residuals.setdefault(call.value.size, []).append((call.noisy - call.value) / scale)
    least = 1.0
    for same_size in residuals.values():
        if len(same_size) > 1:
            least = min(least, float(pdist(np.array(same_size), "chebyshev").min()))
    return math.log(max(least, 1e-12))
