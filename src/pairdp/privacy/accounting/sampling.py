"""How the records of one step are drawn, and what that does to its privacy loss.

Draws must not depend on the data, and must stay secret: amplification by
sampling is void against someone who knows which records were drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pairdp._checks import integer, non_negative, positive
from pairdp.privacy.accounting.appearances import (
    SumLaw,
    law_of_permutations,
    law_with_replacement,
    mixture_delta,
)
from pairdp.privacy.accounting.dominating_pairs import (
    DominatingPair,
    FixedSizeSamplingPair,
    GaussianPair,
    MixturePair,
    PoissonSamplingPair,
)

_ALMOST_ONE = math.nextafter(1.0, 0.0)


@dataclass(frozen=True)
class FixedSizeSampling:
    """``size`` of ``population`` records, uniformly without replacement, anew each step.

    The sensitivity it goes with is that of the batch's value when one record of the
    batch is replaced.
    """

    size: int
    population: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", integer("size", self.size))
        object.__setattr__(self, "population", integer("population", self.population))
        if self.size > self.population:
            raise ValueError(
                f"size must be at most population, got {self.size} of {self.population}"
            )

    @property
    def rate(self) -> float:
        """Probability that a given record is drawn."""
        return self.size / self.population

    def pair(self, mu: float) -> DominatingPair:
        """Return the dominating pair of a step whose sensitivity over noise is ``mu``."""
        return GaussianPair(mu) if self.rate == 1 else FixedSizeSamplingPair(mu, self.rate)

    def describe(self) -> str:
        """Return the scheme in words."""
        return f"{self.size} of {self.population} records drawn without replacement at each step"


@dataclass(frozen=True)
class PoissonSampling:
    """Every record enters a step's sum independently with probability ``rate``.

    For sums of one clipped contribution a record: the sensitivity it goes with is
    twice the clipping norm, the most that replacing a record moves the full sum.
    Never for sums over the pairs of a batch.
    """

    rate: float

    def __post_init__(self) -> None:
        rate = positive("rate", self.rate)
        if rate > 1:
            raise ValueError(f"rate must be at most 1, got {rate!r}")
        object.__setattr__(self, "rate", rate)

    def pair(self, mu: float) -> DominatingPair:
        """Return the dominating pair of a step whose sensitivity over noise is ``mu``."""
        return GaussianPair(mu) if self.rate == 1 else PoissonSamplingPair(mu, self.rate)

    def describe(self) -> str:
        """Return the scheme in words."""
        return f"every record drawn with probability {self.rate:g} at each step"


@dataclass(frozen=True)
class RepeatedDraws:
    """Records drawn again and again for one average, each meeting all earlier ones.

    The sensitivity it goes with is that of one step, u. The average then moves by at most
    u·(base + Σc_k) if the record is drawn at the places k, by nothing if it is not drawn, and never
    by more than u·most (`pairdp.privacy.accounting.appearances`).

    Parameters
    ----------
    population, draws : int
        n and T; one draw makes no pair.
    order : {"replacement", "permutation"}
        Whether draws are independent, or whole passes in a new random order each.
    base : float
        What a record moves beyond its appearances: the steps of a loss that is not smooth.
    most : float
        A limit such as the diameter of the constraint set.
    """

    population: int
    draws: int
    order: Literal["replacement", "permutation"] = "replacement"
    base: float = 0.0
    most: float = math.inf

    def __post_init__(self) -> None:
        for name, least in (("population", 2), ("draws", 2)):
            object.__setattr__(self, name, integer(name, getattr(self, name), at_least=least))
        if self.order not in ("replacement", "permutation"):
            raise ValueError(f'order must be "replacement" or "permutation", got {self.order!r}')
        if self.order == "permutation" and self.draws % self.population:
            raise ValueError(
                f"passes are whole: draws must be a multiple of {self.population}, got {self.draws}"
            )
        object.__setattr__(self, "base", non_negative("base", self.base))
        object.__setattr__(self, "most", positive("most", self.most, finite=False))

    @property
    def rate(self) -> float:
        """Probability that a given record is drawn; never quite 1, as draws differ in weight."""
        if self.order == "permutation":
            return _ALMOST_ONE
        return min(-math.expm1(self.draws * math.log1p(-1 / self.population)), _ALMOST_ONE)

    @property
    def law(self) -> SumLaw:
        """How far the record moves the average, in steps."""
        if self.order == "permutation":
            law = law_of_permutations(self.population, self.draws // self.population)
        else:
            law = law_with_replacement(self.population, self.draws)
        moved = np.where(law.sums > 0, np.minimum(law.sums + self.base, self.most), 0.0)
        return SumLaw(moved, law.masses, law.slack)

    def pair(self, mu: float) -> DominatingPair:
        """Return the dominating pair for a step whose sensitivity over noise is ``mu``."""
        law = self.law
        return MixturePair(mu * law.sums, law.masses, law.slack)

    def profile(self, mu: float, epsilon: float) -> float:
        """Return δ(ε) of one such average, exactly but for the rounding of sums."""
        law = self.law
        return min(1.0, mixture_delta(epsilon, mu * law.sums, law.masses) + law.slack)

    def describe(self) -> str:
        """Return the scheme in words."""
        if self.order == "permutation":
            passes = self.draws // self.population
            return f"{passes} passes over {self.population} records in secret random orders"
        return f"{self.draws} secret draws out of {self.population} records, with replacement"


Sampling = FixedSizeSampling | PoissonSampling | RepeatedDraws
"""Any way of drawing the records of a step."""
