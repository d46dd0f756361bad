"""OnlinePrivateRanker: a private linear ranker that is learned from a stream."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import real
from pairdp._reading import Invalid
from pairdp.algorithms import Algorithm, Plan
from pairdp.constraints import L2Ball
from pairdp.estimators.online import OnlineEstimator
from pairdp.estimators.table_input import GivenSchema
from pairdp.estimators.two_classes import AUCScoreMixin, TwoClassEstimator
from pairdp.losses import LeastSquaresRanking, LogisticRanking, RankingLoss
from pairdp.model_file.registry import stored_in_model_files
from pairdp.online import OnlineAlgorithm, OnlineMoments
from pairdp.privacy import BudgetLedger

Array = NDArray[np.float64]


@stored_in_model_files({"coef_": (1, "d"), "intercept_": (1,)})
class OnlinePrivateRanker(AUCScoreMixin, OnlineEstimator, TwoClassEstimator):
    """A linear ranker learned online, with one privacy guarantee for the whole stream.

    `partial_fit` learns the next records, up to a declared horizon. After each batch the updated
    model may be published: the budget covers the whole sequence of models.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        ε, the privacy budget of the stream. None learns without noise and without any guarantee.
    delta : float, default=None
        δ, above 0. None uses `pairdp.default_delta` of the horizon, min(1e-6, 1/(100·horizon)).
    horizon : int, default=10000
        The number of records that the budget covers; more are refused. `fit` uses the number of
        its records instead.
    loss : {"logistic", "least_squares", "hinge", "squared_hinge", "sigmoid"} or RankingLoss, \
