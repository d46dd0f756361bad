"""The privacy curve of a sequence of elementary events, without parallel parts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pairdp._roots import brentq
from pairdp.privacy import accounting
from pairdp.privacy.accounting import gaussian
from pairdp.privacy.accounting.events import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    NonPrivateEvent,
    PureEvent,
    SampledEvent,
)
from pairdp.privacy.accounting.sampling import RepeatedDraws

_LARGEST_EPSILON = 1e5
_LARGEST_GRID_EPSILON = 500.0
_LARGEST_GRID_MU = 100.0


@dataclass(frozen=True)
class SequentialCurve:
    """The curve of events that one record takes part in, sorted by kind."""

    mu: float
    pure: tuple[tuple[float, int], ...]
    approximate: tuple[tuple[float, float], ...]
    sampled: tuple[SampledEvent, ...]
    private: bool

    @staticmethod
    def of(events: Iterable[Event]) -> SequentialCurve:
        """Return the curve of a sequence of elementary events."""
        mus, pure, approximate, sampled, private = [], [], [], [], True
        for event in events:
            match event:
                case GaussianEvent(mu):
                    mus.append(mu)
                case PureEvent(epsilon, count):
                    pure.append((epsilon, count))
                case ApproximateEvent(epsilon, delta):
                    approximate.append((epsilon, delta))
                case SampledEvent(mu, sampling, steps) if sampling.rate == 1:
                    mus.append(mu * math.sqrt(steps))
                case SampledEvent(mu, sampling, steps) if mu > _LARGEST_GRID_MU:
                    # With so little noise, only the probability of not being drawn gives privacy.
                    drawn = -math.expm1(steps * math.log1p(-sampling.rate))
                    drawn = min(1.0, math.nextafter(drawn, 2.0))  # rounded up
                    approximate.append((0.0, drawn))
                    private = private and drawn < 1
                case SampledEvent():
                    sampled.append(event)
                case NonPrivateEvent():
                    private = False
                case _:
                    raise TypeError(f"not an elementary event: {event!r}")
        return SequentialCurve(
            math.hypot(*mus),
            tuple((e, count) for e, count in pure if e > 0),
            tuple(approximate),
            tuple(s for s in sampled if s.mu > 0),
            private,
        )

    @cached_property
    def added_epsilon(self) -> float:
        """The sum of the ε of pure and (ε, δ) releases."""
        pure = math.fsum(e * count for e, count in self.pure)
        return pure + math.fsum(e for e, _ in self.approximate)

    @cached_property
    def added_delta(self) -> float:
        """The sum of the δ of (ε, δ) releases."""
        return math.fsum(d for _, d in self.approximate)

    @property
    def _responses(self) -> int:
        """The number of releases for which only ε, or (ε, δ), is known."""
        return sum(count for _, count in self.pure) + len(self.approximate)

    @cached_property
    def _sampled_steps(self) -> list[tuple[accounting.dominating_pairs.DominatingPair, int]]:
        counts = Counter[tuple[float, object]]()
        pairs: dict[tuple[float, object], accounting.dominating_pairs.DominatingPair] = {}
        for event in self.sampled:
            key = (event.mu, event.sampling)
            pairs[key] = event.sampling.pair(event.mu)
            counts[key] += event.steps
        return [(pairs[key], count) for key, count in counts.items()]

    @cached_property
    def _noise_curve(self) -> accounting.PairComposition:
        """Gaussian and sampled releases together."""
        gaussians = [(accounting.dominating_pairs.GaussianPair(self.mu), 1)] if self.mu > 0 else []
        return accounting.PairComposition([*gaussians, *self._sampled_steps])

    @cached_property
    def _full_curve(self) -> accounting.PairComposition:
        """All releases, by their dominating pairs."""
        bounded = Counter(self.approximate)
        for e, count in self.pure:
            bounded[e, 0.0] += count
        gaussians = [(accounting.dominating_pairs.GaussianPair(self.mu), 1)] if self.mu > 0 else []
        responses = [
            (accounting.dominating_pairs.ApproximatePair(e, d), count)
            for (e, d), count in bounded.items()
        ]
        return accounting.PairComposition([*gaussians, *responses, *self._sampled_steps])

    @property
    def _one_average(self) -> SampledEvent | None:
        """The only noisy event, if it is one average over repeated draws: its curve is explicit."""
        if self.mu > 0 or len(self.sampled) != 1:
            return None
        (event,) = self.sampled
        return event if isinstance(event.sampling, RepeatedDraws) and event.steps == 1 else None

    def _noise_log_delta(self, epsilon: float, enough: float) -> float:
        if not self.sampled:
            return gaussian.log_delta(epsilon, self.mu)
        if self._one_average is not None:
            found = self._one_average.sampling.profile(self._one_average.mu, epsilon)  # type: ignore[union-attr]
            return math.log(found) if found > 0 else -math.inf
        return self._noise_curve.log_delta(epsilon, enough=enough)

    def log_delta(self, epsilon: float, enough: float = -math.inf) -> float:
        """Return the logarithm of the smallest δ known to hold at ε.

        The bound need not be sharp below ``enough``.
        """
        if not self.private:
            return 0.0
        if not self.pure and not self.approximate:
            return self._noise_log_delta(epsilon, enough)
        bounds = [0.0]
        if epsilon >= self.added_epsilon:
            noise = self._noise_log_delta(epsilon - self.added_epsilon, enough)
            added = math.log(self.added_delta) if self.added_delta > 0 else -math.inf
            if max(noise, added) == -math.inf:
                return -math.inf
            bounds.append(float(np.logaddexp(noise, added)))
            if bounds[-1] <= enough:
                return bounds[-1]
        if self._responses == 1 and self.mu == 0 and not self.sampled:
            bounds.append(self._single_response_log_delta(epsilon))
        elif self._fits_grid:
            bounds.append(self._full_curve.log_delta(epsilon, enough=enough))
        return min(bounds)

    @property
    def _fits_grid(self) -> bool:
        """Whether privacy losses are small enough to be discretised."""
        largest = max([e for e, _ in (*self.pure, *self.approximate)], default=0.0)
        return (
            largest <= _LARGEST_GRID_EPSILON
            and self.added_epsilon <= _LARGEST_EPSILON
            and self.mu <= _LARGEST_GRID_MU
        )

    def rough_log_delta(self, epsilon: float) -> float:
        """Return an approximation of log δ(ε), quickly and without a guarantee."""
        if self._one_average is not None and not self._responses:
            return self.log_delta(epsilon)
        if not self._fits_grid or not (self.mu > 0 or self._responses or self.sampled):
            return self.log_delta(epsilon)
        return self._full_curve.rough_log_delta(epsilon)

    def _single_response_epsilon(self, delta: float) -> float | None:
        """Return ε by the exact curve of one (ε₀, δ₀)-DP release; None for other sequences."""
        if self._responses != 1 or self.mu > 0 or self.sampled:
            return None
        ((own, leak),) = [(e, 0.0) for e, _ in self.pure] or self.approximate
        if delta < leak:
            return math.inf
        share = (delta - leak) / (1 - leak) * (1 + math.exp(-own))
        if share >= 1:
            return 0.0
        # Rounded up: near δ = 1e-16 one unit in the last place of ε is a large part of δ.
        return min(own, max(0.0, math.nextafter(own + math.log1p(-share), math.inf)))

    def _single_response_log_delta(self, epsilon: float) -> float:
        """Return log δ(ε) of one (ε₀, δ₀)-DP release, which is that of randomised response."""
        ((own, delta),) = [(e, 0.0) for e, _ in self.pure] or self.approximate
        if epsilon >= own:
            return math.log(delta) if delta > 0 else -math.inf
        share = -math.expm1(epsilon - own) / (1 + math.exp(-own))
        total = delta + (1 - delta) * share
        return math.log(total) if total > 0 else -math.inf

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε known to hold at δ, infinite if there is none."""
        if not self.private:
            return math.inf
        noisy = self.mu > 0 or bool(self.sampled)
        if delta == 0:
            return math.inf if noisy or self.added_delta > 0 else self.added_epsilon
        if not self.sampled and not self.pure and not self.approximate:
            return gaussian.epsilon(self.mu, delta)
        single = self._single_response_epsilon(delta)
        if single is not None:
            return single
        log_target = math.log(delta)

        def excess(eps: float) -> float:
            return max(self.log_delta(eps) - log_target, -1e300)

        # Far above the answer δ is tiny and expensive to compute: start near a rough answer.
        low, high = _bracket(excess, lambda e: self.rough_log_delta(e) - log_target)
        if math.isinf(high) and not noisy and self.added_delta <= delta:
            return self.added_epsilon
        if math.isinf(high) or low == high:
            return high
        root = float(brentq(excess, low, high, xtol=1e-12, rtol=1e-5, maxiter=200))
        step = 1e-9 * max(root, 1e-3)
        while excess(root) > 0:
            root, step = min(high, root + step), 4 * step
        # Adding up ε gives a curve with a jump at the sum, which root finding only approaches.
        total = self.added_epsilon
        if 0 < total <= root and excess(total) <= 0:
            return total
        return root


def _bracket(
    excess: Callable[[float], float], rough: Callable[[float], float]
) -> tuple[float, float]:
    """Return ε on either side of the root of a decreasing excess; equal if it is known."""
    near = 1.0
    while near > 1e-9 and rough(near) < 0:
        near /= 2
    while near < _LARGEST_EPSILON and rough(near) > 0:
        near *= 1.25
    low, high = near / 1.25, near
    while excess(high) > 0:
        low, high = high, 1.25 * high
        if high > _LARGEST_EPSILON:
            return low, math.inf
    while low > 1e-9 and excess(low) <= 0:
        low, high = low / 1.5, low
    if low <= 1e-9 and excess(0.0) <= 0:
        return 0.0, 0.0
    return (low if low > 1e-9 else 0.0), high
