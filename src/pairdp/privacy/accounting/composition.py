"""Composition: the privacy curve of everything that was released."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from pairdp._checks import non_negative, probability
from pairdp.privacy.accounting.budget import Budget
from pairdp.privacy.accounting.events import (
    Event,
    GaussianEvent,
    ParallelEvent,
    PureEvent,
    SequentialEvent,
)
from pairdp.privacy.accounting.sequential_composition import SequentialCurve

_MOST_SEQUENCES = 4096


def composed_mu(sensitivities: ArrayLike, scales: ArrayLike) -> float:
    r"""Return the μ of a sequence of Gaussian releases, for its worst record.

    .. math:: \mu^2 = \max_k \sum_t (\Delta_{t,k}/\sigma_t)^2

    Adaptive Gaussian releases are exactly as private as one Gaussian release with this μ in the
    worst case (Dong, Roth and Su 2022, Corollary 3.3).

    Parameters
    ----------
    sensitivities : array of shape (T,) or (T, K)
        The sensitivity of release t; with a second axis, its sensitivity to record k (in a stream,
        record k affects the releases from k on).
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
    mus = delta.reshape(delta.shape[0], -1) / np.atleast_1d(sigma)[:, None]
    largest = float(mus.max())
    if largest == 0:
        return 0.0
    return largest * math.sqrt(float(np.max(np.sum((mus / largest) ** 2, axis=0))))


def elementary_alternatives(event: Event) -> list[tuple[Event, ...]]:
    """Return the sequences of elementary events that one record can take part in.

    There is one for each choice of a part in each parallel event, except those dominated by
    another of the same kind.
    """
    match event:
        case SequentialEvent(events):
            alternatives = [elementary_alternatives(inner) for inner in events]
            always = [flat for flat, *others in alternatives if not others]
            chosen: list[tuple[Event, ...]] = [()]
            for choices in alternatives:
                if len(choices) > 1:
                    chosen = _different(itertools.product(chosen, choices))
            return [(*itertools.chain(*always), *flat) for flat in chosen]
        case ParallelEvent(parts):
            return _undominated([flat for part in parts for flat in elementary_alternatives(part)])
    return [(event,)]


def _different(
    combined: Iterable[tuple[tuple[Event, ...], tuple[Event, ...]]],
) -> list[tuple[Event, ...]]:
    """Return the sequences of different events; their order does not change what they cost."""
    found = dict.fromkeys(tuple(sorted(one + other, key=repr)) for one, other in combined)
    if len(found) > _MOST_SEQUENCES:
        raise ValueError(
            f"{len(found)} combinations of parallel parts are too many to compose: pass releases "
            "on the same parts as one parallel event of sequences"
        )
    return list(found)


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

    Gaussian events compose exactly. Pure ε adds up, or composes as randomised response if that is
    smaller. Sampled and mixed events compose numerically, with rounding on the safe side. Parallel
    parts cost as much as the worst of them.

    Parameters
    ----------
    *events : Event
        Events on the same records; none for no release.
    """

    def __init__(self, *events: Event) -> None:
        flats = elementary_alternatives(SequentialEvent(tuple(events)))
        self._sequences = list(dict.fromkeys(SequentialCurve.of(flat) for flat in flats))

    @property
    def is_private(self) -> bool:
        """Whether every event has a guarantee."""
        return all(sequence.private for sequence in self._sequences)

    def log_delta(self, epsilon: float) -> float:
        """Return the logarithm of the smallest δ known to hold at ε ≥ 0."""
        epsilon = non_negative("epsilon", epsilon)
        return max(sequence.log_delta(epsilon) for sequence in self._sequences)

    def delta(self, epsilon: float) -> float:
        """Return the smallest δ known to hold at ε ≥ 0."""
        return math.exp(self.log_delta(epsilon))

    def within(self, budget: Budget) -> bool:
        """Return whether the composition stays within a budget."""
        if not self.is_private:
            return False
        if budget.is_pure:
            return self.epsilon(0.0) <= budget.epsilon
        log_target = math.log(budget.delta)
        # A bound that suffices is much cheaper than a sharp one far below the target.
        return all(
            s.log_delta(budget.epsilon, log_target) <= log_target
            or s.log_delta(budget.epsilon) <= log_target
            for s in self._sequences
        )

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε known to hold at δ, infinite if there is none."""
        delta = probability("delta", delta)
        return max(sequence.epsilon(delta) for sequence in self._sequences)
