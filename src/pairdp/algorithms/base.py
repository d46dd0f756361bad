"""Plan, then run: what every algorithm shares.

An algorithm is a frozen set of hyper-parameters. `Algorithm.plan` turns it, from public
facts alone, into a `Plan` with every number fixed: steps, step sizes, noise and
certificate. `Plan.run` reads the records, draws the noise that was planned, and
returns a `Fit`. Nothing else that depends on the data leaves it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._provenance import is_own
from pairdp._reading import Invalid, null_is_asked, read_table
from pairdp.algorithms.class_moments import ClassMoments
from pairdp.algorithms.conditions import Condition
from pairdp.algorithms.foundations import check_convexity, facts_of, sentences_of
from pairdp.algorithms.progress import Progress
from pairdp.algorithms.requirements import Need, check_needs
from pairdp.algorithms.signal import DROWNED, noise_to_signal
from pairdp.algorithms.task import Calibration, Task
from pairdp.losses import PairwiseLoss
from pairdp.privacy import Budget, Certificate, NoiseSource, Release
from pairdp.privacy.certificates.certificate import Scalar
from pairdp.problem import Problem
from pairdp.records import Records
from pairdp.storage import Storable, UnknownObjectError, encode

Array = NDArray[np.float64]


class RunResult(NamedTuple):
    """What an algorithm returns when it releases more than its parameters.

    Attributes
    ----------
    parameters : array
        The model.
    statistics : mapping of str to array
        Noisy statistics that its certificate lists as releases, or functions of them.
    """

    parameters: Array
    statistics: Mapping[str, Array]


@dataclass(frozen=True)
class Fit:
    """What leaves the machine: parameters, and the certificate of how they were made.

    Attributes
    ----------
    parameters : array
        The model.
    certificate : Certificate
        How it was made, and why that is private.
    statistics : mapping of str to array
        More that was released on the way and that the certificate pays for.
    """

    parameters: Array
    certificate: Certificate
    statistics: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parameters.setflags(write=False)


@dataclass(frozen=True)
class Plan:
    """An algorithm with every number fixed, before any data is read.

    Attributes
    ----------
    algorithm : Algorithm
        What was planned.
    task : Task
        The public facts.
    certificate : Certificate
        What the run will release, and why it is private.
    settings : mapping of str to number or string
        Every hyper-parameter as it will be used.
    reasons : tuple of str
        Why those that were not given are what they are.
    """

    algorithm: Algorithm
    task: Task
    certificate: Certificate
    settings: Mapping[str, Scalar]
    reasons: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))

    def __hash__(self) -> int:
        return hash((self.algorithm, self.task, self.certificate))

    def __reduce__(self) -> tuple[object, ...]:
        return Plan, (
            self.algorithm,
            self.task,
            self.certificate,
            dict(self.settings),
            self.reasons,
        )

    @property
    def problem(self) -> Problem:
        """What is minimised; an algorithm may have added a regulariser."""
        return self.task.problem

    @property
    def true_epsilon(self) -> float:
        """The ε that the noise is proved to give at the claimed δ; infinite for a baseline."""
        found = self.certificate.epsilon()
        # Inverting the curve rounds up; what is proved at the claim is no more than the claim.
        proved = self.task.budget if self.claim_is_proved else None
        return found if proved is None else min(found, proved.epsilon)

    @property
    def claim_is_proved(self) -> bool:
        """Whether the claimed budget follows from the noise. A printed formula's may not."""
        return self.task.budget is not None and self.certificate.holds

    @property
    def warnings(self) -> tuple[str, ...]:
        """What public facts say against the plan, one sentence each; empty for sensible plans."""
        budget = self.task.budget
        ratio = 0.0 if budget is None else self.algorithm.noise_to_signal(self)
        if budget is None or ratio < self.algorithm.drowned:
            return ()
        # Metrics are pulled to the Euclidean one, and noise need not be large against that.
        is_metric = self.problem.loss.matrix
        outcome = self.algorithm.without_signal or (
            "the metric will not learn from the records"
            if is_metric
            else "the model will be close to random"
        )
        sentence = (
            f"at ε = {budget.epsilon:g} and n = {self.task.n} the noise is expected to be "
            f"{ratio:.3g} times as large as the largest possible signal: {outcome}; use a larger "
            "epsilon or more records"
        )
        return (sentence,)

    def read(
        self, batches: Iterable[tuple[ArrayLike, ArrayLike]], *, invalid: Invalid = "error"
    ) -> Records | ClassMoments:
        """Return what `run` needs of records that come in batches.

        Where the algorithm needs only sums, one batch is in memory at a time; else the
        clipped records are gathered in one table.

        Parameters
        ----------
        batches : iterable of (x, y)
            Features and labels, as for ``problem.records``, n records in all.
        invalid : {"error", "null"}
            What to do with records that cannot be read; see `pairdp.records.Records`.
        """
        problem, task = self.problem, self.task
        if not self.algorithm.one_pass:
            return problem.gather(batches, task.n, task.features, invalid=invalid)
        total: ClassMoments | None = None
        for x, y in batches:
            if null_is_asked(invalid):
                x = x if hasattr(x, "shape") else read_table(x, task.features)
            elif np.ndim(y) != 1:
                raise ValueError(f"labels must be one a record, got {np.ndim(y)} dimensions")
            sums = ClassMoments.of(problem.records(x, y, invalid=invalid))
            if sums.features != task.features:
                raise ValueError(f"a batch has {sums.features} features, not {task.features}")
            total = sums if total is None else total + sums
        if total is None or total.n != task.n:
            raise ValueError(
                f"the plan is for {task.n} records, and the batches have "
                f"{0 if total is None else total.n}: plan again for these"
            )
        return total

    def run(
        self,
        records: Records | ClassMoments,
        noise: NoiseSource | None = None,
        *,
        progress: bool | None = None,
    ) -> Fit:
        """Read the records, draw the planned noise, and return the release.

        Parameters
        ----------
        records : Records or ClassMoments
            Made by ``problem.records(x, y)``, or by `read`.
        noise : NoiseSource, optional
            Where randomness comes from; by default a new source keyed by the operating
            system. A source serves one run.
        progress : bool, optional
            Whether to show a progress bar; by default on a terminal, for runs of more than
            two seconds.

        Notes
        -----
        A run that is interrupted returns nothing and has released nothing.
        """
        task = self.task
        if not isinstance(records, Records | ClassMoments):
            raise TypeError(
                f"records must be made with problem.records(x, y), got a {type(records).__name__}"
            )
        if noise is not None and not isinstance(noise, NoiseSource):
            raise TypeError(f"noise must be a NoiseSource or None, got a {type(noise).__name__}")
        if (records.n, records.features) != (task.n, task.features):
            raise ValueError(
                f"the plan is for {task.n} records of {task.features} features, got "
                f"{records.n} of {records.features}: plan again for these"
            )
        if records.data_norm > task.problem.data_norm:
            raise ValueError("make the records with problem.records(x, y), which clips them")
        if task.problem.loss.binary and not records.binary:
            raise ValueError(
                "the loss is of two classes and the records have any: make them with "
                "problem.records(x, y)"
            )
        if isinstance(records, Records):
            task.problem.check_records(records)
        elif not self.algorithm.one_pass:
            raise TypeError(f"{self.algorithm.name} needs the records, not their sums")
        source = NoiseSource() if noise is None else noise
        found = self.algorithm.execute(self, records, source, Progress(progress))
        outcome = found if isinstance(found, RunResult) else RunResult(found, {})
        certificate = self.certificate.with_noise_source(source)
        return Fit(np.array(outcome.parameters), certificate, outcome.statistics)

    def __str__(self) -> str:
        budget = self.task.budget
        claim = "no privacy" if budget is None else f"ε = {budget.epsilon:g}, δ = {budget.delta:g}"
        lines = [f"{self.algorithm.name} for n = {self.task.n}, {claim}"]
        lines += [f"  {name} = {_shown(value)}" for name, value in self.settings.items()]
        lines += [f"  {release.describe()}" for release in self.certificate.releases]
        if budget is not None and not self.claim_is_proved:
            lines.append(
                f"  NOT PROVED: this noise is certified for ε = {self.true_epsilon:.4g} at that δ"
            )
        lines += [f"  {reason}" for reason in self.reasons]
        lines += [f"  WARNING: {sentence}" for sentence in self.warnings]
        return "\n".join(lines)


