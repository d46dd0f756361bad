"""How large the noise of a plan is against anything that records can say, from public facts."""

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
