"""Composition: the privacy curve of everything that was released."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from pairdp._checks import non_negative, probability
from pairdp.privacy.accounting import gaussian
from pairdp.privacy.accounting.budget import Budget
from pairdp.privacy.accounting.dominating_pairs import ApproximatePair, DominatingPair, GaussianPair
from pairdp.privacy.accounting.events import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    NonPrivateEvent,
    ParallelEvent,
    PureEvent,
    SampledEvent,
    SequentialEvent,
)
from pairdp.privacy.accounting.loss_grid import PairComposition
from pairdp.privacy.accounting.sampling import RepeatedDraws

_LARGEST_EPSILON = 1e5
_MOST_SEQUENCES = 4096
_LARGEST_GRID_EPSILON = 500.0
_LARGEST_GRID_MU = 100.0


def composed_mu(sensitivities: ArrayLike, scales: ArrayLike) -> float:
    r"""Return the ratio μ of a sequence of Gaussian releases, for its worst record.

    .. math:: \mu^2 = \max_k \sum_t (\Delta_{t,k}/\sigma_t)^2

    Adaptive Gaussian releases are exactly as private as one Gaussian release of
    this ratio in the worst case (Dong, Roth and Su 2022, Corollary 3.3).

    Parameters
    ----------
    sensitivities : array of shape (T,) or (T, K)
        How far release t moves when the record is replaced; with a second axis, when
        record k is (a stream: record k touches the releases from k on).
    scales : float or array of shape (T,)
        Standard deviations of the releases.

    Returns
    -------
    float
        The root of the largest column sum.
    """
    delta = np.asarray(sensitivities, dtype=np.float64)
    sigma = np.asarray(scales, dtype=np.float64)
    if delta.ndim not in (1, 2) or delta.size == 0:
        raise ValueError(
            f"sensitivities must have shape (T,) or (T, K) and not be empty, got {delta.shape}"
        )
    if sigma.shape not in ((), (delta.shape[0],)):
        raise ValueError(
            f"scales must be one number or have shape ({delta.shape[0]},), got {sigma.shape}"
        )
    if not np.all(np.isfinite(delta)) or np.any(delta < 0):
        raise ValueError("sensitivities must be finite and at least 0")
    if not np.all(np.isfinite(sigma)) or np.any(sigma <= 0):
        raise ValueError("scales must be finite and positive")
    table = delta.reshape(delta.shape[0], -1)
    largest = float(np.max(table / np.broadcast_to(sigma, table.shape[:1])[:, None]))
    if largest == 0:
        return 0.0
    ratios = table / np.broadcast_to(sigma, table.shape[:1])[:, None] / largest
    return largest * math.sqrt(float(np.max(np.sum(ratios**2, axis=0))))


@dataclass(frozen=True)
class _Sequence:
    """A composition without alternatives, sorted by kind."""

    mu: float
    pure: tuple[tuple[float, int], ...]
    approximate: tuple[tuple[float, float], ...]
    sampled: tuple[SampledEvent, ...]
    private: bool

    @staticmethod
    def of(events: Iterable[Event]) -> _Sequence:
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
                    # So little noise that all there is, is the chance of not being drawn.
                    drawn = -math.expm1(steps * math.log1p(-sampling.rate))
                    drawn = min(1.0, math.nextafter(drawn, 2.0))  # rounding counts upwards
                    approximate.append((0.0, drawn))
                    private = private and drawn < 1
                case SampledEvent():
                    sampled.append(event)
                case NonPrivateEvent():
                    private = False
                case _:
                    raise TypeError(f"not an elementary event: {event!r}")
        return _Sequence(
            math.hypot(*mus),
            tuple((e, count) for e, count in pure if e > 0),
            tuple(approximate),
            tuple(s for s in sampled if s.mu > 0),
            private,
        )

    @cached_property
    def added_epsilon(self) -> float:
        """What pure and (ε, δ) releases cost when their ε simply add up."""
        pure = math.fsum(e * count for e, count in self.pure)
        return pure + math.fsum(e for e, _ in self.approximate)

    @cached_property
    def added_delta(self) -> float:
        return math.fsum(d for _, d in self.approximate)

    @property
    def _responses(self) -> int:
        """How many releases are known by their ε alone."""
        return sum(count for _, count in self.pure) + len(self.approximate)

    @cached_property
    def _sampled_steps(self) -> list[tuple[DominatingPair, int]]:
        counts = Counter[tuple[float, object]]()
        pairs: dict[tuple[float, object], DominatingPair] = {}
        for event in self.sampled:
            key = (event.mu, event.sampling)
            pairs[key] = event.sampling.pair(event.mu)
            counts[key] += event.steps
        return [(pairs[key], count) for key, count in counts.items()]

    @cached_property
    def _noise_curve(self) -> PairComposition:
        """Gaussian and sampled releases together."""
        gaussians = [(GaussianPair(self.mu), 1)] if self.mu > 0 else []
        return PairComposition([*gaussians, *self._sampled_steps])

    @cached_property
    def _whole_curve(self) -> PairComposition:
        """Everything, through its dominating pairs."""
        bounded = Counter(self.approximate)
        for e, count in self.pure:
            bounded[e, 0.0] += count
        gaussians = [(GaussianPair(self.mu), 1)] if self.mu > 0 else []
        responses = [(ApproximatePair(e, d), count) for (e, d), count in bounded.items()]
        return PairComposition([*gaussians, *responses, *self._sampled_steps])

    @property
    def _one_average(self) -> SampledEvent | None:
        """The only noise, if it is one average over repeated draws: its curve is explicit."""
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
        """Return the logarithm of the least δ known to hold at ε.

        Below ``enough`` the bound need not be sharp.
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
            bounds.append(self._single_response(epsilon))
        elif self._fits_a_grid:
            bounds.append(self._whole_curve.log_delta(epsilon, enough=enough))
        return min(bounds)

    @property
    def _fits_a_grid(self) -> bool:
        """Whether privacy losses are small enough to be worth composing."""
        largest = max([e for e, _ in (*self.pure, *self.approximate)], default=0.0)
        return (
            largest <= _LARGEST_GRID_EPSILON
            and self.added_epsilon <= _LARGEST_EPSILON
            and self.mu <= _LARGEST_GRID_MU
        )

    def rough_log_delta(self, epsilon: float) -> float:
        """Return about log δ(ε), quickly and without promise."""
        if self._one_average is not None and not self._responses:
            return self.log_delta(epsilon)
        if not self._fits_a_grid or not (self.mu > 0 or self._responses or self.sampled):
            return self.log_delta(epsilon)
        return self._whole_curve.rough_log_delta(epsilon)

    def single_response_epsilon(self, delta: float) -> float | None:
        """Return the inverse of one (ε₀, δ₀)-DP release's own curve; None for others."""
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

    def _single_response(self, epsilon: float) -> float:
        """Return the curve of one (ε₀, δ₀)-DP release: randomised response's own."""
        ((own, delta),) = [(e, 0.0) for e, _ in self.pure] or self.approximate
        if epsilon >= own:
            return math.log(delta) if delta > 0 else -math.inf
        share = -math.expm1(epsilon - own) / (1 + math.exp(-own))
        total = delta + (1 - delta) * share
        return math.log(total) if total > 0 else -math.inf


