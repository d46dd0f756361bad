"""Events as values and as JSON."""

from __future__ import annotations

import json
import math

import pytest

from pairdp.privacy import (
    ApproximateEvent,
    Event,
    FixedSizeSampling,
    GaussianEvent,
    NonPrivateEvent,
    ParallelEvent,
    PoissonSampling,
    PureEvent,
    SampledEvent,
    SequentialEvent,
)
from pairdp.privacy.accounting.events import event_from_dict, event_to_dict

EVENTS: list[Event] = [
    GaussianEvent(0.5),
    PureEvent(1.0),
    PureEvent(0.1, count=7),
    ApproximateEvent(1.0, 1e-6),
    SampledEvent(0.7, FixedSizeSampling(3, 10), 5),
    SampledEvent(0.7, PoissonSampling(0.25), 5),
    NonPrivateEvent(),
    SequentialEvent((GaussianEvent(0.5), PureEvent(1.0))),
    ParallelEvent((GaussianEvent(0.5), SequentialEvent((PureEvent(1.0),)))),
]


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_round_trip_through_json(event: Event) -> None:
    assert event_from_dict(json.loads(json.dumps(event_to_dict(event)))) == event


@pytest.mark.parametrize(
    "values",
    [
        None,
        7,
        [],
        {},
        {"kind": "wishful"},
        {"kind": "gaussian"},
        {"kind": "gaussian", "mu": "1"},
        {"kind": "gaussian", "mu": -1.0},
        {"kind": "gaussian", "mu": 1.0, "colour": 3},
        {"kind": "pure", "epsilon": 1.0},
        {"kind": "pure", "epsilon": 1.0, "count": 0},
        {"kind": "sampled", "mu": 1.0, "steps": 1, "sampling": {"scheme": "wishful"}},
        {"kind": "sampled", "mu": 1.0, "steps": 1, "sampling": {"scheme": "poisson", "rate": 2}},
        {"kind": "parallel", "parts": []},
        {"kind": "sequential", "events": [{"kind": "none"}, 3]},
    ],
)
def test_anything_else_is_refused(values: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        event_from_dict(values)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "1", None, True])
def test_bad_numbers_are_refused(bad: object) -> None:
    for make in (GaussianEvent, PureEvent, lambda v: ApproximateEvent(v, 0.1)):
        with pytest.raises((ValueError, TypeError)):
            make(bad)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sampling must be"):
        SampledEvent(1.0, "all", 3)  # type: ignore[arg-type]
