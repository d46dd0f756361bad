"""The best of a random number of fits of randomly drawn candidates, by noisy scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, keep, positive
from pairdp.privacy.accounting.budget import Budget
from pairdp.privacy.accounting.events import ApproximateEvent, Event
from pairdp.privacy.accounting.repeat_and_select import (
    PURE_FACTOR,
    geometric_log_delta,
    geometric_mu,
)
from pairdp.privacy.mechanisms.lattice import grid_for, is_grid, to_grid, with_rounding
from pairdp.privacy.mechanisms.rounded_k_norm import rounded_laplace
from pairdp.privacy.mechanisms.vector_mechanism import VectorMechanism

Array = NDArray[np.float64]
_SLACK = 1 - 1e-9


class Runs(NamedTuple):
    """How often candidates are drawn and fitted, and what is claimed for all runs together.

    Attributes
    ----------
    mean : int
        The mean of the geometric number of runs.
    mu : float
        What one fit costs at most: µ of Gaussian differential privacy.
    epsilon, delta : float
        The claim.
    """

    mean: int
    mu: float
    epsilon: float
    delta: float


@dataclass(frozen=True)
class RepeatAndSelect(VectorMechanism):
    """The best of a geometric number of runs: each draws a candidate, fits it and scores it.

    The score gets Laplace noise. See `pairdp.privacy.accounting.repeat_and_select` for the proof.

    Parameters
    ----------
    sensitivity : float
        Δ, how far a replaced record changes a score.
    scale : float
        The scale of the Laplace noise of each score.
    dimension : int
        The number of candidates.
    grid : float
        g, a power of two that scores are multiples of; 0 for the default.
    runs : Runs
        The runs.
    """

    sensitivity: float
    scale: float
    dimension: int
    grid: float
    runs: Runs

    def __post_init__(self) -> None:
        keep(self, "sensitivity", positive("sensitivity", self.sensitivity))
        keep(self, "scale", positive("scale", self.scale))
        keep(self, "dimension", integer("dimension", self.dimension))
        if self.grid == 0:
            keep(self, "grid", grid_for(self.sensitivity, self.scale, 1))
        keep(self, "grid", positive("grid", self.grid))
        if not is_grid(self.grid):
            raise ValueError(f"grid must be a power of two, got {self.grid!r}")
        budget = Budget(self.runs.epsilon, self.runs.delta)
        keep(self, "runs", self.runs._replace(mean=integer("mean", self.runs.mean)))
        if budget.is_pure or not self._within(positive("mu", self.runs.mu)):
            raise ValueError("the noise of the runs is too small for what is claimed")

    def _within(self, mu: float) -> bool:
        claimed, score = self.runs, PURE_FACTOR * self.rounded_sensitivity / self.scale
        log_delta = geometric_log_delta(mu, claimed.mean, claimed.epsilon)
        return score <= claimed.epsilon and log_delta <= math.log(claimed.delta)

    @classmethod
    def for_budget(
        cls, budget: Budget, sensitivity: float, dimension: int, mean: int
    ) -> RepeatAndSelect:
        """Return the mechanism with the least noise within a budget."""
        inverse = PURE_FACTOR / (budget.epsilon * _SLACK)
        scale = with_rounding(sensitivity, inverse, 1) * inverse
        runs = Runs(mean, geometric_mu(budget, mean), budget.epsilon, budget.delta)
        return cls(sensitivity, scale, dimension, 0.0, runs)

    @property
    def rounding(self) -> float:
        """g: what rounding to the grid adds to the sensitivity of a score."""
        return self.grid

    @property
    def rounded_sensitivity(self) -> float:
        """Δ + g, the sensitivity of a rounded score."""
        return self.sensitivity + self.grid

    def event(self, steps: int = 1) -> Event:
        """Return the privacy event: (ε, δ) as claimed, which was checked."""
        if steps != 1:
            raise ValueError("repeat-and-select is used once")
        return ApproximateEvent(self.runs.epsilon, self.runs.delta)

    def number_of_runs(self, generator: np.random.Generator) -> int:
        """Draw the number of runs, exactly; it must not be released."""
        count = 1
        while generator.integers(self.runs.mean) != 0:
            count += 1
        return count

    def draw(self, generator: np.random.Generator) -> int:
        """Draw the candidate of a run."""
        return int(generator.integers(self.dimension))

    def missed(self) -> float:
        """Return the probability that a given candidate is never drawn."""
        stop, other = 1 / self.runs.mean, 1 - 1 / self.dimension
        return stop * other / (1 - (1 - stop) * other)

    def _release(self, vector: Array, generator: np.random.Generator) -> Array:
        noise = rounded_laplace(generator, self.scale / self.grid, vector.size)
        return np.asarray((to_grid(vector, self.grid) + noise) * self.grid)
