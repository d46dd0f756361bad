"""The privacy curve by Google's dp-accounting library.

dp-accounting interprets ``REPLACE_ONE`` in two ways. Its Rényi accountant divides the noise by the
replace-one sensitivity Δ; its privacy-loss accountant divides by the norm of one contribution,
which is Δ/2 for a sum. Here μ = Δ/σ throughout, and only this module converts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pairdp.privacy.accounting import gaussian
from pairdp.privacy.accounting.events import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    PureEvent,
    SampledEvent,
)
from pairdp.privacy.accounting.sampling import FixedSizeSampling, RepeatedDraws

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution


def fixed_size_profile(epsilon: float, mu: float, rate: float) -> float:
    """Return δ of one step at any real ε, by the formula for sampling without replacement."""
    if epsilon < 0:
        return -math.expm1(epsilon) + math.exp(epsilon) * fixed_size_profile(-epsilon, mu, rate)
    amplified = math.log1p(math.expm1(min(epsilon, 600.0)) / rate)
    return rate * gaussian.delta(amplified, mu)


def accountant_delta(events: Sequence[Event], epsilon: float, width: float = 1e-4) -> float:
    """Return an upper bound on δ(ε) of elementary events."""
    return float(_distribution(events, width).get_delta_for_epsilon(epsilon))


def _distribution(events: Sequence[Event], width: float) -> PrivacyLossDistribution:
    from dp_accounting.pld import privacy_loss_distribution as pld

    composed = pld.identity(width)
    for event in events:
        composed = composed.compose(_single(event, width))
    return composed


def _single(event: Event, width: float) -> Any:
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    match event:
        case GaussianEvent(mu):
            return pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=width)
        case PureEvent(own, count):
            parameters = common.DifferentialPrivacyParameters(own)
            return pld.from_privacy_parameters(parameters, width).self_compose(count)
        case ApproximateEvent(own, leak):
            parameters = common.DifferentialPrivacyParameters(own, leak)
            return pld.from_privacy_parameters(parameters, width)
        case SampledEvent(mu, sampling, steps) if isinstance(sampling, FixedSizeSampling):
            return _without_replacement(mu, sampling.rate, width).self_compose(steps)
        case SampledEvent(mu, sampling, steps) if isinstance(sampling, RepeatedDraws):
            return _repeated(mu, sampling, width).self_compose(steps)
        case SampledEvent(mu, sampling, steps):
            one = pld.from_gaussian_mechanism(
                2 / mu,  # its unit is the norm of one contribution, half of Δ
                value_discretization_interval=width,
                sampling_prob=sampling.rate,
                neighboring_relation=NeighboringRelation.REPLACE_ONE,
            )
            return one.self_compose(steps)
    raise TypeError(f"not an elementary event: {event!r}")


def _without_replacement(mu: float, rate: float, width: float) -> Any:
    largest_loss = math.log1p(rate * math.expm1(min(600.0, mu * (mu / 2 + 9))))
    return _connect_dots(lambda epsilon: fixed_size_profile(epsilon, mu, rate), largest_loss, width)


def _repeated(mu: float, sampling: RepeatedDraws, width: float) -> Any:
    largest = mu * float(sampling.distribution.sums.max())

    def profile(epsilon: float) -> float:
        if epsilon < 0:
            return -math.expm1(epsilon) + math.exp(epsilon) * profile(-epsilon)
        return sampling.profile(mu, epsilon)

    return _connect_dots(profile, min(600.0, largest * (largest / 2 + 9)), width)


def _connect_dots(profile: Callable[[float], float], largest_loss: float, width: float) -> Any:
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as pld

    half = math.ceil(largest_loss / width)
    deltas = np.array([profile(k * width) for k in range(-half, half + 1)])
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(width, -half, half, deltas)
    return pld.PrivacyLossDistribution(pmf)
