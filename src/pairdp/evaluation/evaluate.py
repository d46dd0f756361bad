"""`evaluate`: how good a model is on sensitive records, with differential privacy."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pairdp._arrow_tables import as_labels, as_table
from pairdp._checks import one_of, probability
from pairdp._reading import Invalid
from pairdp.evaluation.accuracy import AccuracyEvaluation
from pairdp.evaluation.concordance import ConcordanceEvaluation
from pairdp.evaluation.errors import ErrorEvaluation
from pairdp.evaluation.kinds import SAME_CLASS, Array, EvaluatedModel, Options
from pairdp.evaluation.measures import MEASURES, Measure, evaluated_model
from pairdp.evaluation.plan import EvaluationPlan, EvaluationStatistic, Noise
from pairdp.evaluation.planning import ScoreEvaluation
from pairdp.evaluation.result import Evaluation, digest_of
from pairdp.privacy import Budget, BudgetLedger, Certificate, NoiseSource, Unit
from pairdp.privacy.payment import paid_by
from pairdp.unit_limit import UnitLimit

Hopeless = Literal["error", "warn"]


class HopelessEvaluationWarning(UserWarning):
    """By public facts, the noise will hide how good the model is."""


def plan_evaluation(
    n: int,
    epsilon: float,
    delta: float = 0.0,
    *,
    classes: tuple[str, str] = ("0", "1"),
    null_records: bool = False,
    noise: Noise = "auto",
    edges: Sequence[float] = (),
    max_records: int | None = None,
    unit: str = "unit",
    measure: Measure = "auc",
    target_range: tuple[float, float] | None = None,
    r2: bool = False,
) -> Any:
    """Return what `evaluate` would do with n records, without any data.

    Parameters
    ----------
    n : int
        The public number of records.
    epsilon, delta : float
        The budget.
    classes : tuple of two str
        The names of the classes, the positive one last.
    null_records : bool, default=False
        Whether null records may occur, as with ``invalid="null"`` and with units.
    noise : {"auto", "laplace", "gaussian"}, default="auto"
        See `evaluate`.
    edges : sequence of float, default=()
        The edges of bins of scores, for the ROC curve or a threshold (`public_edges`). With them,
        half of the budget is for counts.
    max_records, unit
        See `evaluate`.
    measure : {"auc", "accuracy", "error", "pair_auc", "concordance"}, default="auc"
        See `evaluate`.
    target_range : tuple of two float, optional
        For "error", the public range of the target.
    r2 : bool, default=False
        For "error", whether R² is released as well; see `evaluate`.

    Returns
    -------
    EvaluationPlan
        Printable, with the expected interval: of the AUC for several shares of positives, of an
        accuracy or concordance of 0.8, or of a mean absolute error of a tenth of the range.

    Examples
    --------
    >>> from pairdp import plan_evaluation
    >>> plan = plan_evaluation(2000, 0.5)
    >>> round(plan.expected_width(share=0.5), 3), round(plan.expected_width(share=0.1), 3)
    (0.056, 0.142)
    >>> plan.is_hopeless(share=0.005)
    True
    >>> print(plan_evaluation(2000, 0.5, measure="accuracy"))
    Private evaluation of accuracy: n = 2000 records, ε = 0.5
    expected 95 % interval of an accuracy of 0.8: 0.781 to 0.818
    """
    one_of("measure", measure, *MEASURES[1:])
    null = null_records or max_records is not None
    evaluation: EvaluationStatistic = ScoreEvaluation(classes, null, noise, tuple(edges))
    if measure != "auc" and edges:
        raise ValueError('edges are for measure="auc"')
    if measure == "accuracy":
        evaluation = AccuracyEvaluation(null, noise)
    elif measure == "concordance":
        evaluation = ConcordanceEvaluation(noise)
    elif measure == "pair_auc":
        evaluation = ScoreEvaluation(SAME_CLASS, null, noise, items="matched pairs")
    elif measure == "error":
        if target_range is None:
            raise ValueError('measure="error" needs target_range, the public range of the target')
        evaluation = ErrorEvaluation(target_range, null, noise, r2=r2)
    if r2 and measure != "error":
        raise ValueError('r2 is for measure="error"')
    return evaluation.plan(n, Budget(epsilon, delta), _protected(max_records, unit))


def _protected(max_records: int | None, unit: str) -> Unit | None:
    return None if max_records is None else Unit(unit, max_records)


def plan_model(
    model: EvaluatedModel,
    n: int,
    budget: Budget,
    unit: Unit | None = None,
    *,
    invalid: Invalid = "error",
    options: Options | None = None,
) -> EvaluationPlan:
    """Return the plan of the evaluation of a model on n records, without any data."""
    null = model.makes_null_records(invalid) or unit is not None
    return model.statistic(null, options or Options()).plan(n, budget, unit)


def evaluate(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    *,
    groups: ArrayLike | None = None,
    max_records: int | None = None,
    unit: str = "unit",
    invalid: Invalid = "error",
    noise: Noise = "auto",
    roc: bool = False,
    threshold: float | None = None,
    score_range: float | None = None,
    share: float | None = None,
    hopeless: Hopeless = "error",
    ledger: BudgetLedger | None = None,
    data_set: str | None = None,
    random_state: Any = None,
    measure: Measure = "auto",
    target_range: tuple[float, float] | None = None,
    r2: bool = False,
) -> Any:
    """Release how good a model is on sensitive records, with an interval.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted model, a pipeline that ends with one, or a model that `pairdp.load` returned; see
        ``measure``. It must be public: released with differential privacy, or made without these
        records. To see how good it is for new records, use some that it was not fitted to.
    X : array-like of shape (n, d), or a table for a model with a schema
        The records; their number n is public. For `PrivatePairMetric`, pairs of records, of shape
        (n, 2, d).
    y : array-like of shape (n,), optional
        Their labels. By default, the column that the schema of the model declares as the label.
    epsilon, delta : float
        The budget of the evaluation. It adds to what other releases of these records cost.
    groups : array-like of shape (n,), optional
        The unit (person) of each record, with ``max_records``: the first so many rows of each unit
        are used, and the guarantee covers all records of a unit.
    max_records : int, optional
        How many records of each unit are used. The noise is proportional to it.
    unit : str
        What a unit is, for the certificate.
    invalid : {"error", "null"}, default="error"
        What to do with a record that cannot be scored, or has another label: raise an error,
        which reveals something about the data, or make it a null record, which is in no pair.
        Then the number of null records is released as well, and the interval is wider.
    noise : {"auto", "laplace", "gaussian"}, default="auto"
        "auto" is Laplace noise or, if δ > 0 and this is less, Gaussian noise. Gaussian noise is
        more for one release, and cheaper in a ledger of many Gaussian releases.
    roc : bool, default=False
        Whether to release counts of scores by class too, for the ROC curve with a band, and for
        calibration. They cost half of the budget.
    threshold : float, optional
        A public threshold, at which `Evaluation.at` gives sensitivity, specificity and precision,
        such as 0, above which models predict the second class. The counts that this needs cost
        half of the budget, and are more accurate without ``roc``.
    score_range : float, optional
        A public bound on the absolute value of most scores, for ``roc``; by default, what the
        parameters of the model show.
    share : float, optional
        A public guess of the share of the second class, to judge beforehand whether the budget is
        sufficient. By default 0.5, the best case.
    hopeless : {"error", "warn"}, default="error"
        What to do before the budget is spent if, by public facts, nothing can be said.
    ledger : BudgetLedger, optional
        The ledger that pays, before any noise is drawn.
    data_set : str, optional
        The name of the data set, for the entry in the ledger.
    random_state : int, RandomState or Generator, optional
        A seed, for studies and tests; leave it out for sensitive data.
    measure : {"auto", "auc", "accuracy", "error", "pair_auc", "concordance"}, default="auto"
        What is released. "auto" is

        - "auc" for models with scores for two classes, such as `PrivateRanker`;
        - "accuracy" for other classifiers, such as k-nearest neighbours in a private metric. A
          model of nearest neighbours holds raw reference records, which are *not* covered;
        - "error", the mean absolute and the mean squared error, for regressors;
        - "pair_auc" for metrics: how often a pair of the same class is closer than a pair of
          different classes;
        - "concordance" for rankers of graded responses: how often, of two records with different
          responses, the one with the larger response has the larger score.
    target_range : tuple of two float, optional
        For regressors: a public range, to which targets and predictions are clipped. By default,
        that of the schema, or ±``target_bound``.
    r2 : bool, default=False
        For regressors: whether to release sums of targets too, for R². They cost half of the
        budget.

    Returns
    -------
    Evaluation
        A `ScoreResult`, `AccuracyResult`, `ErrorResult` or `ConcordanceResult`, by the measure.

    Raises
    ------
    ValueError
        If nothing can be said with this budget, unless ``hopeless="warn"``.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import PrivateRanker, evaluate
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 4000)
    >>> X = (rng.normal(size=(4000, 3)) + y[:, None]) / 5
    >>> model = PrivateRanker(1.0, data_norm=1.0, random_state=0).fit(X[:2000], y[:2000])
    >>> found = evaluate(model, X[2000:], y[2000:], epsilon=0.5, random_state=0)
    >>> found.auc_interval.lower < model.score(X[2000:], y[2000:]) < found.auc_interval.upper
    True
    >>> found.certificate.budget
    Budget(epsilon=0.5, delta=0.0)
    """
    if epsilon is None:
        raise TypeError("evaluate needs epsilon: the privacy budget of the evaluation")
    if (groups is None) != (max_records is None):
        raise ValueError(
            "groups and max_records belong together: the unit of each row, and how many records of "
            "each unit are used"
        )
    table, given = as_table(X), as_labels(y)
    evaluated = evaluated_model(model, measure, target_range)
    plan = plan_model(
        evaluated,
        evaluated.number_of(table),
        Budget(epsilon, delta),
        _protected(max_records, unit),
        invalid=invalid,
        options=Options(noise, roc, threshold, score_range, r2),
    )
    check_hope(plan, share, hopeless)
    paying = check_ledger(plan.certificate, ledger, data_set, random_state)
    outputs, labels = evaluated.outputs(table, invalid), evaluated.labels(table, given, invalid)
    if len(labels) != len(outputs):
        raise ValueError(f"y has {len(labels)} labels, and X has {len(outputs)} records")
    records = used_records(plan, evaluated, outputs, labels, groups)
    return run_plan(
        plan,
        *records,
        model=digest_of(evaluated.model.last),
        ledger=paying,
        random_state=random_state,
    )


def check_hope(plan: EvaluationPlan, share: float | None, hopeless: Hopeless) -> None:
    """Raise an error, or warn, if nothing can be said by public facts alone."""
    one_of("hopeless", hopeless, "error", "warn")
    assumed = 0.5 if share is None else probability("share", share)
    if not plan.is_hopeless(assumed):
        return
    sentence = f"{plan.hopeless_words(assumed)}: use a larger epsilon or more records"
    if hopeless == "error":
        raise ValueError(f'{sentence}, or pass hopeless="warn"; nothing was spent')
    warnings.warn(sentence, HopelessEvaluationWarning, stacklevel=3)


def check_ledger(
    planned: Certificate, ledger: BudgetLedger | None, data_set: str | None, random_state: Any
) -> BudgetLedger | None:
    """Return the ledger for the entry of what is planned; an error if it has no room."""
    if ledger is None:
        return None
    if not isinstance(ledger, BudgetLedger):
        raise TypeError(f"ledger must be a BudgetLedger or None, got {ledger!r}")
    if random_state is not None:
        raise ValueError(
            "a ledger pays for independent noise, but a seed repeats it: leave out random_state "
            "or the ledger"
        )
    ledger = ledger.annotated(data_set=data_set)
    ledger.check(planned, planned.algorithm)
    return ledger


def used_records(
    plan: EvaluationPlan,
    model: EvaluatedModel,
    outputs: Array,
    labels: Array,
    groups: ArrayLike | None = None,
) -> tuple[Array, ...]:
    """Return what a plan runs on; records beyond the limit of their unit are null."""
    protected = plan.certificate.unit
    if (groups is None) != (protected is None):
        raise ValueError("a plan for units needs the unit of each row, and no other plan does")
    unused = np.zeros(plan.n, dtype=np.bool_)
    if groups is not None and protected is not None:
        unused = UnitLimit(protected.max_records).unused(model.units(groups), plan.n)
    return model.records(outputs, labels, unused)


def run_plan(
    plan: EvaluationPlan,
    *records: Array,
    model: str | None,
    ledger: BudgetLedger | None = None,
    random_state: Any = None,
) -> Evaluation:
    """Pay for a plan and run it on what `used_records` returned, for a model with a digest."""
    source = _source(plan, random_state)
    with paid_by(ledger, plan.certificate):
        released = plan.run(source, *records)
        found = plan.result(released, plan.certificate.with_noise_source(source))
        return replace(found, model=model)


def _source(plan: EvaluationPlan, random_state: Any) -> NoiseSource:
    # A seed gives different noise for each plan; that of two budgets would cancel otherwise.
    planned = json.dumps(plan.certificate.to_dict(), sort_keys=True)
    digest = hashlib.sha256(planned.encode()).hexdigest()
    return NoiseSource.from_random_state(random_state).child("evaluation", digest)
