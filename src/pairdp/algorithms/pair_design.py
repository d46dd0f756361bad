"""Algorithms on some pairs of each record, for losses that are slow over all pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.gradient_descent import GradientDescent
from pairdp.algorithms.minimizer import MinimizerRelease
from pairdp.algorithms.noisy_descent import NoisyGradientDescent
from pairdp.algorithms.parameter_noise import ParameterNoise
from pairdp.algorithms.plan import Fit, Plan, Progress, RunResult
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.task import Settings, Task
from pairdp.design_problem import DesignProblem
from pairdp.losses import PairwiseLoss
from pairdp.pairs import BlockDesign
from pairdp.privacy import NoiseSource
from pairdp.problem import Problem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class WithPairDesign(Algorithm):
    r"""An algorithm of gradients, over m pairs of each record instead of all n - 1.

    Which pairs is a function of n, m and a public seed alone (`pairdp.pairs.block_design`), and
    every record is in exactly m of them: the sensitivity of a gradient is D_h/n, as over all
    pairs, so that the noise is the same. A gradient takes O(nm) time for every loss, and records
    may be in parts. The estimate of the gradient over all pairs has an error of the order of
    G/√(nm), which is small beside that of n records, of the order of G/√n.

    Parameters
    ----------
    algorithm : GradientDescent, MinimizerRelease or NoisyGradientDescent
        The algorithm; without mini-batches.
    partners : int
        m, the number of pairs of each record; even, and at most 1024.
    seed : int
        Which pairs; it is public, and recorded in the certificate.

    Examples
    --------
    >>> from pairdp import Budget
    >>> from pairdp.constraints import PSDFrobeniusBall
    >>> from pairdp.losses import LogisticMetric
    >>> from pairdp.problem import Problem
    >>> algorithm = WithPairDesign(NoisyGradientDescent(steps=20, step_size=0.1), partners=8)
    >>> problem = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
    >>> plan = algorithm.plan(problem, 100_000, 5, Budget(1.0, 1e-6))
    >>> plan.claim_is_proved
    True
    """

    algorithm: GradientDescent | MinimizerRelease | NoisyGradientDescent
    partners: int = 16
    seed: int = 0

    uses_positions: ClassVar[bool] = True

    def __post_init__(self) -> None:
        allowed = GradientDescent | MinimizerRelease | NoisyGradientDescent
        if not isinstance(self.algorithm, allowed):
            raise TypeError(
                "algorithm must be GradientDescent, MinimizerRelease or NoisyGradientDescent, got "
                f"{self.algorithm!r}"
            )
        of_all = getattr(self.algorithm, "batch_size", None) is None
        if not of_all or getattr(self.algorithm, "pairing", "all") != "all":
            raise ValueError(
                "a pair design is for steps on all records: leave out batch_size and pairing"
            )
        integer("partners", self.partners, at_least=2)
        integer("seed", self.seed, at_least=0)

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name in certificates."""
        return f"{self.algorithm.name}, over a pair design"

    @property
    def needs(self) -> tuple[Need, ...]:
        """The properties that the algorithm requires."""
        return self.algorithm.needs

    @property
    def needs_delta(self) -> bool:  # type: ignore[override]
        """Whether the algorithm needs δ > 0."""
        return self.algorithm.needs_delta

    @property
    def offers_units(self) -> bool:  # type: ignore[override]
        """Whether the algorithm offers units: k records are in at most km pairs."""
        return self.algorithm.offers_units

    def check(self, task: Task) -> None:
        """Raise ValueError if the task lacks what the algorithm needs, or has no such design."""
        super().check(task)
        if not isinstance(task.problem.loss, PairwiseLoss):
            raise ValueError(
                f"a pair design needs a pairwise loss, and {type(task.problem.loss).__name__} is "
                f"a loss of one record: use {type(self.algorithm).__name__} alone"
            )
        self.algorithm.check(task)
        BlockDesign(task.n, self.partners, self.seed)

    def draft(self, task: Task) -> PlanDraft:
        """Decide the releases for the problem over the design."""
        problem = self._problem(task.problem)
        draft = self.algorithm.draft(replace(task, problem=problem))
        reason = (
            f"gradients average over {self.partners} pairs of each record, which n and a public "
            "seed determine"
        )
        return replace(draft, problem=draft.problem or problem, reasons=(*draft.reasons, reason))

    def _problem(self, problem: Problem) -> DesignProblem:
        return DesignProblem(
            problem.loss,
            problem.constraint,
            problem.regularization,
            problem.center,
            problem.data_norm,
            self.partners,
            self.seed,
        )

    def settings_from(self, recorded: Mapping[str, Any]) -> Settings:
        """Return the settings that a certificate records."""
        return self.algorithm.settings_from(recorded)

    def noise_to_signal(self, plan: Plan) -> float:
        """Return the ratio of the algorithm."""
        return self.algorithm.noise_to_signal(self._alone(plan))

    def _parameter_noise(self, plan: Plan, fit: Fit) -> ParameterNoise:
        return self.algorithm.noise_of(self._alone(plan), fit)

    def _alone(self, plan: Plan) -> Any:
        """Return the plan of the algorithm for the problem over the design."""
        return replace(plan, algorithm=self.algorithm)

    def check_parts(self, plan: Plan) -> None:
        """Raise ValueError if the algorithm needs more than gradients."""
        self.algorithm.check_parts(self._alone(plan))

    def execute(
        self, plan: Plan, records: Any, noise: NoiseSource, progress: Progress
    ) -> Array | RunResult:
        """Return what the algorithm does for the problem over the design."""
        return self.algorithm.execute(self._alone(plan), records, noise, progress)
