"""Planning of private estimators: from parameters and public facts to a plan, without data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

from pairdp import constraints, privacy
from pairdp._checks import one_of
from pairdp._reading import Invalid
from pairdp.algorithms import Algorithm, Plan, choice
from pairdp.algorithms.choice import Choice
from pairdp.algorithms.facts import Condition, CountedRecords
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.schema_rows import SchemaRows
from pairdp.clipping import check_data_norm
from pairdp.estimators.fit_warnings import NO_DATA_NORM
from pairdp.estimators.named_parts import algorithm_of, loss_of
from pairdp.estimators.table_input import TableInput
from pairdp.losses import Loss
from pairdp.privacy import Budget, Unit, default_delta
from pairdp.privacy.accounting.unit import records_of
from pairdp.problem import Problem


class PlannedModel(TableInput, ABC):
    """The parameters of a private estimator, and the plan that follows from them.

    The parameters below have these values where ``__init__`` of a derived class does not set them.
    """

    epsilon: float | None = 1.0
    delta: float | None = None
    data_norm: float | None = None
    radius: float = 1.0
    regularization: float | None = None
    loss: str | Loss | None = None
    algorithm: str | Algorithm = "auto"
    calibration: str = "certified"
    schedule: str | None = None
    ledger: privacy.BudgetLedger | None = None
    data_set: str | None = None
    unit: str | None = None
    max_records: int | None = None
    random_state: Any = None
    verbose: bool | None = None
    invalid: Invalid = "error"

    n_is_counted_: bool = False
    """Whether n was counted in the data and taken as public; see `pairdp.dask`."""

    _loss_kind: ClassVar[type[Loss]]
    _problem_kind: ClassVar[type[Problem]] = Problem

    def plan(self, n: int, n_features: int | None = None) -> Plan:
        """Return what `fit` would do with data of this size, without any data.

        Parameters
        ----------
        n, n_features : int
            The public size of the data. A schema says how many features there are.

        Returns
        -------
        Plan
            Printable, with noise, steps and reasons.
        """
        n_features = self._width(n_features)
        algorithm = self._algorithm(n)
        why: tuple[str, ...] = ()
        if algorithm is None:
            choice = self.choices(n, n_features)
            why = self._reasons_for(choice)
            plan = choice.plan(complete=self.completed, conditions=self._conditions())
        else:
            plan = self.completed(algorithm).plan(
                self._problem(algorithm, n, n_features),
                n,
                self._columns(n_features),
                self._budget(n),
                calibration=self.calibration,  # type: ignore[arg-type]
                schedule=self.schedule,  # type: ignore[arg-type]
                conditions=self._conditions(),
                unit=self._unit(),
            )
        if plan.task.unit != self._unit():
            raise TypeError(f"the choice of {type(self).__name__} does not plan for its unit")
        return replace(plan, reasons=(*why, *plan.reasons, *self._reasons_for_defaults(plan)))

    def choices(self, n: int, n_features: int | None = None) -> Choice:
        """Return the candidates of ``algorithm="auto"``, best first.

        Parameters
        ----------
        n, n_features : int
            The public size of the data. A schema says how many features there are.
        """
        n_features = self._width(n_features)
        if self.calibration != "certified":
            raise ValueError(
                'algorithm="auto" chooses among certified plans: name a published algorithm '
                'such as "DPGDSC" for calibration="printed"'
            )
        one_of("schedule", self.schedule, None, "theorem", "tuned")
        if self.schedule == "theorem":
            raise ValueError(
                'algorithm="auto" chooses among tuned plans: name a published algorithm such as '
                '"DPGDSC" for schedule="theorem"'
            )
        unit = self._unit()
        return self._choose(
            n,
            self._columns(n_features),
            self._budget(n),
            **({} if unit is None else {"unit": unit}),
            data_norm=self._norm(),
            radius=self.radius,
            loss=self._given_loss(),
            regularization=self.regularization,
        )

    def _reasons_for(self, choice: Choice) -> tuple[str, ...]:
        """Return why a choice was made."""
        return (f"auto: {choice.best.reason}",)

    def _algorithm(self, n: int) -> Algorithm | None:
        """Return the algorithm that the parameters specify, None for "auto"."""
        return algorithm_of(self.algorithm)

    @abstractmethod
    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        """Return the candidates of "auto" for this kind of model."""

    @abstractmethod
    def _constraint(self) -> constraints.Constraint:
        """Return the set of parameters."""

    @abstractmethod
    def _default_loss(self, algorithm: Algorithm) -> Loss:
        """Return the loss to use if none is given."""

    def _given_loss(self) -> Loss | None:
        """Return the loss that the parameters specify, None if they specify none."""
        return loss_of(self.loss, self._loss_kind)

    def _columns(self, n_features: int) -> int:
        """Return the number of features of a record, given that of the data."""
        return n_features

    def _norm(self) -> float:
        """Return the bound on the norm of records."""
        return self._clipped_to()

    def _clipped_to(self) -> float:
        """Return the norm that rows are clipped to; 1 if none is given."""
        return 1.0 if self.data_norm is None else check_data_norm(self.data_norm)

    def completed(self, algorithm: Algorithm) -> Algorithm:
        """Return the algorithm with what else the model releases, such as a threshold."""
        return algorithm

    def _conditions(self) -> tuple[Condition, ...]:
        """Return conditions on the data in addition to those of the algorithm."""
        schema = self._schema()
        encoded = () if schema is None else (SchemaRows(schema),)
        return (*encoded, *((CountedRecords(),) if self.n_is_counted_ else ()))

    def _problem(self, algorithm: Algorithm, n: int, n_features: int) -> Problem:
        loss: Any = self._given_loss() or self._default_loss(algorithm)
        given = self.regularization
        problem = self._problem_kind(loss, self._constraint(), given or 0.0, data_norm=self._norm())
        if given is None and problem.is_smooth and Need.STRONGLY_CONVEX in algorithm.needs:
            columns = self._columns(n_features)
            chosen = choice.balanced_regularization(
                problem, n, columns, self._budget(n), records_of(self._unit())
            )
            return replace(problem, regularization=chosen)
        return problem

    def _budget(self, n: int) -> Budget | None:
        """Return the budget for n records; δ follows from n if it is not given."""
        if self.epsilon is None:
            return None
        return Budget(self.epsilon, default_delta(n) if self.delta is None else self.delta)

    def _unit(self) -> Unit | None:
        """Return the unit that is protected; None for a single record."""
        if self.max_records is None:
            if self.unit is not None:
                raise ValueError(
                    f"unit={self.unit!r} needs max_records: how many records of each unit are used"
                )
            return None
        return Unit("unit" if self.unit is None else self.unit, self.max_records)

    def _reasons_for_defaults(self, plan: Plan) -> tuple[str, ...]:
        """Return sentences on the defaults that a plan uses for parameters that are not given."""
        reasons = []
        if self.delta is None and plan.task.budget is not None:
            reasons.append(
                f"delta is not given: δ = {plan.task.budget.delta:g} is min(1e-6, 1/(100n)), so "
                "that nδ is at most 1 %"
            )
        if not self._norm_is_given:
            reasons.append(NO_DATA_NORM)
        return tuple(reasons)
