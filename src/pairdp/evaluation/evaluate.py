"""`evaluate`: how good a model is on sensitive records, with differential privacy."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pairdp._checks import flag, one_of, positive
from pairdp._reading import Invalid, uses_null_records
from pairdp.evaluation.planning import HOPELESS, EvaluationPlan, Noise, ScoreEvaluation
from pairdp.evaluation.result import Evaluation
from pairdp.evaluation.score_bins import BINS, half_range, spread_edges
from pairdp.evaluation.scoring import Array, ScoredModel, scored_model
from pairdp.privacy import Budget, BudgetLedger, NoiseSource, Unit
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
) -> EvaluationPlan:
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

    Returns
    -------
    EvaluationPlan
        Printable, with the expected interval of the AUC for several shares of positives.

    Examples
    --------
    >>> from pairdp import plan_evaluation
    >>> plan = plan_evaluation(2000, 0.5)
    >>> round(plan.expected_width(share=0.5), 3), round(plan.expected_width(share=0.1), 3)
    (0.056, 0.142)
    >>> plan.is_hopeless(share=0.005)
    True
    """
    protected = None if max_records is None else Unit(unit, max_records)
    null = null_records or protected is not None
    evaluation = ScoreEvaluation(classes, null, noise, tuple(edges))
    return evaluation.plan(n, Budget(epsilon, delta), protected)


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
) -> Evaluation:
    """Release the AUC of a model on sensitive records, with an interval.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted model with scores for two classes: `PrivateRanker`, `PrivateScorecard`,
        `PrivateLinearClassifier`, a pipeline that ends with one, or a model that `pairdp.load`
        returned. It must be public: released with differential privacy, or made without these
        records. To see how good it is for new records, use some that it was not fitted to.
    X : array-like of shape (n, d), or a table for a model with a schema
        The records; their number n is public.
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

    Returns
    -------
    Evaluation

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
    scored = scored_model(model)
    n = scored.number_of(X)
    null = uses_null_records(invalid) or scored.makes_null_records()
    plan = plan_evaluation(
        n,
        epsilon,
        delta,
        classes=scored.classes,
        null_records=null,
        noise=noise,
        edges=public_edges(scored, roc, threshold, score_range),
        max_records=max_records,
        unit=unit,
    )
    check_hope(plan, share, hopeless)
    paying = check_ledger(plan, ledger, data_set, random_state)
    scores, signs = scored.scores(X, invalid), scored.signs(X, y, invalid)
    if signs.shape != scores.shape:
        raise ValueError(f"y has {signs.size} labels, and X has {scores.size} records")
    return run_plan(plan, scores, signs, groups, ledger=paying, random_state=random_state)


def public_edges(
    model: ScoredModel, roc: bool, threshold: float | None, score_range: float | None
) -> tuple[float, ...]:
    """Return the edges of bins of scores, from the model and other public facts."""
    more = () if threshold is None else (threshold,)
    if not flag("roc", roc):
        return more
    half = half_range(model.last) if score_range is None else positive("score_range", score_range)
    return spread_edges(half, BINS, *more)


def check_hope(plan: EvaluationPlan, share: float | None, hopeless: Hopeless) -> None:
    """Raise an error, or warn, if nothing can be said by public facts alone."""
    one_of("hopeless", hopeless, "error", "warn")
    assumed = 0.5 if share is None else share
    lower, upper = plan.expected_interval(assumed)
    if not plan.is_hopeless(assumed):
        return
    sentence = (
        f"with {plan.n} records, {assumed:.2g} of them positive, and this budget, nothing can be "
        f"said: an AUC of 0.8 would typically have the interval {lower:.2f} to {upper:.2f}. The "
        f"smaller class needs about {HOPELESS:g}/ε records: use a larger epsilon or more records"
    )
    if hopeless == "error":
        raise ValueError(f'{sentence}, or pass hopeless="warn"; nothing was spent')
    warnings.warn(sentence, HopelessEvaluationWarning, stacklevel=3)


def check_ledger(
    plan: EvaluationPlan, ledger: BudgetLedger | None, data_set: str | None, random_state: Any
) -> BudgetLedger | None:
    """Return the ledger for the entry of a plan; an error if it has no room."""
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
    ledger.check(plan.certificate, plan.certificate.algorithm)
    return ledger


def run_plan(
    plan: EvaluationPlan,
    scores: Array,
    signs: Array,
    groups: ArrayLike | None = None,
    *,
    ledger: BudgetLedger | None = None,
    random_state: Any = None,
) -> Evaluation:
    """Pay for a plan and run it on scores and signs, NaN and 0 for null records."""
    protected = plan.certificate.unit
    if (groups is None) != (protected is None):
        raise ValueError("a plan for units needs the unit of each row, and no other plan does")
    if groups is not None and protected is not None:
        unused = UnitLimit(protected.max_records).unused(groups, plan.n)
        signs = np.where(unused, 0.0, signs)
    source = _source(plan, random_state)
    if ledger is not None:
        ledger.spend(plan.certificate)
    released = plan.run(scores, signs, source)
    return Evaluation(released, plan, plan.certificate.with_noise_source(source))


def _source(plan: EvaluationPlan, random_state: Any) -> NoiseSource:
    # A seed gives different noise for each plan; that of two budgets would cancel otherwise.
    planned = json.dumps(plan.certificate.to_dict(), sort_keys=True)
    digest = hashlib.sha256(planned.encode()).hexdigest()
    return NoiseSource.from_random_state(random_state).child("evaluation", digest)
