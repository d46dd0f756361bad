r"""Bounds for a stream in which every model is released with noise and the state has none.

The noiseless state follows w_s = Π(w_{s-1} - η_s[average over pairs + α(w_{s-1} - w₀)]). A record
of step k changes it by d_k = η_k·(D/2)·own_k, and later by

.. math:: d_s = (1 - η_sα)·d_{s-1} + η_s·(D/2)·partner_s

while it may be in the buffer, without the last term afterwards, and never above the diameter
(errata, H1). All models together are one Gaussian release: with noise σ·u_s on the model of step s,
:math:`μ = \max_k \sqrt{Σ_s (d_{s,k}/u_s)^2}/σ`. The units u_s are public: the largest d_{s,k} of a
step, or 1/t for the noise of the papers, which is proportional to 1/t.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, positive
from pairdp.privacy.bounds.sensitivity import Bound, register_bound
from pairdp.privacy.bounds.stream_schedule import (
    StreamShape,
    late_steps,
    shape_of,
    stream_steps,
)

Array = NDArray[np.float64]
_MOST_STEPS = 20_000
_TOGETHER = 256


@dataclass(frozen=True)
class Drift:
    """The changes of the noiseless state of a stream caused by one record.

    Attributes
    ----------
    shape : StreamShape
        The pairs of each step.
    step_sizes : array
        η_s; 0 at steps that do not change the state.
    slot : float
        D/2.
    strong_convexity, diameter : float
        α, and the largest distance between two states.
    """

    shape: StreamShape
    step_sizes: Array
    slot: float
    strong_convexity: float
    diameter: float

    def moves(self) -> Array:
        """Return the largest d_{s,k} of each step."""
        return self._walk(None)[0]

    def total(self, units: Array | None = None) -> float:
        """Return the largest √Σ_s (d_{s,k}/u_s)² over k; by default u_s is the largest d_{s,k}."""
        return math.sqrt(float(self._walk(units)[1].max()))

    def _walk(self, units: Array | None) -> tuple[Array, Array]:
        """Compute the drift of the last record of each batch, for all batches at once."""
        steps, last = self.step_sizes.size, self.shape.last
        own, partner = self.shape.own, self.shape.partner
        drifts, totals, largest = np.zeros(steps), np.zeros(steps), np.zeros(steps)
        gone = 0
        for s, eta in enumerate(self.step_sizes.tolist()):
            if eta == 0:
                continue
            while last[gone] < s:
                gone += 1
            before = drifts[:s]
            before *= 1 - eta * self.strong_convexity
            before[gone:] += eta * self.slot * partner[s]
            drifts[s] = eta * self.slot * own[s]
            now = drifts[: s + 1]
            np.minimum(now, self.diameter, out=now)
            largest[s] = now.max()
            unit = largest[s] if units is None else units[s]
            if unit > 0:
                totals[: s + 1] += (now / unit) ** 2
        return largest, totals

    def total_by_records(self, units: Array | None = None) -> float:
        """Return the same as `total`, a block of records at a time."""
        steps = self.step_sizes.size
        # Records of a burn-in are partners of every step: the last of them stands for all.
        first = max(0, int(np.flatnonzero(self.step_sizes)[0]) - 1)
        if units is None:
            units = np.zeros(steps)
            for start in range(first, steps, _TOGETHER):
                for s, drifts in self._follow(start):
                    units[s] = max(units[s], float(drifts.max()))
        worst = 0.0
        for start in range(first, steps, _TOGETHER):
            totals = np.zeros(min(_TOGETHER, steps - start))
            for s, drifts in self._follow(start):
                if units[s] > 0:
                    totals += (drifts / units[s]) ** 2
            worst = max(worst, float(totals.max()))
        return math.sqrt(worst)

    def _follow(self, start: int) -> Iterator[tuple[int, Array]]:
        stop = min(start + _TOGETHER, self.step_sizes.size)
        steps = np.arange(start, stop)
        last, own = self.shape.last[start:stop], self.shape.own
        partner = self.shape.partner
        drifts = np.zeros(steps.size)
        for s in range(start, self.step_sizes.size):
            eta = float(self.step_sizes[s])
            pull = np.where((steps < s) & (s <= last), partner[s], 0.0)
            pull += np.where(steps == s, own[s], 0.0)
            drifts = drifts - eta * self.strong_convexity * drifts + eta * self.slot * pull
            drifts = np.minimum(drifts, self.diameter)
            yield s, drifts


def stream_drift(
    record_diameter: float,
    n: int,
    strong_convexity: float,
    smoothness: float,
    buffer: float = math.inf,
    batch: int = 1,
    reservoir: int = 0,
    largest_step: float = math.inf,
    diameter: float = math.inf,
) -> Drift:
    """Return the drift of descent with steps min(2/(αt), 2/(L+α)), the first of them at t = 2."""
    shape = shape_of(n, buffer, batch, reservoir)
    _check_steps(shape.steps)
    # A single first record has no partner, and there is no step.
    idle = int(shape.batch == 1)
    sizes = stream_steps(shape.steps + 1 - idle, strong_convexity, smoothness, largest_step)
    return Drift(
        shape,
        np.concatenate([np.zeros(idle), sizes]),
        positive("record_diameter", record_diameter) / 2,
        strong_convexity,
        positive("diameter", diameter, finite=False),
    )


def printed_drift(
    record_diameter: float,
    n: int,
    strong_convexity: float,
    smoothness: float,
    burn_in: int,
    diameter: float = math.inf,
) -> Drift:
    r"""Return the drift of Huai 2020, Algorithm 1: η_t = (t-1)/(t-2)·2/(αt) after the burn-in.

    Without a burn-in (0) its steps are not contractions, and min(2/(αt), 2/(L+α)) is used instead.
    """
    if integer("burn_in", burn_in, at_least=0) == 0:
        return stream_drift(record_diameter, n, strong_convexity, smoothness, diameter=diameter)
    _check_steps(n - burn_in)
    return Drift(
        StreamShape(n),
        late_steps(n, strong_convexity, smoothness, burn_in),
        positive("record_diameter", record_diameter) / 2,
        strong_convexity,
        diameter,
    )


def _check_steps(steps: int) -> None:
    if steps > _MOST_STEPS:
        raise ValueError(
            f"noise on models supports at most {_MOST_STEPS} steps, got {steps}: add noise to "
            "gradients, or use larger batches"
        )


@wraps(stream_drift)
def _in_own_units(**inputs: Any) -> float:
    return stream_drift(**inputs).total()


@wraps(stream_drift)
def _in_own_units_by_records(**inputs: Any) -> float:
    return stream_drift(**inputs).total_by_records()


@wraps(printed_drift)
def _as_printed(**inputs: Any) -> float:
    drift = printed_drift(**inputs)
    return drift.total(inverse_step_units(drift.step_sizes.size))


@wraps(printed_drift)
def _as_printed_by_records(**inputs: Any) -> float:
    drift = printed_drift(**inputs)
    return drift.total_by_records(inverse_step_units(drift.step_sizes.size))


def inverse_step_units(steps: int) -> Array:
    """Return 1/t, starting at t = 1."""
    return 1 / np.arange(1, steps + 1, dtype=np.float64)


register_bound(
    Bound(
        "models of a stream in units of their moves",
        "every model of a stream of pairs is released with noise and the state has none: the "
        "change of each by one record follows a recursion; in units of the largest change of each "
        "step, all together are one Gaussian release of the root of the sum of squares, for the "
        "worst record",
        _in_own_units,
        _in_own_units_by_records,
        ("loss", "convexity"),
    )
)
register_bound(
    Bound(
        "models of a stream in units of 1/t",
        "every model of a stream of pairs is released with noise proportional to 1/t and the "
        "state has none: the change of each caused by one record follows a recursion; times t, all "
        "together are one Gaussian release of the root of the sum of squares, for the worst record",
        _as_printed,
        _as_printed_by_records,
        ("loss", "convexity"),
    )
)
