"""PrivateRanker: a private model that ranks by two classes or by a graded response."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp import privacy
from pairdp._checks import real
from pairdp._reading import Invalid
from pairdp.algorithms import Algorithm, Fit, MomentRelease, WithThreshold
from pairdp.algorithms.choice import Choice, choose_ranker
from pairdp.algorithms.facts import Condition
from pairdp.algorithms.score_models import score_model
from pairdp.algorithms.threshold import THRESHOLD
from pairdp.constraints import L2Ball
from pairdp.estimators.base import PrivateEstimator
from pairdp.estimators.chosen_model import ChosenModel
from pairdp.estimators.graded import GradedResponses, decoded_responses
from pairdp.estimators.held_out import Measured
from pairdp.estimators.score_models import ScoreRanker, arrays_of, check_arrays
from pairdp.estimators.table_input import GivenSchema
from pairdp.estimators.two_classes import AUCScoreMixin
from pairdp.losses import (
    GradedRanking,
    LeastSquaresRanking,
    LogisticRanking,
    PairwiseLoss,
    RankingLoss,
)
from pairdp.model_file.registry import stored_in_model_files
from pairdp.privacy import Budget
from pairdp.schema import Schema

Array = NDArray[np.float64]


@stored_in_model_files(arrays_of, check=check_arrays)
class PrivateRanker(GradedResponses, AUCScoreMixin, ChosenModel, ScoreRanker):
    """A ranker with a privacy guarantee for every training record.

    It learns scores that rank records of the second class above those of the first, and releases
    them with noise: weights of features, by minimising a loss over all pairs (AUC maximisation), or
    functions of single columns and products of two. With ``response_bounds`` it ranks by a graded
    response instead of two classes.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        ε, the privacy budget of the fit. None fits without noise and without any guarantee.
    delta : float, default=None
        δ; 0 for pure ε. None uses `pairdp.default_delta` of n, min(1e-6, 1/(100n)).
    model : {"auto", "linear", "additive", "quadratic"}, default="auto"
        What a score is: a weighted sum of features; a sum of functions of single columns
        (`PrivateScorecard`); or that and products of two columns. "auto" chooses by a table of
        public facts (`pairdp.algorithms.choice.models`), and the plan says why. It is linear if
        ``loss``, ``algorithm``, ``regularization``, ``radius``, ``calibration``, ``schedule`` or
        ``response_bounds``, which describe a linear model, are given.
    loss : str or RankingLoss, default=None
        The loss of a pair, or its name: "logistic", "least_squares", "hinge", "squared_hinge",
        "q_hinge", "sigmoid", or a registered name (`pairdp.losses.register_loss`). None leaves it
        to ``algorithm``.
    algorithm : "auto", str or Algorithm, default="auto"
        "auto" chooses, from public facts (n, d, ε, δ and the parameters), the algorithm with the
        smallest predicted error for the model. Otherwise the name of an algorithm, such as "DPEGD"
        or "moments", or an object of `pairdp.algorithms`.
    radius : float, default=1.0
        Largest norm of the weights.
    regularization : float, default=None
        λ of the penalty λ|w|²/2. None chooses it from public facts where one is needed.
    data_norm : float, default=None
        Every row is clipped to this norm. It must not be computed from the data: scale features
        by public bounds, for instance with `BoundsScaler`, whose rows have norm at most 1. None
        uses 1, with a warning.
    threshold : "midpoint" or float, default="midpoint"
        The score above which `predict` returns the second class. "midpoint" is midway between the
        mean scores of the classes, a noisy statistic that is paid for from the budget; the scores
        of additive and quadratic models are log-odds, and it is 0 for them, at no cost. A number
        must not be computed from the data.
    classes : array-like of two labels, default=None
        The labels. None takes them from y, which assumes that the labels that occur are public.
        The larger one, in sorted order, is ranked higher.
    response_bounds : tuple of two floats, default=None
        Public bounds (low, high) of a graded response. If they are given, y are numbers such as
        relevance grades, which are clipped to these bounds, and records are ranked by them: the
        loss of a pair is φ((y - y')·wᵀ(x - x')/τ), with y mapped to [-1, 1] and φ that of ``loss``
        (`GradedRanking`). There is no threshold, and `predict` returns scores. None ranks two
        classes.
    response_levels : int, default=None
        Responses are rounded to this many equidistant levels from low to high, such as 6 for grades
        from 0 to 5. Sums over all pairs are then fast; without levels they take O(n²) time, except
        for the loss "least_squares".
    calibration : {"certified", "printed"}, default="certified"
        "printed" uses a paper's noise formula as printed, for study.
    schedule : {"theorem", "tuned"}, default=None
        "theorem" takes steps, step sizes, averaging, initial point and projections from the paper
        of a published algorithm, "tuned" chooses them for a small predicted error. None is
        "theorem" for printed noise, and "tuned" otherwise.
    ledger : BudgetLedger, default=None
        The ledger that pays for the fit. A fit it cannot pay for is refused before data is read.
    data_set : str, default=None
        The name of the data set, for the entry in the ledger. A ledger that is tied to another data
        set warns. The name is public, and stored in the model.
    unit : str, default=None
        What all records of one person have in common, such as "patient_id"; a name for
        certificates.
    max_records : int, default=None
        How many records of each unit are used at most, which is public. The guarantee then covers
        all records of a unit, and `fit` needs ``groups``. By default, it covers each single record.
    random_state : int, RandomState or Generator, default=None
        None draws secret noise from the operating system, which privacy needs. A seed is for
        studies and tests: anyone who knows it can subtract the noise.
    verbose : bool, default=None
        Whether to show progress; None shows it on a terminal for long fits.
    invalid : {"error", "null"}, default="error"
        What `fit` does with a record that cannot be read (NaN, infinity, not a number, a label that
        is not in ``classes``). "error" raises an error, which reveals something about the data.
        "null" makes it a null record, which contributes nothing and reveals nothing.
    schema : Schema, dict or path, default=None
        A public description of the columns; see `pairdp.Schema`. All methods then take tables with
        named columns (a DataFrame of pandas or polars, a table of pyarrow, a dict of columns),
        which are encoded with norm at most 1, so that ``data_norm`` is not needed. The schema names
        the classes, the one that ranks high last, or the range of a graded response, and y is by
        default the column of the label.

    Attributes
    ----------
    model_ : {"linear", "additive", "quadratic"}
        The kind of model.
    coef_ : array of shape (1, n_features)
        The noisy weights of a linear model; with a schema, of the encoded features
        (``schema_.feature_names_out``). Other models have none: see `to_scorecard`.
    intercept_ : array of shape (1,)
        Minus the threshold.
    classes_ : array of shape (2,)
        The labels. Not set for a graded response.
    certificate_ : Certificate
        What was released and why it is private; `pairdp.verify` checks it.
    evaluation_ : Evaluation
        The private evaluation on records that were held out, if `fit` got ``evaluation_share``;
        ``certificate_`` covers both.
    plan_ : Plan
        Every number of the fit and the reasons for it, fixed before data was read.
    parameter_noise_ : ParameterNoise
        The standard deviation of the noise on the weights, from the plan and released values; see
        `weights_frame`.
    n_features_in_ : int
        Number of features; with a schema, of columns that are encoded.
    feature_names_in_ : array of shape (n_features,)
        Their names, when X has names that are strings.
    schema_ : Schema
        The schema, if there is one.

    See Also
    --------
    PrivateScorecard : additive models, with monotone columns.
    PrivateMetric : a private Mahalanobis metric.
    BoundsScaler : scale features by public bounds.

    Notes
    -----
    Everything released is listed in ``certificate_``. `score` and `predict` cost nothing on other
    data, but their results on sensitive data are not private: do not publish them. Choosing
    parameters by cross-validation on the sensitive data is not covered either, unless each fit is
    paid for from a ledger and scores are computed on public data.

    `score` is the AUC or, for a graded response, the concordance: how often the record with the
    larger response has the larger score.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import PrivateRanker
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 2000)
    >>> X = (rng.normal(size=(2000, 5)) + y[:, None]) / 5
    >>> ranker = PrivateRanker(epsilon=1.0, data_norm=1.0, random_state=0).fit(X, y)
    >>> ranker.score(X, y) > 0.9
    True
    >>> ranker.certificate_.budget
    Budget(epsilon=1.0, delta=1e-06)
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float | None = None,
        *,
        model: str = "auto",
        loss: str | RankingLoss | None = None,
        algorithm: str | Algorithm = "auto",
        radius: float = 1.0,
        regularization: float | None = None,
        data_norm: float | None = None,
        threshold: Literal["midpoint"] | float = "midpoint",
        classes: ArrayLike | None = None,
        response_bounds: tuple[float, float] | None = None,
        response_levels: int | None = None,
        calibration: str = "certified",
        schedule: str | None = None,
        ledger: privacy.BudgetLedger | None = None,
        data_set: str | None = None,
        unit: str | None = None,
        max_records: int | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
        invalid: Invalid = "error",
        schema: GivenSchema | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.model = model
        self.loss = loss
        self.algorithm = algorithm
        self.radius = radius
        self.regularization = regularization
        self.data_norm = data_norm
        self.threshold = threshold
        self.classes = classes
        self.response_bounds = response_bounds
        self.response_levels = response_levels
        self.calibration = calibration
        self.schedule = schedule
        self.ledger = ledger
        self.data_set = data_set
        self.unit = unit
        self.max_records = max_records
        self.random_state = random_state
        self.verbose = verbose
        self.invalid = invalid
        self.schema = schema

    _loss_kind = RankingLoss

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self._is_graded:
            tags.estimator_type, tags.classifier_tags = None, None
        return tags

    @property
    def _numeric_targets(self) -> bool:
        return self._is_graded

    def _measure(self) -> Measured:
        bounds = self._responses()
        return super()._measure() if bounds is None else ("concordance", (bounds.low, bounds.high))

    def _decoded(self, labels: NDArray[Any]) -> NDArray[Any]:
        bounds = self._responses()
        return super()._decoded(labels) if bounds is None else decoded_responses(labels, bounds)

    def _check_schema(self, schema: Schema) -> None:
        if self.response_bounds is not None and schema.response is not None:
            raise ValueError("the schema says what the label is: leave out response_bounds")
        if schema.target is None:
            super()._check_schema(schema)

    def _linear_parameters(self) -> Iterator[str]:
        if self._responses() is not None:
            yield "a graded response"
        yield from super()._linear_parameters()

    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        if self._responses() is not None:
            given = facts["loss"]
            facts["loss"] = given and given.ranking
            facts["graded"] = GradedRanking(levels=self.response_levels)
        return choose_ranker(n, features, budget, **facts)

    def _constraint(self) -> L2Ball:
        return L2Ball(self.radius)

    def _given_loss(self) -> PairwiseLoss | None:
        loss: Any = super()._given_loss()
        return None if loss is None else self._of_labels(loss)

    def _default_loss(self, algorithm: Algorithm) -> PairwiseLoss:
        inner = algorithm.algorithm if isinstance(algorithm, WithThreshold) else algorithm
        moments = isinstance(inner, MomentRelease)
        return self._of_labels(LeastSquaresRanking() if moments else LogisticRanking())

    def completed(self, algorithm: Algorithm) -> Algorithm:
        """Return the algorithm, with a threshold if one is released."""
        if self._responses() is not None:
            if self.threshold != "midpoint":
                raise ValueError("threshold is for two classes: leave it out with response_bounds")
            return algorithm
        with_threshold = isinstance(algorithm, WithThreshold)
        free = score_model(algorithm) is not None  # scores are log-odds
        if not isinstance(self.threshold, str):
            if not math.isfinite(real("threshold", self.threshold)):
                raise ValueError(f"threshold must be finite, got {self.threshold!r}")
            return algorithm.algorithm if with_threshold else algorithm  # type: ignore[attr-defined]
        if self.threshold != "midpoint":
            raise ValueError(f'threshold must be "midpoint" or a number, got {self.threshold!r}')
        return algorithm if with_threshold or free else WithThreshold(algorithm)

    def _conditions(self) -> tuple[Condition, ...]:
        bounds = self._responses()
        if bounds is None:
            return super()._conditions()
        return (*PrivateEstimator._conditions(self), bounds)

    def _labels(  # type: ignore[override]
        self, y: NDArray[Any] | None, given: ArrayLike | None
    ) -> NDArray[Any] | None:
        return super()._labels(y, given) if self._responses() is None else None

    def _coded(self, y: ArrayLike, labels: Any) -> Array:
        bounds = self._responses()
        if bounds is None:
            return super()._coded(y, labels)
        return self._coded_responses(y, bounds)

    def _set_fitted(self, fit: Fit) -> None:
        if self._responses() is not None:
            self.__dict__.pop("classes_", None)
        threshold = 0.0
        if self.threshold != "midpoint":
            threshold = float(self.threshold)
        elif THRESHOLD in fit.statistics:
            threshold = float(fit.statistics[THRESHOLD][0])
        self._set_model(fit, threshold)

    def privacy_statement(self) -> str:
        """Return the privacy statement of the fitted model, for a privacy officer."""
        if not self._is_graded:
            return super().privacy_statement()
        statement = PrivateEstimator.privacy_statement(self)
        return f"{statement}\n\nLarger responses are ranked above smaller ones."

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the second class if the score is above zero, otherwise the first.

        For a graded response, return the scores.
        """
        return self.decision_function(X) if self._is_graded else super().predict(X)

    def score(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the AUC on the given data, or the concordance for a graded response.

        It is not private: do not publish scores on sensitive data. Null records are left out, with
        ``invalid="null"`` also those with a label that is not in ``classes_``, or a response that
        cannot be read.

        Raises
        ------
        ValueError
            If y has labels other than the two in ``classes_`` or only one of them; for a graded
            response, if all responses are equal or there are weights.
        """
        bounds = self._responses()
        if bounds is None:
            return super().score(X, y, sample_weight)
        if sample_weight is not None:
            raise ValueError("the concordance of a graded response has no sample_weight")
        return self._concordance(X, y, bounds)
