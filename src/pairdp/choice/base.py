"""Which algorithm to take, decided from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass

from pairdp.algorithms import Algorithm, Plan
from pairdp.privacy import Budget
from pairdp.problem import Problem


@dataclass(frozen=True)
class Candidate:
    """An algorithm with the problem it would solve, and how well it is predicted to do.

    Attributes
    ----------
    problem : Problem
        What it would minimise.
    algorithm : Algorithm
        The hyper-parameters.
    error : float
        Predicted loss of quality against perfect knowledge, comparable within one choice.
    reason : str
        Where that number comes from, in a sentence.
    """

    problem: Problem
    algorithm: Algorithm
    error: float
    reason: str


@dataclass(frozen=True)
class Choice:
    """All that was considered for a task, the best first.

    Attributes
    ----------
    n, features : int
        The public size of the data.
    budget : Budget or None
        What may be spent.
    candidates : tuple of Candidate
        By predicted error, the least first.
    """

    n: int
    features: int
    budget: Budget | None
    candidates: tuple[Candidate, ...]

    def __post_init__(self) -> None:
        if not self.candidates:
            raise ValueError("there is nothing to choose from")
        ordered = tuple(sorted(self.candidates, key=lambda candidate: candidate.error))
        object.__setattr__(self, "candidates", ordered)

    @property
    def best(self) -> Candidate:
        """The candidate with the least predicted error."""
        return self.candidates[0]

    def plan(self) -> Plan:
        """Return the plan of the best candidate."""
        best = self.best
        return best.algorithm.plan(best.problem, self.n, self.features, self.budget)
