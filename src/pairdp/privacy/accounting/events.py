"""Privacy events: the privacy cost of a release, independent of how it was computed.

An event is a frozen value made of public numbers. It can be composed with others
(`pairdp.privacy.PrivacyCurve`), spent from a ledger, and stored as JSON. All events refer to the
replace-one relation with n public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from pairdp._checks import integer, keep, non_negative, probability
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
        keep(self, "mu", non_negative("mu", self.mu))


@dataclass(frozen=True)
class PureEvent:
    """``count`` pure ε-DP releases, such as with K-norm or Laplace noise."""

    epsilon: float
    count: int = 1

    def __post_init__(self) -> None:
        keep(self, "epsilon", non_negative("epsilon", self.epsilon))
        keep(self, "count", integer("count", self.count))


@dataclass(frozen=True)
class ApproximateEvent:
    """A release that is known to be (ε, δ)-DP and no more."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        keep(self, "epsilon", non_negative("epsilon", self.epsilon))
        keep(self, "delta", probability("delta", self.delta))


@dataclass(frozen=True)
class SampledEvent:
    """Gaussian releases on freshly drawn records in each of ``steps`` steps.

    ``mu`` is the replace-one sensitivity of one step's value over its noise.
    """

    mu: float
    sampling: Sampling
    steps: int

    def __post_init__(self) -> None:
        keep(self, "mu", non_negative("mu", self.mu))
        keep(self, "steps", integer("steps", self.steps))
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


_EVENTS: dict[str, type[Any]] = {
    "gaussian": GaussianEvent,
    "pure": PureEvent,
    "approximate": ApproximateEvent,
    "sampled": SampledEvent,
    "sequential": SequentialEvent,
    "parallel": ParallelEvent,
    "none": NonPrivateEvent,
}
_SCHEMES: dict[str, type[Any]] = {
    "without replacement": FixedSizeSampling,
    "poisson": PoissonSampling,
    "repeated": RepeatedDraws,
}


def sampling_to_dict(sampling: Sampling) -> dict[str, object]:
    """Return a sampling scheme as plain JSON values."""
    return _to_dict(sampling, "scheme", _SCHEMES)


def sampling_from_dict(values: object) -> Sampling:
    """Return the sampling scheme that `sampling_to_dict` wrote; anything else is an error."""
    scheme: Sampling = _from_dict(values, "sampling scheme", "scheme", _SCHEMES)
    return scheme


def event_to_dict(event: Event) -> dict[str, object]:
    """Return an event as plain JSON values."""
    return _to_dict(event, "kind", _EVENTS)


def event_from_dict(values: object) -> Event:
    """Return the event that `event_to_dict` wrote; anything else is an error."""
    event: Event = _from_dict(values, "privacy event", "kind", _EVENTS)
    return event


def _to_dict(value: Any, tag: str, classes: dict[str, type[Any]]) -> dict[str, object]:
    name = next(name for name, known in classes.items() if known is type(value))
    return {tag: name, **{f.name: _encode(getattr(value, f.name)) for f in fields(value)}}


def _encode(value: Any) -> object:
    if isinstance(value, tuple):
        return [event_to_dict(event) for event in value]
    if isinstance(value, Sampling):
        return sampling_to_dict(value)
    return None if value == math.inf else value


def _from_dict(values: object, what: str, tag: str, classes: dict[str, type[Any]]) -> Any:
    name = values.get(tag) if isinstance(values, dict) else None
    known = classes.get(name) if isinstance(name, str) else None
    names = set() if known is None else {f.name for f in fields(known)}
    if not isinstance(values, dict) or known is None or not names <= values.keys():
        raise ValueError(f"not a {what}: {values!r}")
    if rest := values.keys() - names - {tag}:
        raise ValueError(f"unknown fields in {what}: {', '.join(sorted(map(str, rest)))}")
    return known(**{name: _decode(name, values[name]) for name in names})


def _decode(name: str, value: Any) -> object:
    if name == "sampling":
        return sampling_from_dict(value)
    if name in ("events", "parts"):
        if not isinstance(value, list):
            raise ValueError(f"{name} must be a list, got {value!r}")
        return tuple(event_from_dict(event) for event in value)
    return math.inf if name == "most" and value is None else value
