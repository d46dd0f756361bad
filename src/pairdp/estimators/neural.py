"""PrivateNeuralRanker: a ranker by a small network, for pairs without convexity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from pairdp import privacy
from pairdp._reading import Invalid
from pairdp.algorithms import Algorithm, Fit
from pairdp.algorithms.choice import Choice
from pairdp.algorithms.neural import NeuralDescent
from pairdp.algorithms.neural.scores import NetworkScores
from pairdp.constraints import Unconstrained
from pairdp.estimators.table_input import GivenSchema
from pairdp.estimators.two_classes import AUCScoreMixin, TwoClassEstimator
from pairdp.losses import LogisticRanking, RankingLoss
from pairdp.model_file.registry import Shape, stored_in_model_files
from pairdp.privacy import Budget

Array = NDArray[np.float64]


def _arrays_of(model: Any) -> Mapping[str, Shape]:
    check_is_fitted(model, "plan_")
    statistics = {f"{name}_": ("*",) for name in model.plan_.algorithm.score_statistics}
    return {"parameters_": ("*",), **statistics, "intercept_": (1,)}


def _check_arrays(model: Any) -> None:
    model._network_scores()


@stored_in_model_files(_arrays_of, check=_check_arrays)
class PrivateNeuralRanker(AUCScoreMixin, TwoClassEstimator):
    """A ranker by a small network, with a privacy guarantee for every training record.

    Scores are a linear function of a record plus a network with tanh layers. The network is worth
    its noise where scores depend on directions across many features or on their combinations, and
    records are many: tens of thousands at ε = 1. On common tables, `PrivateRanker` is better.

    Parameters
    ----------
    epsilon, delta
        As for `PrivateRanker`; δ must be above 0.
    hidden : sequence of int, default=(32, 16)
        The widths of the layers of the built-in network.
    module : torch.nn.Module, a class derived from it, or TorchModule, default=None
        A network of your own instead (``pip install 'pairdp[torch]'``), which maps rows of shape
        (b, d) to scores of shape (b,) or (b, 1). A class is called with the number of features,
        and with the arguments of `pairdp.TorchModule`; the weights and buffers of an object must be
        public.
    n_steps : int, default=None
        Number of noisy gradients of the whole network; by default 40 to 400, the more the larger
        n and ε are.
    gradient : {"reference", "pairwise"}, default="reference"
        "reference" pairs each record with noisy distributions of the scores of the other class;
        "pairwise" is the sum over all pairs, as in Kang 2021, with more noise for its signal.
    loss : str or RankingLoss, default=None
        The loss of pairs for ``gradient="pairwise"``, which need not be convex; the logistic loss
        by default.
    learning_rate : float, default=0.05
        The step size.
    batch_size : int, default=None
        The number of records of each gradient of the whole network, drawn without replacement; by
        default all records, which needs less noise for as many steps.
    data_norm, threshold, classes, ledger, data_set, unit, max_records, random_state, verbose, \
invalid, schema
        As for `PrivateRanker`. The threshold is a number.

    Attributes
    ----------
    parameters_ : array
        The parameters of the network.
    centre_, scales_ : arrays of shape (n_features,)
        The noisy centre and scales by which rows are standardised.
    fixed_ : array
        Of a module of your own, the buffers and the parameters that need no gradient.
    intercept_ : array of shape (1,)
        Minus the threshold.
    classes_, certificate_, plan_, schema_, n_features_in_, feature_names_in_
        As for `PrivateRanker`.

    See Also
    --------
    PrivateRanker : linear, additive and quadratic models.

    Notes
    -----
    `score` is the AUC. On sensitive data it is not private: do not publish it.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import PrivateNeuralRanker
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(8000, 4)) / 4
    >>> y = np.where(rng.random(8000) < 1 / (1 + np.exp(-120 * X[:, 0] * X[:, 1])), 1, 0)
    >>> ranker = PrivateNeuralRanker(4.0, data_norm=1.0, n_steps=60, random_state=0).fit(X, y)
    >>> ranker.score(X, y) > 0.75  # a linear model has 0.5
    True
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float | None = None,
        *,
        hidden: tuple[int, ...] = (32, 16),
        module: Any = None,
        n_steps: int | None = None,
        gradient: Literal["reference", "pairwise"] = "reference",
        loss: str | RankingLoss | None = None,
        learning_rate: float = 0.05,
        batch_size: int | None = None,
        data_norm: float | None = None,
        threshold: float = 0.0,
        classes: ArrayLike | None = None,
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
        self.hidden = hidden
        self.module = module
        self.n_steps = n_steps
        self.gradient = gradient
        self.loss = loss
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.data_norm = data_norm
        self.threshold = threshold
        self.classes = classes
        self.ledger = ledger
        self.data_set = data_set
        self.unit = unit
        self.max_records = max_records
        self.random_state = random_state
        self.verbose = verbose
        self.invalid = invalid
        self.schema = schema

    _loss_kind = RankingLoss

    def _algorithm(self, n: int) -> Algorithm:
        return NeuralDescent(
            hidden=self.hidden,
            steps=self.n_steps,
            gradient=self.gradient,
            learning_rate=self.learning_rate,
            module=self.module,
            batch_size=self.batch_size,
        )

    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        raise ValueError("a network is fitted by one algorithm: use plan to see what it does")

    def _constraint(self) -> Unconstrained:
        return Unconstrained()

    def _default_loss(self, algorithm: Algorithm) -> RankingLoss:
        return LogisticRanking()

    def _set_fitted(self, fit: Fit) -> None:
        self.parameters_ = np.array(fit.parameters)
        self.__dict__.pop("fixed_", None)  # of another network
        for name in self._descent.score_statistics:
            setattr(self, f"{name}_", np.array(fit.statistics[name]))
        self.intercept_ = np.array([0.0 - float(self.threshold)])

    @property
    def _descent(self) -> NeuralDescent:
        return self.plan_.algorithm  # type: ignore[return-value]

    def _network_scores(self) -> NetworkScores:
        statistics = {name: getattr(self, f"{name}_") for name in self._descent.score_statistics}
        return self._descent.score_function(self.plan_, self.parameters_, statistics)

    def weights_frame(self) -> Any:
        """Raise an error: the parameters of a network are not weights of features."""
        raise ValueError(
            "a network has no table of weights: fit a PrivateRanker, or draw scores of rows of "
            "your own that are public"
        )

    def decision_function(self, X: ArrayLike) -> Array:
        """Return scores, larger for the second class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a table with a schema
            Records, scaled as in `fit`. Scores of null records are NaN.
        """
        check_is_fitted(self, "parameters_")
        scores = self._network_scores().scores
        with np.errstate(all="ignore"):  # no warning depends on rows
            return self._scored(X, lambda rows: scores(rows) + self.intercept_[0])
