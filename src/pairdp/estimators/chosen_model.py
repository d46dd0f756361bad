"""The part of a ranker that chooses its kind of model: linear, additive or quadratic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pairdp._checks import one_of
from pairdp.algorithms import Algorithm, Plan, WithThreshold, scorecard
from pairdp.algorithms.choice import Choice
from pairdp.algorithms.choice.models import (
    ModelRule,
    TableTask,
    choose_scores,
    reason_for,
    rule_for,
)
from pairdp.algorithms.score_models import MODELS, is_asked_for, model_of, score_model
from pairdp.algorithms.scorecard.cells import Cells
from pairdp.algorithms.scorecard.layout import columns_of_schema
from pairdp.estimators.planning import PlannedModel
from pairdp.problem import Problem


class ChosenModel(PlannedModel):
    """A mixin for rankers with the parameter ``model``."""

    model: str = "auto"

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
        one_of("model", self.model, "auto", *MODELS)
        plan = super().plan(n, n_features)
        learned = model_of(plan)
        if not is_asked_for(learned, self.model):
            raise ValueError(
                f"{plan.algorithm.name} learns a model that is {learned}, and model is "
                f"{self.model!r}: leave out model or algorithm"
            )
        return plan

    def choices(self, n: int, n_features: int | None = None) -> Choice:
        """Return the candidates of ``algorithm="auto"`` for the model, best first.

        Parameters
        ----------
        n, n_features : int
            The public size of the data. A schema says how many features there are.
        """
        task = self._table_task(n, self._width(n_features))
        rule = self._rule(task)
        model = self.model if rule is None else rule.model
        if model not in ("additive", "quadratic"):
            return super().choices(n, n_features)
        return choose_scores(task, model)

    def _reasons_for(self, choice: Choice) -> tuple[str, ...]:
        task = self._table_task(choice.n, choice.features)
        rule = self._rule(task)
        model = () if rule is None else (reason_for(rule, task),)
        linear = score_model(choice.best.algorithm) is None
        return (*model, *(super()._reasons_for(choice) if linear else ()))

    def _table_task(self, n: int, n_features: int) -> TableTask:
        """Return the public facts by which a model is chosen."""
        return TableTask(
            n,
            n_features,
            self._budget(n),
            self._table_columns(),
            self._norm(),
            unit=self._unit(),
        )

    def _table_columns(self) -> tuple[Cells, ...]:
        """Return the columns of the schema; none without a schema."""
        schema = self._schema()
        return () if schema is None else tuple(cells for _, cells in columns_of_schema(schema))

    def _rule(self, task: TableTask) -> ModelRule | None:
        """Return the rule by which the model is chosen; None if the parameters determine it."""
        one_of("model", self.model, "auto", *MODELS)
        given = [*self._linear_parameters()]
        if not (isinstance(self.algorithm, str) and self.algorithm == "auto"):
            given.append("algorithm")
        if self.model in ("additive", "quadratic") and given:
            raise ValueError(f'{given[0]} is for model="linear", and model is "{self.model}"')
        return None if given or self.model != "auto" else rule_for(task)

    def _linear_parameters(self) -> Iterator[str]:
        """Yield the parameters that are given and describe a linear model."""
        for name in ("loss", "regularization", "radius", "calibration", "schedule"):
            if getattr(self, name) != getattr(PlannedModel, name):
                yield name

    def _algorithm(self, n: int) -> Algorithm | None:
        algorithm = super()._algorithm(n)
        inner = algorithm.algorithm if isinstance(algorithm, WithThreshold) else algorithm
        if score_model(inner) is None:
            return algorithm
        if isinstance(inner, scorecard.Scorecard) and not inner.columns:
            return replace(inner, columns=self._table_columns())
        return inner

    def _problem(self, algorithm: Algorithm, n: int, n_features: int) -> Problem:
        found = score_model(algorithm)
        own = None if found is None else found.own_problem(self._norm())
        if own is None:
            return super()._problem(algorithm, n, n_features)
        for given in self._linear_parameters():
            raise ValueError(f"{given} is for linear models, and {algorithm.name} learns another")
        return own
