"""What private estimators share: a plan from public facts, a ledger, a certificate."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pairdp import model_file
from pairdp._checks import positive
from pairdp._reading import Invalid, null_is_asked, read_table
from pairdp.algorithms import Algorithm, Fit, Plan, find_algorithm
from pairdp.algorithms.choice import Choice, balanced_regularization
from pairdp.algorithms.class_moments import ClassMoments
from pairdp.algorithms.conditions import Condition
from pairdp.algorithms.requirements import Need
from pairdp.constraints import Constraint
from pairdp.estimators.caution import NO_DATA_NORM, warn_before
from pairdp.losses import PairwiseLoss, PointwiseLoss
from pairdp.privacy import Budget, BudgetLedger, NoiseSource, default_delta
from pairdp.problem import Problem
from pairdp.records import Records, check_data_norm

Array = NDArray[np.float64]
Loss = PairwiseLoss | PointwiseLoss


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator whose fit is one release, or several, with a certificate."""

    epsilon: float | None
    delta: float | None
    data_norm: float | None
    radius: float
    regularization: float | None
    loss: str | Loss | None
    algorithm: str | Algorithm
    calibration: str
    ledger: BudgetLedger | None
    random_state: Any
    verbose: bool | None
    invalid: Invalid

    plan_: Plan

    _losses: ClassVar[Mapping[str, Loss]]
    _loss_kind: ClassVar[type[Loss]]
    _problem_kind: ClassVar[type[Problem]] = Problem

    def plan(self, n: int, n_features: int) -> Plan:
        """Return what `fit` would do with data of this size, without any data.

        Parameters
        ----------
        n, n_features : int
            The public size of the data.

        Returns
        -------
        Plan
            Print it to see noise, steps and reasons.
        """
        self._clipped_to()
        positive("radius", self.radius, finite=False)
        budget = self._budget(n)
        algorithm = algorithm_of(self.algorithm)
        why: tuple[str, ...] = ()
        if algorithm is None:
            best = self.choices(n, n_features).best
            algorithm, problem, why = best.algorithm, best.problem, (f"auto: {best.reason}",)
        else:
            problem = self._problem(algorithm, n, n_features)
        plan = self._complete(algorithm).plan(
            problem,
            n,
            self._columns(n_features),
            budget,
            calibration=self.calibration,  # type: ignore[arg-type]
            conditions=self._conditions(),
        )
        return replace(plan, reasons=(*why, *plan.reasons, *self._taken(plan)))

    def choices(self, n: int, n_features: int) -> Choice:
        """Return what ``algorithm="auto"`` would choose from, the best first.

        Parameters
        ----------
        n, n_features : int
            The public size of the data.
        """
        if self.calibration != "certified":
            raise ValueError(
                'algorithm="auto" chooses among certified ones: name a published algorithm '
                'such as "DPGDSC" for calibration="printed"'
            )
        return self._choose(
            n,
            self._columns(n_features),
            self._budget(n),
            data_norm=self._norm(),
            radius=self.radius,
            loss=self._given_loss(),
            regularization=self.regularization,
        )

    @abstractmethod
    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        """Return the candidates for this kind of model."""

    @abstractmethod
    def _constraint(self) -> Constraint:
        """Return the set of parameters."""

    @abstractmethod
    def _default_loss(self, algorithm: Algorithm) -> Loss:
        """Return the loss to take when none was given."""

    def _given_loss(self) -> Loss | None:
        """Return the loss that the parameters name, None when it is left open."""
        return loss_of(self.loss, self._losses, self._loss_kind)

    def _columns(self, n_features: int) -> int:
        """Return how many features records have, of so many in the data."""
        return n_features

    def _norm(self) -> float:
        """Return the bound on the norm of records."""
        return self._clipped_to()

    def _clipped_to(self) -> float:
        """Return the norm that rows are clipped to; 1 when none is given."""
        return 1.0 if self.data_norm is None else check_data_norm(self.data_norm)

    def _rows(self, X: ArrayLike) -> ArrayLike:
        """Return the features of records, from those of the data."""
        return X

    def completed(self, algorithm: Algorithm) -> Algorithm:
        """Return the algorithm with whatever else the model releases, such as a threshold."""
        return self._complete(algorithm)

    def _complete(self, algorithm: Algorithm) -> Algorithm:
        """Return the algorithm with whatever else the model needs to release."""
        return algorithm

    def _conditions(self) -> tuple[Condition, ...]:
        """Return what must be true of the data, besides what the algorithm says."""
        return ()

    def _problem(self, algorithm: Algorithm, n: int, n_features: int) -> Problem:
        loss: Any = self._given_loss() or self._default_loss(algorithm)
        given = self.regularization
        problem = self._problem_kind(loss, self._constraint(), given or 0.0, data_norm=self._norm())
        if given is None and problem.is_smooth and Need.STRONGLY_CONVEX in algorithm.needs:
            columns = self._columns(n_features)
            chosen = balanced_regularization(problem, n, columns, self._budget(n))
            return replace(problem, regularization=chosen)
        return problem

    def privacy_statement(self) -> str:
        """Return the statement of the fitted model that a privacy officer reads."""
        check_is_fitted(self, "certificate_")
        return self.certificate_.statement()

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file, whole or not at all; `pairdp.load` reads it."""
        model_file.save(self, path)

    def _budget(self, n: int) -> Budget | None:
        """Return the budget for n records, whose δ follows from n when none is given."""
        if self.epsilon is None:
            return None
        return Budget(self.epsilon, default_delta(n) if self.delta is None else self.delta)

    def _taken(self, plan: Plan) -> tuple[str, ...]:
        """Return what a plan took for parameters that are not given."""
        taken = []
        if self.delta is None and plan.task.budget is not None:
            taken.append(
                f"delta is not given: δ = {plan.task.budget.delta:g} is min(1e-6, 1/(100n)), so "
                "that nδ is at most 1 %"
            )
        if self.data_norm is None:
            taken.append(NO_DATA_NORM)
        return tuple(taken)

    def _check_ledger(self, X: ArrayLike) -> None:
        """Refuse a fit that its ledger has no room for, knowing only the shape of the data."""
        if self.ledger is None:
            return
        ledger = self._ledger()
        try:
            shape = np.shape(X)
        except ValueError:  # rows of several lengths
            return
        if len(shape) == 2 and min(shape) > 0:
            plan = self.plan(*shape)
            ledger.check(plan.certificate, plan.algorithm.name)

    def fit_batches(
        self,
        batches: Iterable[tuple[ArrayLike, ArrayLike]],
        n: int,
        n_features: int,
        *,
        labels: ArrayLike | None = None,
    ) -> Self:
        """Fit to records that come in batches, for tables larger than memory.

        Where the algorithm needs only sums over the records (moments), one batch is in memory at a
        time; else the clipped records are gathered in one table.

        Parameters
        ----------
        batches : iterable of (X, y)
            Records and labels, n in all. Those that cannot be read are dealt with as the
            parameter ``invalid`` says.
        n, n_features : int
            The public size of the data.
        labels : array-like, optional
            The labels that occur, if they are not a parameter of the estimator. A ranker needs
            them in advance.

        Returns
        -------
        self
        """
        plan = self.plan(n, n_features)
        if self.ledger is not None:
            self._ledger().check(plan.certificate, plan.algorithm.name)
        with self._all_or_nothing():
            fit = self._run(plan, self._read(plan, batches, n_features, labels))
            self.n_features_in_ = n_features
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            self._keep(fit, labels)
        return self

    def _read(
        self,
        plan: Plan,
        batches: Iterable[tuple[ArrayLike, ArrayLike]],
        n_features: int,
        labels: ArrayLike | None,
    ) -> Records | ClassMoments:
        """Return what a plan needs of batches."""
        null = null_is_asked(self.invalid)
        prepared = (
            (self._rows(read_table(x, n_features) if null else x), self._coded(y, labels))
            for x, y in batches
        )
        return plan.read(prepared, invalid=self.invalid)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the estimator as it was if what is done to it fails."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _coded(self, y: ArrayLike, labels: ArrayLike | None) -> ArrayLike:
        """Return labels as the problem's records need them."""
        return y

    @abstractmethod
    def _keep(self, fit: Fit, labels: ArrayLike | None) -> None:
        """Set the attributes of a fitted model, whose labels are these."""

    def _ledger(self) -> BudgetLedger:
        if not isinstance(self.ledger, BudgetLedger):
            raise TypeError(f"ledger must be a BudgetLedger or None, got {self.ledger!r}")
        if self.random_state is not None:
            raise ValueError(
                "a ledger pays for independent noise, and a seed repeats it: leave out "
                "random_state when a budget is spent"
            )
        return self.ledger

    def _run(self, plan: Plan, records: Records | ClassMoments) -> Fit:
        """Pay for the plan and run it."""
        warn_before(plan, norm_is_given=self.data_norm is not None)
        source = self._source(plan)
        spent = None if self.ledger is None else self._ledger().spend(plan.certificate)
        try:
            fit = plan.run(records, source, progress=self.verbose)
        except BaseException as error:
            if spent is not None:
                error.add_note(f"{plan.task.budget} was spent from the ledger for {spent.label}")
            raise
        self.plan_ = plan
        self.certificate_ = fit.certificate
        return fit

    def _source(self, plan: Plan) -> NoiseSource:
        # Noise of one seed differs from plan to plan: that of two budgets would cancel otherwise.
        planned = plan.certificate.to_dict()
        releases = json.dumps([planned["algorithm"], planned["releases"]], sort_keys=True)
        digest = hashlib.sha256(releases.encode()).hexdigest()
        return NoiseSource.from_random_state(self.random_state).child("fit", digest)


def algorithm_of(algorithm: str | Algorithm) -> Algorithm | None:
    """Return the algorithm of a parameter, None when it is left open."""
    if isinstance(algorithm, Algorithm):
        return algorithm
    if algorithm == "auto":
        return None
    if isinstance(algorithm, str):
        try:
            return find_algorithm(algorithm)
        except ValueError as error:
            raise ValueError(f'algorithm must be "auto" or a published name: {error}') from None
    raise TypeError(f'algorithm must be "auto", a name or an Algorithm, got {algorithm!r}')


def loss_of(
    loss: str | Loss | None,
    names: Mapping[str, Loss],
    kind: type[Loss],
) -> Loss | None:
    """Return the loss of a parameter, None when it is left open."""
    if loss is None:
        return None
    if isinstance(loss, str):
        if loss not in names:
            raise ValueError(f"loss must be one of {', '.join(names)}, or an object; got {loss!r}")
        return names[loss]
    if not isinstance(loss, kind):
        raise TypeError(
            f"loss must be None, one of {', '.join(names)}, or a {kind.__name__}, got {loss!r}"
        )
    return loss