def _shown(value: Scalar) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class PlanDraft:
    """What an algorithm decides for a task, from which its plan is made.

    Attributes
    ----------
    releases : tuple of Release
        Everything that leaves.
    settings, reasons
        See `Plan`.
    problem : Problem, optional
        The problem that is solved, when it is not the task's own.
    """

    releases: tuple[Release, ...]
    settings: Mapping[str, Scalar]
    reasons: tuple[str, ...] = ()
    problem: Problem | None = None
    facts: Mapping[str, Scalar] = field(default_factory=dict)


class Algorithm(Storable, ABC):
    """A frozen set of hyper-parameters that knows how to plan and how to run a plan."""

    name: str
    needs_delta: ClassVar[bool] = False
    instead: ClassVar[str] = "use PairwiseSGD, which needs no smoothness"
    is_printed: ClassVar[bool] = False
    """Whether a paper prints a formula for its noise, which ``calibration="printed"`` takes."""

    only_pairs: ClassVar[bool] = False
    """Whether it is made for losses of pairs and cannot serve losses of one record."""
    without_signal: ClassVar[str] = ""
    """What becomes of the model where noise hides any signal, if it is no random one."""
    drowned: ClassVar[float] = DROWNED
    """The `noise_to_signal` from which on that is so."""

    @property
    def one_pass(self) -> bool:
        """Whether sums over the records are all that it needs."""
        return False

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the algorithm needs of a problem."""
        return (Need.CONVEX, Need.SMOOTH, Need.LIPSCHITZ)

    def plan(
        self,
        problem: Problem,
        n: int,
        features: int,
        budget: Budget | None = None,
        *,
        calibration: Calibration = "certified",
        conditions: Sequence[Condition] = (),
        draft: PlanDraft | None = None,
    ) -> Plan:
        """Fix every number for a problem with n records, from public facts alone.

        Parameters
        ----------
        problem : Problem
            What to minimise.
        n, features : int
            The public size of the data.
        budget : Budget, optional
            What may be spent. Without one the plan is the non-private baseline: the same
            code without noise, and a certificate that says so. Steps that are not given are
            then chosen for no noise.
        calibration : {"certified", "printed"}
            "certified" is proved and tight. "printed" is the paper's formula to the letter,
            for study; the plan then tells what that noise truly gives.
        conditions : sequence of Condition
            What else must be true of the data, for the certificate to say.
        draft : PlanDraft, optional
            What `prepare` returned for the same task, so that it is not decided again.

        Raises
        ------
        ValueError
            If the problem lacks what the algorithm needs, saying what to change.
        """
        task = Task(problem, n, features, budget, calibration)
        for condition in conditions:
            condition.check(problem)
        draft = self.prepare(task) if draft is None else draft
        solved = draft.problem or problem
        # Without a budget there is no noise that a paper could have printed.
        task = Task(
            solved, task.n, task.features, budget, "certified" if budget is None else calibration
        )
        foundations = facts_of(solved, draft.releases, _is_own(self))
        certificate = Certificate(
            algorithm=self.name,
            budget=budget,
            n=task.n,
            releases=draft.releases,
            problem={**_facts(solved, task), **foundations, **draft.facts},
            calibration="none" if budget is None else calibration,
            assumptions=(
                f"Every record is clipped to norm {problem.data_norm:g}, which is public.",
                problem.labels_in_words,
                *sentences_of(solved, draft.releases, foundations, type(self).__name__),
                *(condition.sentence for condition in conditions),
            ),
            plan=_recorded(self, problem, task, draft.settings, conditions),
        )
        return Plan(self, task, certificate, draft.settings, draft.reasons)

    def prepare(self, task: Task) -> PlanDraft:
        """Decide releases and settings for a task, or refuse one that lacks what it needs."""
        problem, budget = task.problem, task.budget
        if budget is not None and budget.is_pure and self.needs_delta:
            raise ValueError(
                f"{self.name} adds Gaussian noise at every step and cannot be pure: set "
                "delta > 0, or use an output-perturbed algorithm such as GradientDescent"
            )
        if task.is_printed and not self.is_printed:
            raise ValueError(
                f'no paper prints the noise of {self.name}: use calibration="certified"'
            )
        if self.only_pairs and not isinstance(problem.loss, PairwiseLoss):
            raise ValueError(
                f"{self.name} goes over pairs of records, and {type(problem.loss).__name__} is a "
                "loss of one record: use GradientDescent, MinimizerRelease or NoisyGradientDescent"
            )
        check_needs(self.name, self.needs, problem, self.instead)
        draft = self.draft(task)
        check_convexity(self.name, draft.problem or problem, draft.releases)
        return draft

    def decides_like(self, other: Algorithm) -> bool:
        """Return whether it decides for any task what another algorithm does."""
        return self == other

    def noise_to_signal(self, plan: Plan) -> float:
        """Return how long the noise on the model is against the largest possible signal.

        See `pairdp.algorithms.signal`; of several releases, where it is least. It is a function of
        public facts.
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

    @abstractmethod
    def draft(self, task: Task) -> PlanDraft:
        """Decide releases and settings for a task."""

    @abstractmethod
    def execute(
        self, plan: Plan, records: Any, noise: NoiseSource, progress: Progress
    ) -> Array | RunResult:
        """Return the parameters that a plan releases, and statistics if there are more.

        ``records`` are Records; their ClassMoments too if the algorithm is ``one_pass``.
        """


