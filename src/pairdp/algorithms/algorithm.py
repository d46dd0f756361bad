"""The base class of algorithms: a frozen set of hyper-parameters that plans, then runs.

`Algorithm.plan` makes a `Plan` from public facts alone, with every number fixed: steps, step sizes,
noise and certificate. `Plan.run` reads the records, draws the planned noise, and returns a `Fit`.
Nothing else that depends on the data is released.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic

import numpy as np
from numpy.typing import NDArray

from pairdp._provenance import is_own
from pairdp._reading import Invalid
from pairdp.algorithms.facts import (
    BY_POSITION,
    Condition,
    assumption_facts,
    assumption_sentences,
    check_convexity,
    plan_facts,
    problem_facts,
)
from pairdp.algorithms.noise import MAX_NOISE_TO_SIGNAL, noise_to_signal
from pairdp.algorithms.parameter_noise import ParameterNoise, unknown_noise
from pairdp.algorithms.plan import Fit, Plan, Progress, RunResult
from pairdp.algorithms.requirements import Need, check_needs
from pairdp.algorithms.task import Calibration, S, Schedule, Task
from pairdp.gathering import Batch
from pairdp.losses import PairwiseLoss
from pairdp.losses.base import slow_sums
from pairdp.privacy import Budget, Certificate, NoiseSource, Release, Unit
from pairdp.problem import Problem
from pairdp.storage import Storable
from pairdp.unit_limit import UnitLimit

Array = NDArray[np.float64]
WITH_DRAWS = (
    "its cost averages over which records are drawn, and those of a unit are drawn more often than "
    "one record"
)
IN_PARTS = "the records of a unit may be in several of its parts, each of which costs privacy"


class UnitsNotOfferedError(ValueError):
    """The bounds of an algorithm do not hold for all records of a unit."""


@dataclass(frozen=True)
class PlanDraft(Generic[S]):
    """The releases and settings that an algorithm decides for a task; the basis of its plan.

    Attributes
    ----------
    releases : tuple of Release
        Everything that is released.
    settings, reasons
        See `Plan`.
    problem : Problem, optional
        The problem that is solved, if it differs from the task's problem.
    departures : tuple of str
        See `Plan`.
    assumptions : tuple of str
        What the certificate assumes besides, in sentences.
    """

    releases: tuple[Release, ...]
    settings: S
    reasons: tuple[str, ...] = ()
    problem: Problem | None = None
    departures: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()


class Algorithm(Storable, ABC, Generic[S]):
    """A frozen set of hyper-parameters that can be planned and run."""

    name: str
    settings_type: type[S]
    """The dataclass of its settings, needed to read stored plans."""

    needs_delta: ClassVar[bool] = False
    without_delta: ClassVar[str] = "use an output-perturbed algorithm such as GradientDescent"
    """What pure ε-DP needs instead, if the algorithm needs δ > 0."""

    instead: ClassVar[str] = "use PairwiseSGD, which needs no smoothness"
    is_printed: ClassVar[bool] = False
    """Whether a paper prints a formula for its noise, which ``calibration="printed"`` uses."""

    has_theorem: ClassVar[bool] = False
    """Whether a theorem of a paper states its schedule, which ``schedule="theorem"`` uses."""

    only_pairs: ClassVar[bool] = False
    """Whether it supports pairwise losses only, and no losses of one record."""

    offers_units: ClassVar[bool] = False
    """Whether its bounds are worst cases over the data and hold for all records of a unit.

    Then `draft` takes sensitivities from ``task.sensitivity``, and no release is sampled or on a
    part of the records."""

    uses_positions: ClassVar[bool] = False
    """Whether positions, and no secret shuffle, decide what a record is combined with.

    Its bounds are then for a record that is replaced in its place, and certificates say so."""

    after_release: ClassVar[frozenset[str] | None] = None
    """The hyper-parameters that no released value depends on, as these enter `solve` alone.

    None if plans with equal releases always release the same statistics."""

    why_no_units: ClassVar[str] = "it does not declare that its bounds hold for them"
    """Why it offers no units, for the error message."""

    most_noise: ClassVar[str] = "the largest possible signal"
    """What `noise_to_signal` compares the noise with, in warnings."""

    without_signal: ClassVar[str] = ""
    """The outcome that a warning names if noise exceeds any signal; by default, a random model."""

    max_noise_to_signal: ClassVar[float] = MAX_NOISE_TO_SIGNAL
    """The `noise_to_signal` at and above which plans warn."""

    @property
    def one_pass(self) -> bool:
        """Whether it needs only sums over the records."""
        return False

    def gather(
        self, task: Task, batches: Iterable[Batch], *, invalid: Invalid, limit: UnitLimit | None
    ) -> Any:
        """Return what it needs of records that come in batches: by default, all of them, clipped.

        If that is no `Records`, `has_gathered` recognises it.
        """
        n, features = task.n, task.features
        return task.problem.gather(batches, n, features, invalid=invalid, limit=limit)

    def has_gathered(self, records: object, task: Task) -> bool:
        """Return whether something that is no `Records` is what `gather` returns for a task."""
        return False

    @property
    def releases_class_means(self) -> bool:
        """Whether its statistics contain ``signed``, ``mean`` and ``balance``: Σ(yx, x, y)/n.

        A threshold is then a function of what it releases.
        """
        return False

    @property
    def needs(self) -> tuple[Need, ...]:
        """The properties that it requires of a problem."""
        return (Need.CONVEX, Need.SMOOTH, Need.LIPSCHITZ)

    def plan(
        self,
        problem: Problem,
        n: int,
        features: int,
        budget: Budget | None = None,
        *,
        calibration: Calibration = "certified",
        schedule: Schedule | None = None,
        conditions: Sequence[Condition] = (),
        unit: Unit | None = None,
        draft: PlanDraft[S] | None = None,
    ) -> Plan[S]:
        """Fix every number for a problem with n records, from public facts alone.

        Parameters
        ----------
        problem : Problem
            What to minimise.
        n, features : int
            The public size of the data.
        budget : Budget, optional
            The privacy budget. Without one the plan is the non-private baseline: the same code
            without noise, and a certificate that says so. Steps that are not specified are then
            chosen as for zero noise.
        calibration : {"certified", "printed"}
            "certified" noise is proved and tight. "printed" is the paper's formula as printed, for
            study; the plan then states the ε that this noise provides.
        schedule : {"theorem", "tuned"}, optional
            "theorem" takes steps, step sizes, averaging, initial point, projection and burn-in from
            the theorem of the paper, "tuned" chooses them for a small predicted error. The default
            is "theorem" with printed noise and "tuned" with certified noise.
        conditions : sequence of Condition
            Further assumptions on the data, which the certificate states.
        unit : Unit, optional
            What is protected: all records of one unit, of which at most ``max_records`` are used,
            with noise for that many replaced records. By default, a single record.
        draft : PlanDraft, optional
            The result of `prepare` for the same task, to avoid computing it again.

        Raises
        ------
        ValueError
            If the problem lacks a property that the algorithm needs; the message says what to
            change.
        """
        if schedule is None:
            schedule = "theorem" if calibration == "printed" and self.has_theorem else "tuned"
        task = Task(problem, n, features, budget, calibration, schedule, unit)
        for condition in conditions:
            condition.check(problem, features)
        draft = self.prepare(task) if draft is None else draft
        self._check_records(task, draft)
        solved = draft.problem or problem
        # Without a budget there is no noise, printed or certified.
        task = replace(
            task, problem=solved, calibration="certified" if budget is None else calibration
        )
        departures = draft.departures
        if task.follows_theorem and budget is not None and not task.is_printed:
            departures = (*departures, "the noise is certified, and not that of the paper")
        assumed = assumption_facts(solved, draft.releases, _is_of_this_library(self))
        certificate = Certificate(
            algorithm=self.name,
            budget=budget,
            n=task.n,
            releases=draft.releases,
            problem={**problem_facts(solved, task.features), **assumed},
            calibration="none" if budget is None else calibration,
            assumptions=(
                f"Every record is clipped to norm {problem.data_norm:g}, which is public.",
                problem.labels_in_words,
                *assumption_sentences(solved, draft.releases, assumed, type(self).__name__),
                *((BY_POSITION,) if self.uses_positions else ()),
                *draft.assumptions,
                *(condition.sentence for condition in conditions),
            ),
            plan=plan_facts(self, problem, task, draft.settings, departures, conditions),
            unit=unit,
        )
        reasons = (*draft.reasons, *slow_sums(problem.loss))
        return Plan(self, task, certificate, draft.settings, reasons, departures)

    def prepare(self, task: Task) -> PlanDraft[S]:
        """Check a task, and decide its releases and settings."""
        self.check(task)
        draft = self.draft(task)
        check_convexity(self.name, draft.problem or task.problem, draft.releases)
        if self.settings_from(draft.settings.to_dict()) != draft.settings:
            raise TypeError(f"the settings of {self.name} are not of its settings_type")
        return draft

    def check(self, task: Task) -> None:
        """Raise ValueError if the task lacks what the algorithm needs."""
        problem, budget = task.problem, task.budget
        if budget is not None and budget.is_pure and self.needs_delta:
            raise ValueError(
                f"{self.name} adds Gaussian noise at every step and cannot satisfy pure ε-DP: set "
                f"delta > 0, or {self.without_delta}"
            )
        self.check_unit(task)
        if task.is_printed and not self.is_printed:
            raise ValueError(
                f'no paper prints the noise of {self.name}: use calibration="certified"'
            )
        if task.follows_theorem and not self.has_theorem:
            raise ValueError(
                f'no theorem of a paper states the schedule of {self.name}: use schedule="tuned"'
            )
        if self.only_pairs and not isinstance(problem.loss, PairwiseLoss):
            raise ValueError(
                f"{self.name} needs a pairwise loss, and {type(problem.loss).__name__} is a "
                "loss of one record: use GradientDescent, MinimizerRelease or NoisyGradientDescent"
            )
        check_needs(self.name, self.needs, problem, self.instead)

    def check_unit(self, task: Task) -> None:
        """Raise ValueError for a task with a unit that the algorithm does not offer."""
        if task.unit is None:
            return
        if task.is_printed:
            raise ValueError(
                "printed noise is for one replaced record, and not for all records of a unit: use "
                'calibration="certified", or no unit'
            )
        if not self.offers_units:
            raise UnitsNotOfferedError(
                f"{self.name} does not offer units of several records, as {self.why_no_units}: use "
                'algorithm="auto", or one that does, such as GradientDescent, MinimizerRelease, '
                "MomentRelease, FisherMetric, ScatterMetric or NoisyGradientDescent without "
                "batch_size"
            )

    def check_parts(self, plan: Plan[S]) -> None:
        """Raise ValueError if a plan needs more than sums over parts of the records.

        A derived class that reads records through ``map_sum`` alone says here which of its plans
        do so; see `pairdp.partitioned_records`.
        """
        raise ValueError(
            f"{self.name} needs all records in one place: for records in parts use an algorithm "
            "of sums, such as MomentRelease, ConditionedDescent, FisherMetric, GradientDescent, "
            "MinimizerRelease or NoisyGradientDescent without batch_size"
        )

    def _check_records(self, task: Task, draft: PlanDraft[S]) -> None:
        """Raise TypeError if a sensitivity is not for as many records as may be replaced."""
        for release in draft.releases:
            stated = release.sensitivity
            if stated is not None and stated.records != task.records:
                raise TypeError(
                    f"the sensitivities of {self.name} must be those of task.sensitivity, for "
                    f"{task.records} records of a unit"
                )

    def draft_from(self, other: Algorithm, draft: PlanDraft[Any]) -> PlanDraft[S] | None:
        """Return its draft if another algorithm's draft determines it, otherwise None."""
        return draft if self == other else None

    def settings_from(self, recorded: Mapping[str, Any]) -> S:
        """Return the settings that a certificate records."""
        return self.settings_type(**recorded)

    def noise_to_signal(self, plan: Plan[S]) -> float:
        """Return E|noise| on the model divided by the largest possible signal, from public facts.

        See `pairdp.algorithms.noise`; with several releases, the smallest of their ratios.
        """
        return min(
            noise_to_signal(
                release,
                plan.task.n,
                math.inf
                if release.sensitivity is None
                else release.sensitivity.inputs.get("diameter", math.inf),
            )
            for release in plan.certificate.releases
        )

    def omissions(self, plan: Plan[S]) -> tuple[str, ...]:
        """Return what was asked for and a plan leaves out, one sentence each, for its warnings."""
        return ()

    @property
    def noise_needs_statistics(self) -> bool:
        """Whether `noise_of` uses released statistics that model files do not store."""
        return False

    def noise_of(self, plan: Plan[S], fit: Fit) -> ParameterNoise:
        """Return how large the noise on each parameter of a fit is, from public facts and releases.

        Derived classes define `_parameter_noise`, for plans with noise.
        """
        if plan.task.budget is None:
            return ParameterNoise("exact", "no noise was added", 0.0)
        return self._parameter_noise(plan, fit)

    def _parameter_noise(self, plan: Plan[S], fit: Fit) -> ParameterNoise:
        return unknown_noise(f"{self.name} does not state how its noise affects the parameters")

    @property
    def solves_from_release(self) -> bool:
        """Whether `solve` is defined for the statistics that it releases."""
        return False

    def solve(self, plan: Plan[S], statistics: Mapping[str, Array]) -> RunResult | None:
        """Return what `execute` computes from released statistics, without the records.

        None if the statistics do not determine it. An algorithm that releases statistics once, and
        computes its parameters from them, defines this: then other values of the hyper-parameters
        that it uses after the release cost nothing (`Plan.from_release`).
        """
        return None

    @abstractmethod
    def draft(self, task: Task) -> PlanDraft[S]:
        """Decide releases and settings for a task."""

    @abstractmethod
    def execute(
        self, plan: Plan[S], records: Any, noise: NoiseSource, progress: Progress
    ) -> Array | RunResult:
        """Return the parameters that a plan releases, and any statistics released with them.

        ``records`` are Records, ClassMoments if the algorithm is ``one_pass``, or what `gather`
        returns.
        """


def _is_of_this_library(algorithm: Algorithm) -> bool:
    """Return whether an algorithm, and any that it wraps, is part of this library."""
    if not is_own(type(algorithm)):
        return False
    return all(
        _is_of_this_library(one) for one in vars(algorithm).values() if isinstance(one, Algorithm)
    )
