"""The mechanism of each release, and how large its noise is compared with the signal."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.task import Task
from pairdp.privacy import (
    Budget,
    FixedSizeSampling,
    GaussianMechanism,
    KNormMechanism,
    L1LaplaceMechanism,
    LaplaceMechanism,
    Mechanism,
    NoMechanism,
    Part,
    Release,
    RepeatedDraws,
    Sensitivity,
)
from pairdp.privacy.accounting.gaussian import classical_multiplier, gdp_mu
from pairdp.privacy.mechanisms.repeated_release import RepeatedRelease

Array = NDArray[np.float64]
# Keeps the sum of shares at or below one in floating point.
_SLACK = 1 - 2e-9


def output_release(
    name: str, task: Task, sensitivity: Sensitivity, printed: float, part: Part | None = None
) -> Release:
    """Return the release of one output.

    Certified noise is Gaussian for δ > 0 and K-norm noise for pure ε; printed noise is Gaussian
    with the textbook calibration, or Laplace.

    Parameters
    ----------
    name : str
        What is released.
    task : Task
        The budget and the calibration.
    sensitivity : Sensitivity
        The certified sensitivity.
    printed : float
        The sensitivity that the paper prints, which printed noise is calibrated to.
    part : Part, optional
        The records that the output depends on.
    """
    mechanism = _output_mechanism(task, sensitivity.value, printed)
    stated = None if isinstance(mechanism, NoMechanism) else sensitivity
    return Release(name, mechanism, stated, task.dimension, part=part)


def _output_mechanism(task: Task, sensitivity: float, printed: float) -> Mechanism:
    budget = task.budget
    if budget is None:
        return NoMechanism()
    if not task.is_printed:
        if budget.is_pure:
            return KNormMechanism.calibrate(budget, sensitivity, dimension=task.dimension)
        return GaussianMechanism.calibrate(budget, sensitivity, dimension=task.dimension)
    if budget.is_pure:
        scale = printed * math.sqrt(task.dimension) / budget.epsilon
        return LaplaceMechanism(sensitivity, scale, task.dimension)
    return GaussianMechanism(sensitivity, printed * textbook(budget), task.dimension)


def textbook(budget: Budget) -> float:
    """Return √(2 ln(1.25/δ))/ε."""
    return classical_multiplier(budget.epsilon, budget.delta)


def add_noise(
    mechanism: Mechanism | RepeatedRelease, value: Array, generator: np.random.Generator
) -> Array:
    """Return a vector or symmetric matrix with the mechanism's noise."""
    if value.ndim == 2:
        return mechanism.release_symmetric(value, generator)
    return mechanism.release(value, generator)


def shared_release(
    name: str, task: Task, sensitivity: Sensitivity, dimension: int, share: float
) -> Release:
    """Return a release with a share of the budget: of μ² for Gaussian noise, of ε for pure ε."""
    budget = task.budget
    if budget is None:
        return Release(name, NoMechanism(), None, dimension)
    mechanism: Mechanism
    spent = share * _SLACK
    if budget.is_pure:
        epsilon = spent * budget.epsilon
        mechanism = KNormMechanism.for_epsilon(epsilon, sensitivity.value, dimension)
    else:
        mu = gdp_mu(budget.epsilon, budget.delta) * math.sqrt(spent)
        mechanism = GaussianMechanism.for_mu(mu, sensitivity.value, dimension)
    return Release(name, mechanism, sensitivity, dimension)


def deviation(release: Release) -> float:
    """Return the standard deviation of the noise on each entry of a release."""
    mechanism = release.mechanism
    if isinstance(mechanism, NoMechanism):
        return 0.0
    if isinstance(mechanism, KNormMechanism):
        return mechanism.scale * math.sqrt(release.dimension + 1)
    if isinstance(mechanism, LaplaceMechanism | L1LaplaceMechanism):
        return mechanism.scale * math.sqrt(2)
    return mechanism.scale


MAX_NOISE_TO_SIGNAL = 2.0
"""The ratio of noise to the largest possible signal at and above which a plan warns."""


def noise_length(release: Release) -> float:
    """Return approximately the expected Euclidean norm of the noise of one release."""
    p = release.dimension
    match release.mechanism:
        case GaussianMechanism(scale=scale):
            return scale * math.sqrt(p)
        case KNormMechanism(scale=scale):
            return scale * p
        case LaplaceMechanism(scale=scale) | L1LaplaceMechanism(scale=scale):
            return scale * math.sqrt(2 * p)
    return 0.0


def noise_reach(release: Release) -> float:
    """Return a length that the noise of one release exceeds with a probability below e⁻⁷⁰⁰.

    For standard normal numbers P(|z| > √p + t) ≤ exp(-t²/2). The norms of the others are at most
    those of a sum of p + 1 exponential numbers, and P(sum > x) ≤ 2^(p+1)·exp(-x/2).
    """
    p = release.dimension
    match release.mechanism:
        case GaussianMechanism(scale=scale):
            return scale * (math.sqrt(p) + 40)
        case (
            KNormMechanism(scale=scale)
            | LaplaceMechanism(scale=scale)
            | L1LaplaceMechanism(scale=scale)
        ):
            return scale * 2 * (p + 801)
    return 0.0


def noise_to_signal(release: Release, n: int, diameter: float = math.inf) -> float:
    r"""Return E|noise| divided by the largest signal, the change if all records are replaced.

    Two data sets of m records differ by at most m replacements, so by the triangle inequality their
    released values differ by at most mΔ (by mΔ/k if Δ is for k records of a unit), and by no more
    than the diameter of the set of values. For T releases of one kind (gradients) the sums are
    compared, :math:`\sqrt T·E|z| / (T·mΔ)`.

    The largest signal occurs if all records lie at two points on the boundary of their ball; that
    of real records is ten or twenty times smaller. At ratios of `MAX_NOISE_TO_SIGNAL` and above,
    models are close to random.

    Parameters
    ----------
    release : Release
        The release, with its noise and sensitivity Δ.
    n : int
        Number of records.
    diameter : float
        The diameter of the set of released values, in the units of Δ.
    """
    if release.sensitivity is None:
        return 0.0
    records = n if release.part is None else release.part.size
    if isinstance(release.sampling, FixedSizeSampling):
        records = release.sampling.size
    elif isinstance(release.sampling, RepeatedDraws):
        records = release.sampling.draws  # Δ is per draw
    signal = min(records * release.sensitivity.value / release.sensitivity.records, diameter)
    return noise_length(release) / (math.sqrt(release.count) * signal)
