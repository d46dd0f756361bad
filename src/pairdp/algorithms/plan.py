"""A plan: an algorithm with every number fixed before any data is read, ready to run."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._reading import Invalid
from pairdp.algorithms.class_moments import ClassMoments
from pairdp.algorithms.task import S, Task
from pairdp.gathering import Batch
from pairdp.losses import MetricLoss
from pairdp.partitioned_records import PartitionedRecords
from pairdp.privacy import Certificate, NoiseSource
from pairdp.privacy.certificates.certificate import Scalar
from pairdp.problem import Problem
from pairdp.records import Records
from pairdp.unit_limit import UnitLimit

if TYPE_CHECKING:
    from pairdp.algorithms.algorithm import Algorithm

_DELAY = 2.0

_ONE_FEATURE = (
    "with one feature every metric is a multiple of the Euclidean one: use that one, which costs "
    "nothing"
)


@dataclass(frozen=True)
class Progress:
    """Whether and how to show progress.

    Parameters
    ----------
    show : bool or None
        None shows a bar on a terminal if a run takes more than two seconds.
    """

    show: bool | None = None

    def steps(self, count: int, what: str, *, counted: bool = True) -> Generator[int, None, None]:
        """Yield 0 … count-1, showing progress.

        The number of steps must be public. If it depends on the data, pass ``counted=False``: then
        only the elapsed time is shown.
        """
        if self.show is False or (self.show is None and not sys.stderr.isatty()):
            yield from range(count)
            return
        from tqdm import tqdm

        options = {} if counted else {"bar_format": "{desc}: {elapsed}"}
        delay = 0 if self.show else _DELAY
        yield from tqdm(range(count), desc=what, delay=delay, leave=False, **options)


Array = NDArray[np.float64]


class RunResult(NamedTuple):
    """The result of an algorithm that releases more than its parameters.

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
    """The release of a run: parameters, their certificate, and further statistics.

    Attributes
    ----------
    parameters : array
        The model.
    certificate : Certificate
        What was released, and why it is private.
    statistics : mapping of str to array
        Further noisy statistics, which the certificate accounts for.
    """

    parameters: Array
    certificate: Certificate
    statistics: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parameters.setflags(write=False)


