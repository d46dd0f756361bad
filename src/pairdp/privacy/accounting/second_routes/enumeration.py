"""The privacy curve of pure and (ε, δ) events, by enumerating their outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from scipy.special import gammaln

from pairdp.privacy.accounting.events import ApproximateEvent, Event, PureEvent
from pairdp.privacy.accounting.second_routes.estimate import DeltaEstimate


def enumerated_delta(events: Iterable[Event], epsilon: float) -> DeltaEstimate:
    """Return δ(ε) of pure and (ε, δ) events, summing over all their outcomes.

    Each is at worst randomised response with a leak, whose loss is ±ε₀. Repeats of one event
    are binomial.
    """
    losses, log_masses, log_kept = np.zeros(1), np.zeros(1), 0.0
    for event in events:
        match event:
            case PureEvent(own, count):
                leak = 0.0
            case ApproximateEvent(own, leak):
                count = 1
            case _:
                raise TypeError(f"not a pure or (ε, δ) event: {event!r}")
        log_kept += math.log1p(-leak)
        ups = np.arange(count + 1)
        log_high = -np.logaddexp(0.0, -own)
        log_binomial = gammaln(count + 1) - gammaln(ups + 1) - gammaln(count - ups + 1)
        own_masses = log_binomial + ups * log_high + (count - ups) * (log_high - own)
        losses = np.add.outer(losses, (2 * ups - count) * own).ravel()
        log_masses = np.add.outer(log_masses, own_masses).ravel()
    masses = np.exp(log_masses)
    above = losses > epsilon
    delta = float(-np.expm1(epsilon - losses[above]) @ masses[above])
    # Losses have an error of about 1e-13 of the largest one, which matters just around ε.
    blur = 1e-13 * (1 + epsilon + float(np.abs(losses).max()))
    near = float(masses[losses > epsilon - blur].sum())
    return DeltaEstimate(
        -math.expm1(log_kept) + math.exp(log_kept) * delta, blur * near + 1e-10 * delta
    )
