"""Which second route computes δ for a given sequence of events."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pairdp.privacy.accounting.events import ApproximateEvent, Event, PureEvent, SampledEvent
from pairdp.privacy.accounting.sampling import FixedSizeSampling, RepeatedDraws
from pairdp.privacy.accounting.second_routes.cosine_series import series_delta
from pairdp.privacy.accounting.second_routes.dp_accounting import (
    accountant_delta,
    fixed_size_profile,
)
from pairdp.privacy.accounting.second_routes.enumeration import enumerated_delta
from pairdp.privacy.accounting.second_routes.estimate import DeltaEstimate
from pairdp.privacy.accounting.second_routes.moment_inversion import inverted_delta

DP_ACCOUNTING = "dp-accounting"
_MOST_OUTCOMES = 200_000


class Route(NamedTuple):
    """The name of a second route, and its δ."""

    name: str
    estimate: DeltaEstimate


def second_route(events: Sequence[Event], epsilon: float) -> Route:
    """Return δ(ε) of elementary events by a route independent of the calibration."""
    bounded = [e for e in events if isinstance(e, PureEvent | ApproximateEvent)]
    if len(bounded) == len(events):
        outcomes = math.prod(e.count + 1 if isinstance(e, PureEvent) else 2 for e in bounded)
        if outcomes <= _MOST_OUTCOMES:
            return Route("enumeration", enumerated_delta(events, epsilon))
        return _by_dp_accounting(events, epsilon)
    if len(events) == 1 and isinstance(events[0], SampledEvent) and events[0].steps == 1:
        event = events[0]
        if isinstance(event.sampling, FixedSizeSampling):
            exact = fixed_size_profile(epsilon, event.mu, event.sampling.rate)
            return Route("the formula for one step", DeltaEstimate(exact, 0.0))
        if isinstance(event.sampling, RepeatedDraws):
            return Route("a cosine series", series_delta(event, epsilon))
    inverted = inverted_delta(events, epsilon)
    if inverted.error <= 0.02 * inverted.delta:
        return Route("moment inversion", inverted)
    return _by_dp_accounting(events, epsilon)


def _by_dp_accounting(events: Sequence[Event], epsilon: float) -> Route:
    # An upper bound, no sharper than its grid and its truncation at 1e-15.
    fine, coarse = (accountant_delta(events, epsilon, width) for width in (1e-4, 2e-4))
    error = abs(coarse - fine) + 0.05 * fine + 1e-12
    return Route(DP_ACCOUNTING, DeltaEstimate(fine, error))