def elementary_alternatives(event: Event) -> list[tuple[Event, ...]]:
    """Return the sequences of elementary events that one record can meet.

    One for each choice of a part in each parallel event, without those that another
    one of the same kind covers.
    """
    match event:
        case SequentialEvent(events):
            choices = [elementary_alternatives(e) for e in events]
            count = math.prod(len(c) for c in choices)
            if count > _MOST_SEQUENCES:
                raise ValueError(
                    f"{count} ways to meet the parallel parts are too many to compose: "
                    "give releases on the same parts as one parallel event of sequences"
                )
            return [tuple(itertools.chain(*c)) for c in itertools.product(*choices)]
        case ParallelEvent(parts):
            return _undominated([flat for part in parts for flat in elementary_alternatives(part)])
    return [(event,)]


def _undominated(flats: list[tuple[Event, ...]]) -> list[tuple[Event, ...]]:
    """Keep the worst of the Gaussian sequences, the worst pure event, and all others."""
    mus, epsilons, others = [], [], []
    for flat in flats:
        if all(isinstance(e, GaussianEvent) for e in flat):
            mus.append(math.hypot(*(e.mu for e in flat if isinstance(e, GaussianEvent))))
        elif len(flat) == 1 and isinstance(flat[0], PureEvent) and flat[0].count == 1:
            epsilons.append(flat[0].epsilon)
        else:
            others.append(flat)
    worst: list[tuple[Event, ...]] = [(GaussianEvent(max(mus)),)] if mus else []
    worst += [(PureEvent(max(epsilons)),)] if epsilons else []
    return worst + others


