"""The public facts that a plan is made from, and the settings that it decides."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

import numpy as np

from pairdp._checks import between, integer, one_of
from pairdp._sums import LARGEST_N
from pairdp.privacy import Budget, Sensitivity, Unit
from pairdp.privacy.accounting.unit import check_unit, records_of
from pairdp.privacy.bounds.sensitivity import Number
from pairdp.privacy.certificates.certificate import Scalar
from pairdp.problem import Problem

if TYPE_CHECKING:
    from typing_extensions import TypeVar
else:
    from typing import TypeVar

_EPSILON, _DELTA = (1e-15, 1e15), (1e-100, 1.0)
"""The range of budgets in which accounting is numerically accurate."""

Calibration = Literal["certified", "printed"]
Schedule = Literal["theorem", "tuned"]


@dataclass(frozen=True)
class Task:
    """The public facts that a plan is made from.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    n : int
        Number of records, from 2 to 10¹⁰.
    features : int
        Number of features.
    budget : Budget or None
        The privacy budget; None for a baseline without noise.
    calibration : {"certified", "printed"}
        Whether noise is certified or as printed in the paper.
    schedule : {"tuned", "theorem"}
        Whether steps, step sizes and the like are chosen for a small predicted error, or are those
        of the paper's theorem.
    unit : Unit, optional
        What is protected: all records of a unit; a single record by default.
    """

    problem: Problem
    n: int
    features: int
    budget: Budget | None = None
    calibration: Calibration = "certified"
    schedule: Schedule = "tuned"
    unit: Unit | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", integer("n", self.n, at_least=2))
        if self.n > LARGEST_N:
            raise ValueError(
                f"n must be at most {LARGEST_N:.0e}, got {self.n}: the rounding of sums over more "
                "records is not accounted for"
            )
        object.__setattr__(self, "features", integer("features", self.features))
        if not isinstance(self.problem, Problem):
            raise TypeError(f"problem must be a Problem, got a {type(self.problem).__name__}")
        self.problem.check_features(self.features)
        if self.budget is not None and not isinstance(self.budget, Budget):
            raise TypeError(f"budget must be a Budget or None, got {self.budget!r}")
        if self.budget is not None:
            instead = "its noise cannot be computed"
            between("epsilon", self.budget.epsilon, *_EPSILON, instead)
            if not self.budget.is_pure:
                between("delta", self.budget.delta, *_DELTA, instead)
        one_of("calibration", self.calibration, "certified", "printed")
        one_of("schedule", self.schedule, "theorem", "tuned")
        check_unit(self.unit)

    @property
    def records(self) -> int:
        """How many records may differ between neighbours: k of a unit, otherwise 1."""
        return records_of(self.unit)

    def sensitivity(self, bound: str, **inputs: Number) -> Sensitivity:
        """Return the sensitivity that a named bound gives for a record, or for a unit."""
        return Sensitivity.of(bound, **inputs).for_records(self.records)

    @property
    def dimension(self) -> int:
        """Number of free parameters, d(d+1)/2 for a metric."""
        return self.problem.constraint.dimension(self.features)

    @property
    def diameter(self) -> float:
        """Largest distance between two parameters."""
        return self.problem.constraint.diameter(self.features)

    @property
    def diameter_input(self) -> dict[str, float]:
        """The diameter as an input of bounds; empty if it is infinite."""
        return {"diameter": self.diameter} if math.isfinite(self.diameter) else {}

    @property
    def is_printed(self) -> bool:
        """Whether the calibration is "printed"."""
        return self.budget is not None and self.calibration == "printed"

    @property
    def follows_theorem(self) -> bool:
        """Whether the schedule is "theorem"."""
        return self.schedule == "theorem"

    @property
    def printed_lipschitz(self) -> float:
        """The G of the papers: that of the regularised loss, G + λ(B + |w₀|)."""
        problem = self.problem
        lipschitz = problem.loss.lipschitz(problem.domain())
        if problem.regularization == 0:
            return lipschitz
        if not problem.is_bounded:
            raise ValueError(
                "G of a regularised loss, as in the papers, is infinite on an unbounded set: use a "
                "bounded one such as L2Ball(radius) with projected steps, state the paper's G as "
                "printed_lipschitz, or use calibration='certified'"
            )
        far = problem.constraint.radius + float(np.linalg.norm(problem.center))
        return lipschitz + problem.regularization * far


@dataclass(frozen=True)
class Settings:
    """The settings of a plan. A subclass has one field for each number or string.

    A field that is None does not apply to the plan, and the certificate does not record it.
    """

    def to_dict(self) -> dict[str, Scalar]:
        """Return the settings by name, as certificates record them."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


if TYPE_CHECKING:
    S = TypeVar("S", bound=Settings, default=Settings, covariant=True)
else:
    S = TypeVar("S")  # defaults of type variables are for type checkers until Python 3.13
