"""PrivateRanker: a linear model that ranks one class above the other, released privately."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from pairdp._checks import real
from pairdp.algorithms import Algorithm, Fit, MomentRelease, WithThreshold
from pairdp.algorithms.threshold import THRESHOLD
from pairdp.choice import Choice, choose_ranker
from pairdp.constraints import L2Ball
from pairdp.estimators.base import PrivateEstimator
from pairdp.losses import (
    HingeRanking,
    LeastSquaresRanking,
    LogisticRanking,
    RankingLoss,
    SquaredHingeRanking,
)
from pairdp.privacy import Budget, BudgetLedger

Array = NDArray[np.float64]

RANKING_LOSSES: dict[str, RankingLoss] = {
    "logistic": LogisticRanking(),
    "least_squares": LeastSquaresRanking(),
    "hinge": HingeRanking(),
    "squared_hinge": SquaredHingeRanking(),
}
"""Losses that can be asked for by name."""


class PrivateRanker(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A linear ranker that protects every single record of the data it was fitted to.

    It learns weights w that rank records of the second class above those of the first, by a
    loss over all pairs (AUC maximisation), and releases them with noise.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        ε, the privacy budget of the fit. None fits without noise and without any guarantee.
    delta : float, default=1e-5
        δ; 0 for pure ε. It should be well below 1/n.
    loss : {"logistic", "least_squares", "hinge", "squared_hinge"} or RankingLoss, default=None
        The loss of a pair. None leaves it to ``algorithm``.
    algorithm : "auto", str or Algorithm, default="auto"
        "auto" chooses from public facts (n, d, ε, δ and the parameters here) what is predicted to
        rank best. A published name such as "DPEGD", or an object of `pairdp.algorithms`.
    radius : float, default=1.0
        Largest norm of the weights.
    regularization : float, default=None
        λ of the penalty λ|w|²/2. None chooses it from public facts where one is needed.
    data_norm : float, default=1.0
        Every row is clipped to this norm before it is looked at. It must not come from the data:
        scale features by public bounds, for instance with `BoundsScaler`.
    threshold : "midpoint" or float, default="midpoint"
        The score above which `predict` says the second class. "midpoint" is midway between the
        mean scores of the classes, a noisy statistic that the budget pays for. A number must not
        come from the data.
    classes : array-like of two labels, default=None
        The labels, the one to be ranked higher last. None takes them from y, sorted: then the
        labels that occur are taken to be public.
    calibration : {"certified", "printed"}, default="certified"
        "printed" takes a paper's noise formula to the letter, for study.
    ledger : BudgetLedger, default=None
        Where the budget is drawn from. A fit that does not fit is refused before data is touched.
    random_state : int, RandomState or Generator, default=None
        None draws secret noise from the operating system, and nothing else is private in earnest.
        A seed is for studies and tests: who knows it can take the noise off.
    verbose : bool, default=None
        Whether to show progress; None shows it on a terminal for long fits.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
        The noisy weights.
    intercept_ : array of shape (1,)
        Minus the threshold.
    classes_ : array of shape (2,)
        The labels.
    certificate_ : Certificate
        What was released and why it is private; `pairdp.verify` checks it.
    plan_ : Plan
        Every number of the fit and the reasons for them. It was fixed before data was read.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, when X has names that are strings.

    See Also
    --------
    PrivateMetric : a private Mahalanobis metric.
    BoundsScaler : scale features by public bounds.

    Notes
    -----
    Everything released is listed in ``certificate_``. `score` and `predict` on other data cost
    nothing, but their results on sensitive data are not private: do not publish them. Choosing
    parameters by cross-validation on the sensitive data is not covered either, unless each
    fit is drawn from a ledger and scores are taken on public data.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import PrivateRanker
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 2000)
    >>> X = (rng.normal(size=(2000, 5)) + y[:, None]) / 5
    >>> ranker = PrivateRanker(epsilon=1.0, delta=1e-6, random_state=0).fit(X, y)
    >>> ranker.score(X, y) > 0.9
    True
    >>> ranker.certificate_.budget
    Budget(epsilon=1.0, delta=1e-06)
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 1e-5,
        *,
        loss: str | RankingLoss | None = None,
        algorithm: str | Algorithm = "auto",
        radius: float = 1.0,
        regularization: float | None = None,
        data_norm: float = 1.0,
        threshold: Literal["midpoint"] | float = "midpoint",
        classes: ArrayLike | None = None,
        calibration: str = "certified",
        ledger: BudgetLedger | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.loss = loss
        self.algorithm = algorithm
        self.radius = radius
        self.regularization = regularization
        self.data_norm = data_norm
        self.threshold = threshold
        self.classes = classes
        self.calibration = calibration
        self.ledger = ledger
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    _losses = RANKING_LOSSES
    _loss_kind = RankingLoss

    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        return choose_ranker(n, features, budget, **facts)

    def _constraint(self) -> L2Ball:
        return L2Ball(self.radius)

    def _default_loss(self, algorithm: Algorithm) -> RankingLoss:
        moments = isinstance(algorithm, MomentRelease)
        return LeastSquaresRanking() if moments else LogisticRanking()

    def _assumptions(self) -> tuple[str, ...]:
        if self.classes is None:
            return ("Which two labels occur is public.",)
        return ()

    def _complete(self, algorithm: Algorithm) -> Algorithm:
        if not isinstance(self.threshold, str):
            real("threshold", self.threshold)
            return algorithm
        if self.threshold != "midpoint":
            raise ValueError(f'threshold must be "midpoint" or a number, got {self.threshold!r}')
        return WithThreshold(algorithm)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the ranker and release it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records. Rows are clipped to ``data_norm``.
        y : array-like of shape (n_samples,)
            Labels of two classes; the larger one, in sorted order, is to be ranked higher.

        Returns
        -------
        self
        """
        self._check_ledger(X)
        rows, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        classes = self._labels(labels)
        plan = self.plan(*rows.shape)
        records = plan.problem.records(rows, np.where(labels == classes[1], 1.0, -1.0))
        self._keep(self._run(plan, records), classes)
        return self

    def _coded(self, y: ArrayLike, labels: ArrayLike | None) -> ArrayLike:
        if self.classes is None and labels is None:
            raise ValueError("records in batches need their labels in advance: give labels")
        found = np.asarray(y)
        return np.where(found == self._labels(found, labels)[1], 1.0, -1.0)

    def _keep(self, fit: Fit, labels: ArrayLike | None) -> None:
        self.classes_ = np.asarray(labels if self.classes is None else self.classes)
        self.coef_ = np.array(fit.parameters)[None, :]
        threshold = float(
            fit.statistics[THRESHOLD][0] if self.threshold == "midpoint" else self.threshold
        )
        self.intercept_ = np.array([-threshold])

    def _labels(self, y: NDArray[Any], known: ArrayLike | None = None) -> NDArray[Any]:
        """Return the two labels: those given, or those that occur."""
        check_classification_targets(y)
        given = known if self.classes is None else self.classes
        if given is None:
            classes = np.unique(y)
            if classes.size > 2:
                raise ValueError(
                    "Only binary classification is supported. The type of the target is "
                    f"{type_of_target(y)}."
                )
            if classes.size < 2:
                raise ValueError(
                    "PrivateRanker needs records of two classes, and y has only one class: give "
                    "classes=(low, high) if that is how it is"
                )
            return classes
        classes = np.asarray(given)
        if classes.shape != (2,) or classes[0] == classes[1]:
            raise ValueError(f"classes must be two different labels, got {given!r}")
        if not np.all(np.isin(y, classes)):
            raise ValueError("y has labels that are not in classes")
        return classes

    def decision_function(self, X: ArrayLike) -> Array:
        """Return scores: ⟨coef_, x⟩ + intercept_, larger for what is ranked higher.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records, scaled as in `fit`. They are not clipped.
        """
        check_is_fitted(self, "coef_")
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(rows @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the second class where the score is above the threshold, else the first."""
        above = self.decision_function(X) > 0
        return np.asarray(self.classes_[above.astype(np.intp)])

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the AUC on some data: how often a record of the second class scores higher.

        It is not private: do not publish scores on sensitive data.
        """
        scores = self.decision_function(X)
        positive = np.asarray(y) == self.classes_[1]
        return float(roc_auc_score(positive, scores, sample_weight=sample_weight))
