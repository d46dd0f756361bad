"""What releases pay for rounding to their grid, computed a second time."""

from __future__ import annotations

import math
from fractions import Fraction

from pairdp.privacy.accounting.events import GaussianEvent, PureEvent, SampledEvent
from pairdp.privacy.accounting.sampling import PoissonSampling, RepeatedDraws
from pairdp.privacy.certificates.release import HIDDEN_ITERATES, Release
from pairdp.privacy.mechanisms.additive_noise import (
    L1LaplaceMechanism,
    LaplaceMechanism,
    NoMechanism,
)
from pairdp.privacy.mechanisms.permute_and_flip import PermuteAndFlip
from pairdp.privacy.mechanisms.repeat_and_select import RepeatAndSelect

_BITS = 64


def paid_sensitivity(release: Release) -> float:
    """Return the sensitivity that the event of a release states, with what rounding adds."""
    event, mechanism = release.event, release.mechanism
    if isinstance(mechanism, NoMechanism):
        return math.inf
    if isinstance(mechanism, RepeatAndSelect):
        return mechanism.rounded_sensitivity  # its event does not state it
    match event:
        case GaussianEvent(mu):
            return mu * mechanism.scale / math.sqrt(release.count)
        case PureEvent(epsilon) if isinstance(mechanism, PermuteAndFlip):
            return epsilon * mechanism.scale / 2
        case PureEvent(epsilon):
            laplace = isinstance(mechanism, LaplaceMechanism)
            return epsilon * mechanism.scale / math.sqrt(release.dimension if laplace else 1)
        case SampledEvent(mu, RepeatedDraws(base=base)) if isinstance(
            release.sampling, RepeatedDraws
        ):
            # One draw moves the average by Δ; what is added to the base is for all draws together.
            return mu * mechanism.scale * (1 + (base - release.sampling.base))
        case SampledEvent(mu):
            return mu * mechanism.scale
    return math.inf


def rounded_sensitivity(release: Release) -> float:
    """Return Δ + g√d in rational arithmetic; Δ + 2g√d for a sum that records enter by chance.

    For an ℓ1 sensitivity it is Δ + g·d, and for one of each of several scores Δ + g.

    Rounding moves each of d coordinates by at most g/2, on both data sets. For Poisson sampling, Δ
    is twice the change from a sum without the record to one with it. For T iterates of which only
    the last is released it is Δ + 2g√(dT) (`pairdp.privacy.certificates.release`).
    """
    mechanism = release.mechanism
    if isinstance(mechanism, NoMechanism):
        return math.inf
    if isinstance(mechanism, L1LaplaceMechanism):
        return float(Fraction(mechanism.sensitivity) + Fraction(mechanism.grid) * release.dimension)
    if isinstance(mechanism, PermuteAndFlip | RepeatAndSelect):
        return float(Fraction(mechanism.sensitivity) + Fraction(mechanism.grid))
    root = Fraction(math.isqrt(release.dimension << 2 * _BITS) + 1, 1 << _BITS)
    if release.sensitivity is not None and release.sensitivity.bound == HIDDEN_ITERATES:
        steps = int(release.sensitivity.inputs["steps"])
        root *= 2 * Fraction(math.isqrt(steps << 2 * _BITS) + 1, 1 << _BITS)
    by_chance = isinstance(release.sampling, PoissonSampling) and release.sampling.rate < 1
    rounding = Fraction(mechanism.grid) * root * (2 if by_chance else 1)
    return float(Fraction(mechanism.sensitivity) + rounding)
