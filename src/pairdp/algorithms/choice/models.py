r"""The choice between a linear, an additive and a quadratic model, by a table of public facts.

With n records, d columns and µ, the parameter of Gaussian DP of the budget for one record (ε, if it
is pure), the rows of `RULES` are tried in order, and the first that applies is chosen. The table
was measured on the synthetic families of ``python -m benchmarks utility``, adult and german, at n
from 150 to 32 561 and ε from 0.5 to 8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from pairdp.algorithms import scorecard
from pairdp.algorithms.choice.candidates import Candidate, Choice, ModelTask
from pairdp.algorithms.score_models import ModelName
from pairdp.algorithms.scorecard.cells import MOST_CATEGORIES, CategoryCells, Cells
from pairdp.algorithms.scorecard.expansion import MOST_PRODUCTS

_LARGEST_MU = 2.0
"""A larger µ, or no noise, counts as this one: then n alone limits what can be learned."""


@dataclass(frozen=True)
class TableTask(ModelTask):
    """The public facts of a table.

    Attributes
    ----------
    n, features, budget, unit
        See `ModelTask`; features are those of encoded rows.
    columns : tuple of Cells
        The columns that a schema describes; empty without a schema, when each feature is a number.
    data_norm : float
        The bound on the norm of rows.
    """

    columns: tuple[Cells, ...] = ()
    data_norm: float = 1.0

    @property
    def count(self) -> int:
        """d: the number of columns."""
        return len(self.columns) or self.features

    @property
    def has_large_category(self) -> bool:
        """Whether a column has too many categories for a scorecard."""
        return any(isinstance(one, CategoryCells) and one.is_large for one in self.columns)

    @property
    def pure(self) -> bool:
        """Whether the budget is pure ε."""
        return self.budget is not None and self.budget.is_pure

    @property
    def signal(self) -> float:
        """nµ, with µ of one record."""
        return self.n * min(self.mu, _LARGEST_MU)


class Range(NamedTuple):
    """The 10 % and 90 % quantiles of what was measured."""

    low: float
    high: float


class ModelRule(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    when : str
        The condition in words.
    applies : callable
        The condition.
    model : {"linear", "additive", "quadratic"}
        What is chosen.
    auc : Range or None
        The AUC that was measured; None if it was not.
    difference : Range or None
        The same, minus the AUC of logistic regression without privacy.
    """

    when: str
    applies: Callable[[TableTask], bool]
    model: ModelName
    auc: Range | None
    difference: Range | None


RULES = (
    ModelRule("there is no noise", lambda t: t.budget is None, "linear", None, None),
    ModelRule(
        f"a column has more than {MOST_CATEGORIES} categories",
        lambda t: t.has_large_category,
        "linear",
        None,
        None,
    ),
    ModelRule(
        "ε is pure, and there is no schema or nµ < 100·d",
        lambda t: t.pure and (not t.columns or t.signal < 100 * t.count),
        "linear",
        Range(0.55, 0.86),
        None,
    ),
    ModelRule("ε is pure", lambda t: t.pure, "additive", Range(0.79, 0.90), Range(-0.07, 0.00)),
    ModelRule(
        "there is no schema and nµ < 20·d",
        lambda t: not t.columns and t.signal < 20 * t.count,
        "linear",
        Range(0.45, 0.78),
        Range(-0.34, -0.03),
    ),
    ModelRule(
        "nµ < 5·d",
        lambda t: t.signal < 5 * t.count,
        "additive",
        Range(0.41, 0.67),
        Range(-0.40, -0.10),
    ),
    ModelRule(
        "nµ < 30·d",
        lambda t: t.signal < 30 * t.count,
        "additive",
        Range(0.58, 0.82),
        Range(-0.23, 0.00),
    ),
    ModelRule(
        f"nµ < 16·d² or d > {MOST_PRODUCTS}",
        lambda t: t.signal < 16 * t.count**2 or t.count > MOST_PRODUCTS,
        "additive",
        Range(0.72, 0.86),
        Range(-0.07, 0.07),
    ),
    ModelRule("nµ ≥ 16·d²", lambda t: True, "quadratic", Range(0.82, 0.91), Range(-0.01, 0.11)),
)
_RESOLUTION = 96
"""About how many bins a number has: few labelled counts, but points that follow it."""
MODEL_REASON = "auto: the model is"
"""How the reason for a kind of model begins."""


def rule_for(task: TableTask) -> ModelRule:
    """Return the first rule that applies."""
    return next(rule for rule in RULES if rule.applies(task))


def reason_for(rule: ModelRule, task: TableTask) -> str:
    """Return why a rule applies and what is expected, in one sentence."""
    if rule.auc is None:
        return f"{MODEL_REASON} {rule.model}, as {rule.when}"
    found = (
        f"{MODEL_REASON} {rule.model}, as {rule.when} (nµ = {task.signal:.3g}, d = {task.count}); "
        f"on most tables like this the AUC was {rule.auc.low:.2f} to {rule.auc.high:.2f}"
    )
    if rule.difference is None:
        return found
    worse, better = rule.difference
    relative = f"{worse:+.2f} to {better:+.2f}"
    return f"{found}, which is {relative} relative to logistic regression without privacy"


def choose_scores(task: TableTask, model: str) -> Choice:
    """Return the choice of an algorithm for a model that is not linear."""
    algorithm = scorecard.Scorecard(
        task.columns, interactions=model == "quadratic", resolution=_RESOLUTION
    )
    problem = algorithm.own_problem(task.data_norm)
    candidate = Candidate(problem, algorithm, 0.0, f"the algorithm for {model} models")
    return Choice(task.n, task.features, task.budget, (candidate,), task.unit)