default=None
        The loss of a pair. None leaves it to ``algorithm``.
    algorithm : {"auto", "centered_moments", "moments", "descent", "OnPairStrC", "OnPairC", \
"OnPairGradient"} or OnlineAlgorithm
        "moments" keeps noisy class moments, for least squares; "centered_moments" does so after it
        learned a centre and a radius from the first records, if the horizon is long enough for
        that; "descent" takes one step for each batch, with noise in gradients. "auto" is
        "centered_moments" if the loss allows it, otherwise "descent"; with printed noise it is
        "OnPairC". "OnPairStrC" and "OnPairC" add noise to models as Huai 2020 do; "OnPairGradient"
        is the same descent with noise in gradients.
    buffer : int, default=None
        The number of latest records that new ones are paired with in descent. None is 1024, or all
        records for the OnPair algorithms, whose time is then quadratic in the horizon.
    batch_size : int, default=None
        The number of records in a step. None is 1 for moments and for the OnPair algorithms, and
        the square root of the horizon for descent.
    average : bool or "uniform", default=None
        Whether predictions use the average of all released models, with more weight on later ones,
        or the last model. "uniform" is the online-to-batch average of Huai 2020, equation 6. None
        averages for descent.
    radius : float, default=1.0
        Largest norm of the weights.
    regularization : float, default=None
        λ of the penalty λ|w|²/2; None for no penalty.
    threshold : float, default=0.0
        The score above which `predict` returns the second class. It must not be computed from the
        data.
    classes : array-like of two labels, default=None
        The labels, if they are not passed to `partial_fit`. The larger one is ranked higher.
    ledger : BudgetLedger, default=None
        The ledger that pays for the whole stream when it begins.
    data_set : str, default=None
        The name of the stream, for the entry in the ledger; see `PrivateRanker`.
    verbose : bool, default=None
        Whether `fit` shows progress.
    schedule : {"theorem", "tuned"}, default=None
        "theorem" runs "OnPairStrC" and "OnPairC" with the burn-in, step sizes and noise of Huai
        2020. None is "theorem" for printed noise, and "tuned" otherwise.
    data_norm, calibration, random_state, invalid, schema
        As for `PrivateRanker`.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
        The weights, computed from released models only.
    intercept_ : array of shape (1,)
        Minus the threshold.
    classes_ : array of shape (2,)
        The labels.
    spent_ : Budget or None
        The cost of the models so far. It depends on the number of records only.
    records_left_ : int
        The number of records that the budget still covers.
    certificate_ : Certificate
        The certificate of the whole stream; `pairdp.verify` checks it.
    plan_ : Plan
        Every number of the stream, fixed before the first record was read.
    n_features_in_, feature_names_in_
        As for `PrivateRanker`.

    See Also
    --------
    PrivateRanker : needs less noise, if all records are available at once.

    Notes
    -----
    During a stream the estimator holds raw records in memory (the buffer and an unfinished batch)
    and cannot be pickled: `pause` writes the stream to a file, which says what it contains, and
    `save` writes the released model alone.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import OnlinePrivateRanker
    >>> rng = np.random.default_rng(0)
    >>> model = OnlinePrivateRanker(1.0, horizon=2000, data_norm=1.0, random_state=0)
    >>> for day in range(4):
    ...     y = rng.integers(0, 2, 500)
    ...     X = (rng.normal(size=(500, 5)) + y[:, None]) / 5
    ...     model = model.partial_fit(X, y, classes=[0, 1])
    >>> model.score(X, y) > 0.85
    True
    >>> model.records_left_
    0
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float | None = None,
        *,
        horizon: int = 10_000,
        loss: str | RankingLoss | None = None,
        algorithm: str | OnlineAlgorithm = "auto",
        buffer: int | None = None,
        batch_size: int | None = None,
        average: bool | Literal["uniform"] | None = None,
        radius: float = 1.0,
        regularization: float | None = None,
        data_norm: float | None = None,
        threshold: float = 0.0,
        classes: ArrayLike | None = None,
        calibration: str = "certified",
        schedule: str | None = None,
        ledger: BudgetLedger | None = None,
        data_set: str | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
        invalid: Invalid = "error",
        schema: GivenSchema | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.horizon = horizon
        self.loss = loss
        self.algorithm = algorithm
        self.buffer = buffer
        self.batch_size = batch_size
        self.average = average
        self.radius = radius
        self.regularization = regularization
        self.data_norm = data_norm
        self.threshold = threshold
        self.classes = classes
        self.calibration = calibration
        self.schedule = schedule
        self.ledger = ledger
        self.data_set = data_set
        self.random_state = random_state
        self.verbose = verbose
        self.invalid = invalid
        self.schema = schema

    _loss_kind = RankingLoss

    def _constraint(self) -> L2Ball:
        return L2Ball(self.radius)

    def _default_algorithm(self) -> str:
        loss = self._given_loss()
        by_moments = loss is None or isinstance(loss, LeastSquaresRanking)
        if by_moments and self.calibration == "certified":
            return "centered_moments"
        return super()._default_algorithm()

    def _default_loss(self, algorithm: Algorithm) -> RankingLoss:
        by_moments = isinstance(algorithm, OnlineMoments)
        return LeastSquaresRanking() if by_moments else LogisticRanking()

    def _stream_labels(self, y: NDArray[Any], classes: ArrayLike | None) -> Array:
        schema = self._schema()
        named = self.classes is not None or (schema is not None and schema.classes is not None)
        if hasattr(self, "_session"):
            if classes is not None and set(np.asarray(classes)) != set(self.classes_):
                raise ValueError("classes differ from those that the stream began with")
        elif classes is None and not named:
            raise ValueError("classes must be passed to the first call of partial_fit")
        else:
            self.classes_ = self._labels(None, classes)
        return self._coded(y, self.classes_)

    def _check_parameters(self, plan: Plan) -> None:
        super()._check_parameters(plan)
        if not math.isfinite(real("threshold", self.threshold)):
            raise ValueError(f"threshold must be finite, got {self.threshold!r}")

    def _set_parameters(self, parameters: Array) -> None:
        self.coef_ = np.array(parameters)[None, :]
        self.intercept_ = np.array([-float(self.threshold)])
        self._forget_calibration()
