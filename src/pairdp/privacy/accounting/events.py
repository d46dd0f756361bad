"""Privacy events: the privacy cost of a release, independent of how it was computed.

An event is a frozen value made of public numbers. It can be composed with others
(`pairdp.privacy.PrivacyCurve`), spent from a ledger, and stored as JSON. All events refer to the
replace-one relation with n public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pairdp._checks import integer, non_negative, probability
from pairdp.privacy.accounting.sampling import (
    FixedSizeSampling,
    PoissonSampling,
    RepeatedDraws,
    Sampling,
)


@dataclass(frozen=True)
class GaussianEvent:
    """Gaussian releases that together are ``mu``-GDP: the root of the sum of all (Δ/σ)²."""

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", non_negative("mu", self.mu))


@dataclass(frozen=True)
class PureEvent:
    """``count`` pure ε-DP releases, such as with K-norm or Laplace noise."""

    epsilon: float
    count: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", non_negative("epsilon", self.epsilon))
        object.__setattr__(self, "count", integer("count", self.count))


@dataclass(frozen=True)
class ApproximateEvent:
    """A release that is known to be (ε, δ)-DP and no more."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", non_negative("epsilon", self.epsilon))
        object.__setattr__(self, "delta", probability("delta", self.delta))


@dataclass(frozen=True)
class SampledEvent:
    """Gaussian releases on freshly drawn records in each of ``steps`` steps.

    ``mu`` is the replace-one sensitivity of one step's value over its noise.
    """

    mu: float
    sampling: Sampling
    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", non_negative("mu", self.mu))
        object.__setattr__(self, "steps", integer("steps", self.steps))
        if not isinstance(self.sampling, Sampling):
            raise TypeError(
                "sampling must be FixedSizeSampling, PoissonSampling or RepeatedDraws, "
                f"got {type(self.sampling).__name__}"
            )


@dataclass(frozen=True)
class NonPrivateEvent:
    """A release without any guarantee."""


@dataclass(frozen=True)
class SequentialEvent:
    """Events on the same records, one after the other."""

    events: tuple[Event, ...]


@dataclass(frozen=True)
class ParallelEvent:
    """Events on disjoint parts of the records, which are fixed before the data is read.

    A replaced record is in one part, so all of them cost as much as the worst part.
    """

    parts: tuple[Event, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("a parallel event needs at least one part")


Event = (
    GaussianEvent
    | PureEvent
    | ApproximateEvent
    | SampledEvent
    | NonPrivateEvent
    | SequentialEvent
    | ParallelEvent
)
"""Any privacy event."""


def sampling_to_dict(sampling: Sampling) -> dict[str, object]:
    """Return a sampling scheme as plain JSON values."""
    if isinstance(sampling, FixedSizeSampling):
        return {
            "scheme": "without replacement",
            "size": sampling.size,
            "population": sampling.population,
        }
    if isinstance(sampling, RepeatedDraws):
        return {
            "scheme": "repeated",
            "population": sampling.population,
            "draws": sampling.draws,
            "order": sampling.order,
            "base": sampling.base,
            "most": None if math.isinf(sampling.most) else sampling.most,
        }
    return {"scheme": "poisson", "rate": sampling.rate}


def sampling_from_dict(values: object) -> Sampling:
    """Return the sampling scheme that `sampling_to_dict` wrote."""
    match values:
        case {"scheme": "without replacement", "size": size, "population": population, **rest}:
            _check_no_others("sampling", rest)
            return FixedSizeSampling(size, population)
        case {"scheme": "poisson", "rate": rate, **rest}:
            _check_no_others("sampling", rest)
            return PoissonSampling(rate)
        case {
            "scheme": "repeated",
            "population": population,
            "draws": draws,
            "order": order,
            "base": base,
            "most": most,
            **rest,
        }:
            _check_no_others("sampling", rest)
            return RepeatedDraws(population, draws, order, base, math.inf if most is None else most)
    raise ValueError(f"not a sampling scheme: {values!r}")


def event_to_dict(event: Event) -> dict[str, object]:
    """Return an event as plain JSON values."""
    match event:
        case GaussianEvent(mu):
            return {"kind": "gaussian", "mu": mu}
        case PureEvent(epsilon, count):
            return {"kind": "pure", "epsilon": epsilon, "count": count}
        case ApproximateEvent(epsilon, delta):
            return {"kind": "approximate", "epsilon": epsilon, "delta": delta}
        case SampledEvent(mu, sampling, steps):
            drawn = sampling_to_dict(sampling)
            return {"kind": "sampled", "mu": mu, "sampling": drawn, "steps": steps}
        case SequentialEvent(events):
            return {"kind": "sequential", "events": [event_to_dict(e) for e in events]}
        case ParallelEvent(parts):
            return {"kind": "parallel", "parts": [event_to_dict(e) for e in parts]}
        case NonPrivateEvent():
            return {"kind": "none"}


def event_from_dict(values: object) -> Event:
    """Return the event that `event_to_dict` wrote; anything else is an error."""
    match values:
        case {"kind": "gaussian", "mu": mu, **rest}:
            event: Event = GaussianEvent(mu)
        case {"kind": "pure", "epsilon": epsilon, "count": count, **rest}:
            event = PureEvent(epsilon, count)
        case {"kind": "approximate", "epsilon": epsilon, "delta": delta, **rest}:
            event = ApproximateEvent(epsilon, delta)
        case {"kind": "sampled", "mu": mu, "sampling": sampling, "steps": steps, **rest}:
            event = SampledEvent(mu, sampling_from_dict(sampling), steps)
        case {"kind": "sequential", "events": list(events), **rest}:
            event = SequentialEvent(tuple(event_from_dict(e) for e in events))
        case {"kind": "parallel", "parts": list(parts), **rest}:
            event = ParallelEvent(tuple(event_from_dict(e) for e in parts))
        case {"kind": "none", **rest}:
            event = NonPrivateEvent()
        case _:
            raise ValueError(f"not a privacy event: {values!r}")
    _check_no_others("event", rest)
    return event


def _check_no_others(what: str, rest: Mapping[Any, object]) -> None:
    if rest:
        raise ValueError(f"unknown fields in {what}: {', '.join(sorted(map(str, rest)))}")
