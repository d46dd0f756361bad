r"""Lower bounds on ε from counted guesses.

A test guesses "the other data set" when a score is above a threshold. Let p be the probability of
that guess on the other data set and q that on the one. If the release is (ε, δ)-private, then
p ≤ e^ε·q + δ and 1 - q ≤ e^ε·(1 - p) + δ. So with p ≥ p₋ and q ≤ q₊,

.. math:: ε ≥ \max\Big(\ln\frac{p_- - δ}{q_+}, \ln\frac{1 - q_+ - δ}{1 - p_-}\Big),

and if it is μ-GDP, then μ ≥ Φ⁻¹(p₋) - Φ⁻¹(q₊). The bounds p₋ and q₊ are those of Clopper and
Pearson, each wrong with at most half of the allowed error probability. The threshold must not have
been chosen on the scores that are counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv, ndtr, ndtri

from pairdp._checks import integer, probability
from pairdp.privacy.accounting import gaussian

Array = NDArray[np.float64]


def at_least(hits: ArrayLike, runs: ArrayLike, error: float) -> Array:
    """Return the Clopper–Pearson lower bound on a probability.

    Parameters
    ----------
    hits, runs : int or array
        The number of successes, and of independent trials.
    error : float
        The probability that the bound is wrong.
    """
    k, n = np.asarray(hits, dtype=np.float64), np.asarray(runs, dtype=np.float64)
    found = betaincinv(np.maximum(k, 1), n - np.maximum(k, 1) + 1, error)
    return np.asarray(np.where(k > 0, found, 0.0))


def at_most(hits: ArrayLike, runs: ArrayLike, error: float) -> Array:
    """Return the Clopper–Pearson upper bound on a probability; see `at_least`."""
    k, n = np.asarray(hits, dtype=np.float64), np.asarray(runs, dtype=np.float64)
    found = betainccinv(np.minimum(k, n - 1) + 1, n - np.minimum(k, n - 1), error)
    return np.asarray(np.where(k < n, found, 1.0))


@dataclass(frozen=True)
class Counts:
    """How often a test guessed "the other data set".

    Attributes
    ----------
    hits, runs : int
        The number of right guesses, and of runs on the other data set.
    false_hits, false_runs : int
        The number of wrong guesses, and of runs on the one data set.
    """

    hits: int
    runs: int
    false_hits: int
    false_runs: int

    def __post_init__(self) -> None:
        for hits, runs in (("hits", "runs"), ("false_hits", "false_runs")):
            most = integer(runs, getattr(self, runs))
            integer(hits, getattr(self, hits), at_least=0, at_most=most)

    def __add__(self, more: Counts) -> Counts:
        return Counts(
            self.hits + more.hits,
            self.runs + more.runs,
            self.false_hits + more.false_hits,
            self.false_runs + more.false_runs,
        )

    def epsilon(self, delta: float, error: float) -> float:
        """Return a lower bound on ε for any release, wrong with probability at most ``error``."""
        low, high = self._bounds(error)
        return float(epsilon_of(low, high, probability("delta", delta)))

    def mu(self, error: float) -> float:
        """Return a lower bound on μ, for a release that is μ-GDP for some μ."""
        low, high = self._bounds(error)
        return float(mu_of(low, high))

    def gaussian_epsilon(self, delta: float, error: float) -> float:
        """Return the ε at δ of the Gaussian release with the least possible μ.

        It is a lower bound on ε if the release is GDP with an attained μ, such as Gaussian noise on
        a vector, and it refutes any proof of a smaller μ. For other releases it is an estimate.
        """
        return gaussian.epsilon(self.mu(error), delta)

    def _bounds(self, error: float) -> tuple[Array, Array]:
        if not 0 < error < 1:
            raise ValueError(f"error must be between 0 and 1, got {error!r}")
        return (
            at_least(self.hits, self.runs, error / 2),
            at_most(self.false_hits, self.false_runs, error / 2),
        )


def epsilon_of(low: Array, high: Array, delta: float) -> Array:
    """Return the least ε for p₋ and q₊, at least 0."""
    with np.errstate(divide="ignore"):
        above = np.log(np.maximum(low - delta, 0.0)) - np.log(high)
        below = np.log(np.maximum(1 - high - delta, 0.0)) - np.log(1 - low)
    return np.asarray(np.maximum(np.maximum(above, below), 0.0))


def mu_of(low: Array, high: Array) -> Array:
    """Return the least μ for p₋ and q₊, at least 0."""
    low, high = np.asarray(low), np.asarray(high)
    informative = (low > 0) & (high < 1)
    found = ndtri(np.where(informative, low, 0.5)) - ndtri(np.where(informative, high, 0.5))
    return np.asarray(np.maximum(found, 0.0))


def best_threshold(
    one: Array, other: Array, runs: int, delta: float, error: float, *, gaussian: bool = False
) -> tuple[float, float]:
    """Return the threshold with the largest expected bound, and that bound.

    Parameters
    ----------
    one, other : array
        Scores to choose on, higher for the other data set.
    runs : int
        The number of scores of each data set that will be counted.
    delta, error : float
        As for `Counts.epsilon`.
    gaussian : bool
        Whether to bound μ instead of ε.
    """
    grid, caught, wrongly = candidates(one, other)
    best, promised = _best(caught, wrongly, runs, delta, error, gaussian)
    return float(grid[best]), promised


def candidates(one: Array, other: Array) -> tuple[Array, Array, Array]:
    """Return thresholds, and the shares of scores above each, for the other and the one."""
    one, other = np.sort(one), np.sort(other)
    tails = np.geomspace(min(1 / one.size, 1 / other.size), 0.5, 120)
    # Denser in the tails.
    shares = np.concatenate([tails, 1 - tails])
    found = [np.quantile(values, shares, method="lower") for values in (one, other)]
    grid = np.unique(np.concatenate(found))
    # One is added: a tail without scores is not empty, and would attract the threshold.
    missed = (np.searchsorted(other, grid, "right") + 1) / other.size
    wrongly = (one.size - np.searchsorted(one, grid, "right") + 1) / one.size
    return grid, np.clip(1 - missed, 0.0, 1.0), np.clip(wrongly, 0.0, 1.0)


def best_normal_threshold(
    mu: float, runs: int, delta: float, error: float, *, gaussian: bool = False
) -> float:
    """Return the best threshold for likelihood ratios that are N(∓μ²/2, μ²).

    See `best_threshold`; no scores are needed.
    """
    grid = np.linspace(-9 - mu / 2, 9 + mu / 2, 2001)
    wrongly, missed = ndtr(-(grid + mu / 2)), ndtr(grid - mu / 2)
    best, _ = _best(1 - missed, wrongly, runs, delta, error, gaussian)
    return float(grid[best]) * mu


def _best(
    caught: Array, wrongly: Array, runs: int, delta: float, error: float, gaussian: bool
) -> tuple[int, float]:
    """Return the index of the largest expected bound, and the bound."""
    low = at_least(np.floor(caught * runs), runs, error / 2)
    high = at_most(np.ceil(wrongly * runs), runs, error / 2)
    promised = mu_of(low, high) if gaussian else epsilon_of(low, high, delta)
    if not promised.any():  # too few runs for any bound: where the two differ most
        return int(np.argmax(caught - wrongly)), 0.0
    best = int(promised.argmax())
    return best, float(promised[best])
