"""Sampling schemes: how the records of a step are drawn, and the dominating pair of the step.

Draws must not depend on the data and must stay secret: amplification by sampling does not protect
against an attacker who knows which records were drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pairdp._checks import integer, keep, non_negative, positive
from pairdp.privacy import accounting
from pairdp.privacy.accounting import gaussian

_ALMOST_ONE = math.nextafter(1.0, 0.0)


@dataclass(frozen=True)
class FixedSizeSampling:
    """``size`` of ``population`` records, drawn uniformly without replacement at each step.

    The matching sensitivity is that of the batch's value when one record of the batch is
    replaced.
    """

    size: int
    population: int

    def __post_init__(self) -> None:
        keep(self, "size", integer("size", self.size))
        keep(self, "population", integer("population", self.population))
        if self.size > self.population:
            raise ValueError(
                f"size must be at most population, got {self.size} of {self.population}"
            )

    @property
    def rate(self) -> float:
        """Probability that a given record is drawn."""
        return self.size / self.population

    def pair(self, mu: float) -> accounting.dominating_pairs.DominatingPair:
        """Return the dominating pair of a step whose sensitivity over noise is ``mu``."""
        return (
            accounting.dominating_pairs.GaussianPair(mu)
            if self.rate == 1
            else accounting.dominating_pairs.FixedSizeSamplingPair(mu, self.rate)
        )

    def describe(self) -> str:
        """Return the scheme in words."""
        return f"{self.size} of {self.population} records drawn without replacement at each step"


@dataclass(frozen=True)
class PoissonSampling:
    """Every record enters a step's sum independently with probability ``rate``.

    For sums of one clipped contribution per record. The matching sensitivity is twice the clipping
    norm, the largest change of the full sum when a record is replaced. Not valid for sums over the
    pairs of a batch.
    """

    rate: float

    def __post_init__(self) -> None:
        rate = positive("rate", self.rate)
        if rate > 1:
            raise ValueError(f"rate must be at most 1, got {rate!r}")
        keep(self, "rate", rate)

    def pair(self, mu: float) -> accounting.dominating_pairs.DominatingPair:
        """Return the dominating pair of a step whose sensitivity over noise is ``mu``."""
        return (
            accounting.dominating_pairs.GaussianPair(mu)
            if self.rate == 1
            else accounting.dominating_pairs.PoissonSamplingPair(mu, self.rate)
        )

    def describe(self) -> str:
        """Return the scheme in words."""
        return f"every record drawn with probability {self.rate:g} at each step"


@dataclass(frozen=True)
class RepeatedDraws:
    """Records drawn repeatedly for one average, each paired with all earlier ones.

    The matching sensitivity is that of one step, u. The average changes by at most u·(base + Σc_k)
    if the record is drawn at positions k, by zero if it is not drawn, and never by more than u·most
    (`pairdp.privacy.accounting.appearances`).

    Parameters
    ----------
    population, draws : int
        n and T, at least 2 each.
    order : {"replacement", "permutation"}
        Independent draws, or complete passes in a new random order each.
    base : float
        The change that does not depend on the draws, due to a loss that is not smooth.
    most : float
        An upper limit such as the diameter of the constraint set.
    """

    population: int
    draws: int
    order: Literal["replacement", "permutation"] = "replacement"
    base: float = 0.0
    most: float = math.inf

    def __post_init__(self) -> None:
        for name in ("population", "draws"):
            keep(self, name, integer(name, getattr(self, name), at_least=2))
        if self.order not in ("replacement", "permutation"):
            raise ValueError(f'order must be "replacement" or "permutation", got {self.order!r}')
        if self.order == "permutation" and self.draws % self.population:
            raise ValueError(
                f"draws must be a multiple of the population {self.population}, got {self.draws}"
            )
        keep(self, "base", non_negative("base", self.base))
        keep(self, "most", positive("most", self.most, finite=False))

    @property
    def rate(self) -> float:
        """Probability that a given record is drawn; below 1, since draws differ in weight."""
        if self.order == "permutation":
            return _ALMOST_ONE
        return min(-math.expm1(self.draws * math.log1p(-1 / self.population)), _ALMOST_ONE)

    @property
    def distribution(self) -> accounting.appearances.SumDistribution:
        """The distribution of the change of the average by one record, in units of one step."""
        if self.order == "permutation":
            found = accounting.appearances.sums_over_permutations(
                self.population, self.draws // self.population
            )
        else:
            found = accounting.appearances.sums_with_replacement(self.population, self.draws)
        changes = np.where(found.sums > 0, np.minimum(found.sums + self.base, self.most), 0.0)
        return accounting.appearances.SumDistribution(changes, found.masses, found.slack)

    def pair(self, mu: float) -> accounting.dominating_pairs.DominatingPair:
        """Return the dominating pair for a step whose sensitivity over noise is ``mu``."""
        sums, masses, slack = self.distribution
        return accounting.dominating_pairs.MixturePair(mu * sums, masses, slack)

    def profile(self, mu: float, epsilon: float) -> float:
        """Return δ(ε) of one such average, exact up to the rounding of sums."""
        sums, masses, slack = self.distribution
        mus = mu * sums
        drawn = mus > 0
        return min(1.0, float(masses[drawn] @ gaussian.deltas(epsilon, mus[drawn])) + slack)

    def describe(self) -> str:
        """Return the scheme in words."""
        if self.order == "permutation":
            passes = self.draws // self.population
            return f"{passes} passes over {self.population} records in secret random orders"
        return f"{self.draws} secret draws out of {self.population} records, with replacement"


Sampling = FixedSizeSampling | PoissonSampling | RepeatedDraws
"""Any sampling scheme."""
