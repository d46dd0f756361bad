"""How the records of one step are drawn, and what that does to its privacy loss.

Draws must not depend on the data, and must stay secret: amplification by
sampling is void against someone who knows which records were drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

from pairdp._checks import positive, whole
from pairdp.privacy.dominating import (
    DominatingPair,
    FixedSizeSamplingPair,
    GaussianPair,
    PoissonSamplingPair,
)


@dataclass(frozen=True)
class FixedSizeSampling:
    """``size`` of ``population`` records, uniformly without replacement, anew each step.

    The sensitivity it goes with is that of the batch's value when one record of the
    batch is replaced.
    """

    size: int
    population: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole("size", self.size))
        object.__setattr__(self, "population", whole("population", self.population))
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


Sampling = FixedSizeSampling | PoissonSampling
"""Either way of drawing the records of a step."""
