"""The ratio of the noise of a plan to the largest possible signal, from public facts."""

from __future__ import annotations

import math

from pairdp.privacy import (
    FixedSizeSampling,
    GaussianMechanism,
    KNormMechanism,
    LaplaceMechanism,
    Release,
    RepeatedDraws,
)

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
        case LaplaceMechanism(scale=scale):
            return scale * math.sqrt(2 * p)
    return 0.0


def noise_to_signal(release: Release, n: int, diameter: float = math.inf) -> float:
    r"""Return E|noise| divided by the largest signal, the change if all records are replaced.

    Two data sets of m records differ by at most m replacements, so by the triangle inequality their
    released values differ by at most mΔ, and by no more than the diameter of the set of values. For
    T releases of one kind (gradients) the sums are compared, :math:`\sqrt T·E|z| / (T·mΔ)`.

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
    signal = min(records * release.sensitivity.value, diameter)
    return noise_length(release) / (math.sqrt(release.count) * signal)
