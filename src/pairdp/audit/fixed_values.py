"""Noisy values of a plan whose noise alone can be drawn, since the noise before does not matter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pairdp.algorithms import Plan
from pairdp.audit.likelihood_ratios import NoisyValue, composed_distance, distance_in_noise
from pairdp.audit.methods import AuditSettings
from pairdp.audit.neighbours import Neighbours
from pairdp.audit.transcripts import record_both
from pairdp.privacy import GaussianMechanism, NoMechanism

_NEARLY_ALL, _COUNTING = 0.8, 10.0
_COMPARED_RUNS, _MORE_COMPARED_RUNS = 8, 50
Same = Callable[[NoisyValue, NoisyValue], bool]


def fixed_values(settings: AuditSettings, pair: Neighbours) -> tuple[list[NoisyValue], int] | None:
    """Return noisy values that do not depend on noise, and the number of all noisy values.

    Noise is continuous, so values that depend on it differ between two runs. Orders and draws of
    records are discrete, so several runs are compared. Of Gaussian noise, the likelihood ratio
    depends on the distance of the two values alone: it suffices that this is the same in all runs,
    as for counts in bins that follow from noisy ones. Such distances may be discrete too, and are
    compared in more runs. Attacking only some values is valid; None if it would lose too much.
    """
    plan = settings.plan
    runs = [_noisy_values(plan, pair, seed) for seed in range(_COMPARED_RUNS)]
    values = runs[0]
    if any(isinstance(value.mechanism, NoMechanism) for value in values):
        return None
    found = _same(runs, _are_equal)
    if composed_distance(_same(runs, _are_as_far)) > composed_distance(found):
        runs += [_noisy_values(plan, pair, seed) for seed in range(len(runs), _MORE_COMPARED_RUNS)]
        found = _same(runs, _are_as_far)
    enough = composed_distance(found) >= _least(settings, composed_distance(values))
    return (found, len(values)) if found and enough else None


def _least(settings: AuditSettings, distance: float) -> float:
    """Return the distance of fixed values from which drawing their noise shows more than runs.

    Half of the usual number of runs are counted, and both Clopper-Pearson bounds together lose
    about `_COUNTING` over the root of that number of μ: 4 standard deviations of each, at the
    centre.
    """
    lost = _COUNTING / math.sqrt(settings.usual_runs / 2)
    return min(_NEARLY_ALL * distance, max(distance - lost, 0.0))


def _noisy_values(plan: Plan, pair: Neighbours, seed: int) -> list[NoisyValue]:
    return [
        NoisyValue(here.mechanism, here.value, there.value)
        for here, there in zip(*record_both(plan, pair, seed), strict=True)
    ]


def _same(runs: Sequence[Sequence[NoisyValue]], same: Same) -> list[NoisyValue]:
    """Return the values of the first run that are the same in all runs."""
    return [
        value for i, value in enumerate(runs[0]) if all(same(value, other[i]) for other in runs)
    ]


def _are_equal(value: NoisyValue, other: NoisyValue) -> bool:
    return np.array_equal(value.one, other.one) and np.array_equal(value.other, other.other)


def _are_as_far(value: NoisyValue, other: NoisyValue) -> bool:
    if not isinstance(value.mechanism, GaussianMechanism):
        return _are_equal(value, other)
    found, expected = (distance_in_noise(v.mechanism, v.one, v.other) for v in (other, value))
    return math.isclose(found, expected, rel_tol=1e-9)
