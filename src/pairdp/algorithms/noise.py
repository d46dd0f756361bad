"""Which mechanism a release gets."""

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
    LaplaceMechanism,
    Mechanism,
    NoMechanism,
    Part,
    Release,
    RepeatedDraws,
    Sensitivity,
)
from pairdp.privacy.accounting.gaussian import classical_multiplier, gdp_mu

Array = NDArray[np.float64]
# So that shares that add up to one do so in floats, too.
_SLACK = 1 - 2e-9


def output_release(
    name: str, task: Task, sensitivity: Sensitivity, printed: float, part: Part | None = None
) -> Release:
    """Return the release of one noisy output.

    Gaussian noise for δ > 0, K-norm noise for pure ε; by the papers' formulas, Gaussian
    noise of the textbook calibration and Laplace noise.

    Parameters
    ----------
    name : str
        What is released.
    task : Task
        Its budget and calibration.
    sensitivity : Sensitivity
        The certified one.
    printed : float
        The sensitivity that the paper prints, which its noise is made from.
    part : Part, optional
        The records that it touches.
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
            return KNormMechanism.calibrate(budget, sensitivity)
        return GaussianMechanism.calibrate(budget, sensitivity)
    if budget.is_pure:
        scale = printed * math.sqrt(task.dimension) / budget.epsilon
        return LaplaceMechanism(sensitivity, task.dimension, scale)
    return GaussianMechanism(sensitivity, printed * textbook(budget))


def textbook(budget: Budget) -> float:
    """Return √(2 ln(1.25/δ))/ε."""
    return classical_multiplier(budget.epsilon, budget.delta)


def add_noise(mechanism: Mechanism, value: Array, generator: np.random.Generator) -> Array:
    """Return a vector or symmetric matrix with the mechanism's noise."""
    if value.ndim == 2:
        return mechanism.release_symmetric(value, generator)
    return mechanism.release(value, generator)


def shared_release(
    name: str, task: Task, sensitivity: Sensitivity, dimension: int, share: float
) -> Release:
    """Return a release with its share of the budget: of μ² for Gaussian noise, of pure ε."""
    budget = task.budget
    if budget is None:
        return Release(name, NoMechanism(), None, dimension)
    mechanism: Mechanism
    spent = share * _SLACK
    if budget.is_pure:
        mechanism = KNormMechanism(sensitivity.value, sensitivity.value / (spent * budget.epsilon))
    else:
        mu = gdp_mu(budget.epsilon, budget.delta) * math.sqrt(spent)
        mechanism = GaussianMechanism(sensitivity.value, sensitivity.value / mu)
    return Release(name, mechanism, sensitivity, dimension)


def deviation(release: Release) -> float:
    """Return the standard deviation of the noise on each number of a release."""
    mechanism = release.mechanism
    if isinstance(mechanism, NoMechanism):
        return 0.0
    if isinstance(mechanism, KNormMechanism):
        return mechanism.scale * math.sqrt(release.dimension + 1)
    return mechanism.scale


MAX_NOISE_TO_SIGNAL = 2.0
"""The ratio of noise to the largest possible signal from which on a plan warns."""


def noise_length(release: Release) -> float:
    """Return about the expected Euclidean norm of the noise of one release."""
    p = release.dimension
    match release.mechanism:
        case GaussianMechanism(scale=scale):
            return scale * math.sqrt(p)
        case KNormMechanism(scale=scale):
            return scale * p
        case LaplaceMechanism(scale=scale):
            return scale * math.sqrt(2 * p)
    return 0.0


def noise_to_signal(release: Release, n: int, diameter: float = math.inf) -> float:
    r"""Return E|noise| over the largest signal: how far all records together move the release.

    Two data sets of m records are m replacements apart, so by the triangle inequality what is
    released moves by at most mΔ between any two of them, and by no more than the diameter of the
    set that it lies in. Nothing that distinguishes data sets is larger. For T releases of one kind
    (of gradients) the sums are compared, :math:`\sqrt T·E|z| / (T·mΔ)`.

    The largest signal is that of records which all lie on the edge of their ball, at two points;
    that of real records is ten or twenty times smaller. From a ratio of `MAX_NOISE_TO_SIGNAL` on,
    models are close to random.

    Parameters
    ----------
    release : Release
        What is released, with its noise and its sensitivity Δ.
    n : int
        Number of records.
    diameter : float
        Of the set that the released value lies in, in the units of Δ.
    """
    if release.sensitivity is None:
        return 0.0
    records = n if release.part is None else release.part.size
    if isinstance(release.sampling, FixedSizeSampling):
        records = release.sampling.size
    elif isinstance(release.sampling, RepeatedDraws):
        records = release.sampling.draws  # Δ is that of one draw
    signal = min(records * release.sensitivity.value, diameter)
    return noise_length(release) / (math.sqrt(release.count) * signal)