def _recorded(
    algorithm: Algorithm,
    problem: Problem,
    task: Task,
    settings: Mapping[str, Scalar],
    conditions: Sequence[Condition],
) -> dict[str, Any] | None:
    """Return what a plan was made from and what it decided, as JSON values.

    None if there are objects that cannot be stored: such a certificate cannot be planned again.
    The problem is the one that was given; the one that is solved is there if it is another.
    """
    solved = task.problem
    try:
        return {
            "algorithm": encode(algorithm),
            "problem": encode(problem),
            "solved": None if solved == problem else encode(solved),
            "features": task.features,
            "conditions": [encode(condition) for condition in conditions],
            "settings": {name: encode(value) for name, value in settings.items()},
        }
    except UnknownObjectError:
        return None


def _is_own(algorithm: Algorithm) -> bool:
    """Return whether an algorithm is this library's, and so is any that it is made of."""
    if not is_own(type(algorithm), ("pairdp.algorithms", "pairdp.online")):
        return False
    return all(_is_own(one) for one in vars(algorithm).values() if isinstance(one, Algorithm))


def _in_words(thing: object) -> str:
    """Return an object as text; one that has no text of its own would show its address."""
    kind = type(thing)
    plain = kind.__repr__ is object.__repr__ and kind.__str__ is object.__str__
    return f"{kind.__name__}()" if plain else str(thing)


def _facts(problem: Problem, task: Task) -> dict[str, Scalar]:
    """Return the public facts of a problem for its certificate."""
    facts: dict[str, Any] = {
        "loss": _in_words(problem.loss),
        "constraint": _in_words(problem.constraint),
        "regularization": problem.regularization,
        "data_norm": problem.data_norm,
        "features": task.features,
    }
    domain = problem.domain()
    for name, value in (
        ("lipschitz", problem.loss.lipschitz(domain)),
        (problem.smoothness_of, problem.loss.smoothness(domain)),
    ):
        facts[name] = value if np.isfinite(value) else None
    return facts
