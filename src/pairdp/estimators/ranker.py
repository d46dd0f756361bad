"""PrivateRanker: a private linear model that ranks one class above the other."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp import privacy
from pairdp._checks import real
from pairdp._reading import Invalid
from pairdp.algorithms import Algorithm, Fit, MomentRelease, WithThreshold
from pairdp.algorithms.choice import Choice, choose_ranker
from pairdp.algorithms.threshold import THRESHOLD
from pairdp.constraints import L2Ball
from pairdp.estimators.two_classes import AUCScoreMixin, TwoClassEstimator
from pairdp.losses import LeastSquaresRanking, LogisticRanking, RankingLoss
from pairdp.model_file.registry import stored_in_model_files
from pairdp.privacy import Budget

Array = NDArray[np.float64]


@stored_in_model_files({"coef_": (1, "d"), "intercept_": (1,)})
class PrivateRanker(AUCScoreMixin, TwoClassEstimator):
    """A linear ranker with a privacy guarantee for every training record.

    It learns weights w that rank records of the second class above those of the first, by
    minimising a loss over all pairs (AUC maximisation), and releases them with noise.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        ε, the privacy budget of the fit. None fits without noise and without any guarantee.
    delta : float, default=None
        δ; 0 for pure ε. None uses `pairdp.default_delta` of n, min(1e-6, 1/(100n)).
    loss : str or RankingLoss, default=None
        The loss of a pair, or its name: "logistic", "least_squares", "hinge", "squared_hinge",
        "sigmoid", or a registered name (`pairdp.losses.register_loss`). None leaves it to
        ``algorithm``.
    algorithm : "auto", str or Algorithm, default="auto"
        "auto" chooses, from public facts (n, d, ε, δ and the parameters), the algorithm with the
        smallest predicted error. Otherwise the name of an algorithm, such as "DPEGD" or "moments",
        or an object of `pairdp.algorithms`.
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
        mean scores of the classes, a noisy statistic that is paid for from the budget. A number
        must not be computed from the data.
    classes : array-like of two labels, default=None
        The labels. None takes them from y, which assumes that the labels that occur are public.
        The larger one, in sorted order, is ranked higher.
    calibration : {"certified", "printed"}, default="certified"
        "printed" uses a paper's noise formula as printed, for study.
    schedule : {"theorem", "tuned"}, default=None
        "theorem" takes steps, step sizes, averaging, initial point and projections from the paper
        of a published algorithm, "tuned" chooses them for a small predicted error. None is
        "theorem" for printed noise, and "tuned" otherwise.
    ledger : BudgetLedger, default=None
        The ledger that pays for the fit. A fit it cannot pay for is refused before data is read.
    random_state : int, RandomState or Generator, default=None
        None draws secret noise from the operating system, which privacy needs. A seed is for
        studies and tests: anyone who knows it can subtract the noise.
    verbose : bool, default=None
        Whether to show progress; None shows it on a terminal for long fits.
    invalid : {"error", "null"}, default="error"
        What `fit` does with a record that cannot be read (NaN, infinity, not a number, a label that
        is not in ``classes``). "error" raises an error, which reveals something about the data.
        "null" makes it a null record, which contributes nothing and reveals nothing.

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
        Every number of the fit and the reasons for it, fixed before data was read.
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
    Everything released is listed in ``certificate_``. `score` and `predict` cost nothing on other
    data, but their results on sensitive data are not private: do not publish them. Choosing
    parameters by cross-validation on the sensitive data is not covered either, unless each fit is
    paid for from a ledger and scores are computed on public data.

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
        loss: str | RankingLoss | None = None,
        algorithm: str | Algorithm = "auto",
        radius: float = 1.0,
        regularization: float | None = None,
        data_norm: float | None = None,
        threshold: Literal["midpoint"] | float = "midpoint",
        classes: ArrayLike | None = None,
        calibration: str = "certified",
        schedule: str | None = None,
        ledger: privacy.BudgetLedger | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
        invalid: Invalid = "error",
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
        self.schedule = schedule
        self.ledger = ledger
        self.random_state = random_state
        self.verbose = verbose
        self.invalid = invalid

    _loss_kind = RankingLoss

    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        return choose_ranker(n, features, budget, **facts)

    def _constraint(self) -> L2Ball:
        return L2Ball(self.radius)

    def _default_loss(self, algorithm: Algorithm) -> RankingLoss:
        inner = algorithm.algorithm if isinstance(algorithm, WithThreshold) else algorithm
        moments = isinstance(inner, MomentRelease)
        return LeastSquaresRanking() if moments else LogisticRanking()

    def completed(self, algorithm: Algorithm) -> Algorithm:
        """Return the algorithm, with a threshold if one is released."""
        with_threshold = isinstance(algorithm, WithThreshold)
        if not isinstance(self.threshold, str):
            if not math.isfinite(real("threshold", self.threshold)):
                raise ValueError(f"threshold must be finite, got {self.threshold!r}")
            return algorithm.algorithm if with_threshold else algorithm  # type: ignore[attr-defined]
        if self.threshold != "midpoint":
            raise ValueError(f'threshold must be "midpoint" or a number, got {self.threshold!r}')
        return algorithm if with_threshold else WithThreshold(algorithm)

    def _set_fitted(self, fit: Fit) -> None:
        self.coef_ = np.array(fit.parameters)[None, :]
        threshold = float(
            fit.statistics[THRESHOLD][0] if self.threshold == "midpoint" else self.threshold
        )
        self.intercept_ = np.array([-threshold])