class PrivacyCurve:
    """The trade-off of ε and δ that a composition of events satisfies.

    Gaussian events compose exactly; pure ε adds up, or composes through randomised
    response where that is less; sampled events and mixtures compose through
    their privacy loss, pessimistically; parallel parts count by their worst.

    Parameters
    ----------
    *events : Event
        All on the same records. No event is no release at all.
    """

    def __init__(self, *events: Event) -> None:
        flats = elementary_alternatives(SequentialEvent(tuple(events)))
        self._sequences = list(dict.fromkeys(_Sequence.of(flat) for flat in flats))

    @property
    def is_private(self) -> bool:
        """Whether no event is without a guarantee."""
        return all(sequence.private for sequence in self._sequences)

    def log_delta(self, epsilon: float) -> float:
        """Return the logarithm of the least δ known to hold at ε ≥ 0."""
        epsilon = non_negative("epsilon", epsilon)
        return max(sequence.log_delta(epsilon) for sequence in self._sequences)

    def delta(self, epsilon: float) -> float:
        """Return the least δ known to hold at ε ≥ 0."""
        return math.exp(self.log_delta(epsilon))

    def within(self, budget: Budget) -> bool:
        """Return whether everything released stays within a budget."""
        if not self.is_private:
            return False
        if budget.is_pure:
            return self.epsilon(0.0) <= budget.epsilon
        log_target = math.log(budget.delta)
        # A bound that is good enough is much cheaper than a sharp one far below the target.
        return all(
            s.log_delta(budget.epsilon, log_target) <= log_target
            or s.log_delta(budget.epsilon) <= log_target
            for s in self._sequences
        )

    def epsilon(self, delta: float) -> float:
        """Return the least ε known to hold at δ, infinite when there is none."""
        delta = probability("delta", delta)
        return max(self._epsilon(sequence, delta) for sequence in self._sequences)

    @staticmethod
    def _epsilon(sequence: _Sequence, delta: float) -> float:
        if not sequence.private:
            return math.inf
        noisy = sequence.mu > 0 or bool(sequence.sampled)
        if delta == 0:
            return math.inf if noisy or sequence.added_delta > 0 else sequence.added_epsilon
        if not sequence.sampled and not sequence.pure and not sequence.approximate:
            return gaussian.epsilon(sequence.mu, delta)
        single = sequence.single_response_epsilon(delta)
        if single is not None:
            return single
        log_target = math.log(delta)

        def excess(eps: float) -> float:
            return max(sequence.log_delta(eps) - log_target, -1e300)

        # Far above the answer δ is tiny and dear to compute: begin near a rough answer.
        low, high = _bracket(excess, lambda e: sequence.rough_log_delta(e) - log_target)
        if math.isinf(high) and not noisy and sequence.added_delta <= delta:
            return sequence.added_epsilon
        if math.isinf(high) or low == high:
            return high
        root = float(brentq(excess, low, high, xtol=1e-12, rtol=1e-5, maxiter=200))
        step = 1e-9 * max(root, 1e-3)
        while excess(root) > 0:
            root, step = min(high, root + step), 4 * step
        # Simple addition has a jump at its sum, which root finding only comes near.
        total = sequence.added_epsilon
        if 0 < total <= root and excess(total) <= 0:
            return total
        return root


def _bracket(
    excess: Callable[[float], float], rough: Callable[[float], float]
) -> tuple[float, float]:
    """Return ε on either side of where a decreasing excess ends; equal ends if known."""
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