@dataclass(frozen=True)
class Plan(Generic[S]):
    """An algorithm with every number fixed, before any data is read.

    Attributes
    ----------
    algorithm : Algorithm
        The algorithm with its hyper-parameters.
    task : Task
        The public facts.
    certificate : Certificate
        What the run will release, and why it is private.
    settings : Settings
        Every hyper-parameter as it will be used, in the algorithm's own dataclass.
    reasons : tuple of str
        How unspecified hyper-parameters were chosen.
    departures : tuple of str
        Where a run with ``schedule="theorem"`` differs from what the paper states.
    """

    algorithm: Algorithm[S]
    task: Task
    certificate: Certificate
    settings: S
    reasons: tuple[str, ...] = ()
    departures: tuple[str, ...] = ()

    @property
    def problem(self) -> Problem:
        """The problem that is solved; an algorithm may have added a regulariser."""
        return self.task.problem

    @property
    def true_epsilon(self) -> float:
        """The ε that the noise is proved to give at the claimed δ; infinite for a baseline."""
        found = self.certificate.epsilon()
        # Inverting the privacy curve rounds up, which must not exceed a proved claim.
        proved = self.task.budget if self.claim_is_proved else None
        return found if proved is None else min(found, proved.epsilon)

    @property
    def claim_is_proved(self) -> bool:
        """Whether the noise satisfies the claimed budget; that of a printed formula may not."""
        return self.task.budget is not None and self.certificate.holds

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings from public facts, one sentence each; empty for sensible plans."""
        budget = self.task.budget
        omissions = self.algorithm.omissions(self)
        if isinstance(self.problem.loss, MetricLoss) and self.task.features == 1:
            return (_ONE_FEATURE, *omissions)
        ratio = 0.0 if budget is None else self.algorithm.noise_to_signal(self)
        if budget is None or ratio < self.algorithm.max_noise_to_signal:
            return omissions
        # Metrics are regularised towards the Euclidean one, which may be larger than the noise.
        outcome = self.algorithm.without_signal or (
            "the metric will not learn from the records"
            if self.problem.loss.matrix
            else "the model will be close to random"
        )
        sentence = (
            f"at ε = {budget.epsilon:g} and n = {self.task.n} the noise is expected to be "
            f"{ratio:.3g} times as large as {self.algorithm.most_noise}: {outcome}; use a larger "
            "epsilon or more records"
        )
        return (sentence, *omissions)

    def read(self, batches: Iterable[Batch], *, invalid: Invalid = "error") -> Any:
        """Read records in batches, for `run`.

        If the algorithm needs only sums, one batch is in memory at a time; otherwise the clipped
        records are gathered in one table, or what the algorithm needs of them.

        Parameters
        ----------
        batches : iterable of (x, y), or of (x, y, groups) for a plan with a unit
            Features and labels, as for ``problem.records``, n records in all; and the unit of each
            record. The first ``unit.max_records`` of each unit are used, and all others become null
            records.
        invalid : {"error", "null"}
            What to do with records that cannot be read; see `pairdp.records.Records`.
        """
        n, features = self.task.n, self.task.features
        unit = self.task.unit
        limit = None if unit is None else UnitLimit(unit.max_records)
        if self.algorithm.one_pass:
            return ClassMoments.gather(
                self.problem, batches, n, features, invalid=invalid, limit=limit
            )
        return self.algorithm.gather(self.task, batches, invalid=invalid, limit=limit)

    def run(
        self,
        records: Any,
        noise: NoiseSource | None = None,
        *,
        progress: bool | None = None,
    ) -> Fit:
        """Read the records, draw the planned noise, and return the release.

        Parameters
        ----------
        records : Records, PartitionedRecords or what `read` returns
            Made by ``problem.records(x, y)``, or by `read`. An algorithm of sums may have them in
            parts.
        noise : NoiseSource, optional
            The source of randomness; by default a new source keyed by the operating system. A
            source can be used for one run.
        progress : bool, optional
            Whether to show a progress bar; by default on a terminal, for runs of more than
            two seconds.

        Notes
        -----
        An interrupted run returns nothing and has released nothing.
        """
        self._check(records)
        if noise is not None and not isinstance(noise, NoiseSource):
            raise TypeError(f"noise must be a NoiseSource or None, got a {type(noise).__name__}")
        source = NoiseSource() if noise is None else noise
        found = self.algorithm.execute(self, records, source, Progress(progress))
        parameters, statistics = found if isinstance(found, RunResult) else (found, {})
        certificate = self.certificate.with_noise_source(source)
        return Fit(np.array(parameters), certificate, statistics)

    def shares_release(self, other: Certificate) -> bool:
        """Return whether another plan releases the same statistics with the same noise.

        Both read the same rows in the same way: n, the unit, clipping and conditions are equal too.
        """
        own = self.certificate
        return (
            own.releases == other.releases
            and (own.algorithm, own.n, own.unit) == (other.algorithm, other.n, other.unit)
            and _reading(own) == _reading(other)
            and _released_by(own, self.algorithm) == _released_by(other, self.algorithm)
        )

    def from_release(self, fit: Fit) -> Fit | None:
        """Return what a run of this plan gives if its noisy values are those of another fit.

        It is computed from what was released, and costs nothing. None if this does not determine
        it: the releases differ, or later ones depend on hyper-parameters (`Algorithm.solve`).
        """
        if not self.shares_release(fit.certificate):
            return None
        certificate = replace(self.certificate, noise_source=fit.certificate.noise_source)
        if certificate == fit.certificate:
            return fit
        found = self.algorithm.solve(self, fit.statistics)
        return None if found is None else Fit(np.array(found[0]), certificate, found[1])

    def _check(self, records: Any) -> None:
        """Raise an error if the plan was not made for these records."""
        task = self.task
        known = isinstance(records, Records | PartitionedRecords | ClassMoments)
        if not (known or self.algorithm.has_gathered(records, task)):
            raise TypeError(
                f"records must be made with problem.records(x, y), got a {type(records).__name__}"
            )
        if (records.n, records.features) != (task.n, task.features):
            raise ValueError(
                f"the plan is for {task.n} records of {task.features} features, got "
                f"{records.n} of {records.features}: plan again for these"
            )
        if task.unit is not None and not 0 < (records.max_records or 0) <= task.records:
            raise ValueError(
                f"the plan protects units of which at most {task.records} records are used: make "
                "the records with plan.read([(x, y, groups)])"
            )
        if records.data_norm > task.problem.data_norm:
            raise ValueError("make the records with problem.records(x, y), which clips them")
        if task.problem.loss.binary and not records.binary:
            raise ValueError(
                "the loss needs two classes, and the records may have more: make them with "
                "problem.records(x, y)"
            )
        if isinstance(records, PartitionedRecords):
            self.algorithm.check_parts(self)
        if isinstance(records, Records | PartitionedRecords):
            task.problem.check_records(records)
        elif isinstance(records, ClassMoments) and not self.algorithm.one_pass:
            raise TypeError(f"{self.algorithm.name} needs the records, not their sums")

    def __str__(self) -> str:
        budget = self.task.budget
        claim = "no privacy" if budget is None else f"ε = {budget.epsilon:g}, δ = {budget.delta:g}"
        lines = [f"{self.algorithm.name} for n = {self.task.n}, {claim}"]
        lines += [f"  {name} = {_shown(value)}" for name, value in self.settings.to_dict().items()]
        lines += [f"  {release.describe()}" for release in self.certificate.releases]
        if budget is not None and not self.claim_is_proved:
            lines.append(
                f"  NOT PROVED: this noise is certified for ε = {self.true_epsilon:.4g} at that δ"
            )
        lines += [f"  {reason}" for reason in self.reasons]
        lines += [f"  departs from the paper: {sentence}" for sentence in self.departures]
        lines += [f"  WARNING: {sentence}" for sentence in self.warnings]
        return "\n".join(lines)


def _reading(certificate: Certificate) -> tuple[object, ...]:
    """Return the facts of a certificate that say how records are read."""
    facts = certificate.plan or {}
    data_norm = certificate.problem.get("data_norm")
    return data_norm, facts.get("features"), facts.get("conditions")


def _released_by(certificate: Certificate, algorithm: Algorithm) -> dict[str, object]:
    """Return the hyper-parameters in a certificate that noisy values may depend on."""
    free = algorithm.after_release
    facts: Mapping[str, Any] = (certificate.plan or {}).get("algorithm") or {}
    fields = facts.get("fields") or {} if free is not None else {}
    return {name: value for name, value in fields.items() if name not in (free or ())}


def _shown(value: Scalar) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
