"""PrivateScorecard: a private additive model with points for each bin of each column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from pairdp import privacy
from pairdp._checks import integer
from pairdp._reading import Invalid
from pairdp.algorithms import Algorithm, Fit, Plan
from pairdp.algorithms.choice import Choice
from pairdp.algorithms.scorecard.cells import FINE, Cells, NumberCells
from pairdp.algorithms.scorecard.layout import columns_of_schema
from pairdp.algorithms.scorecard.points import Points
from pairdp.algorithms.scorecard.scorecard import Scorecard
from pairdp.constraints import Unconstrained
from pairdp.estimators.scorecard_views import ScorecardViews, are_all
from pairdp.estimators.table_input import GivenSchema
from pairdp.estimators.two_classes import AUCScoreMixin
from pairdp.losses import LogisticPointwise, PointwiseLoss
from pairdp.model_file.registry import stored_in_model_files
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Budget

Array = NDArray[np.float64]


def _products(interactions: Any, names: list[str] | None) -> dict[str, Any]:
    """Return the products that are asked for, as parameters of a `Scorecard`."""
    if interactions is False or are_all(interactions):
        return {"interactions": interactions is not False}
    if isinstance(interactions, str):
        raise ValueError(f'interactions must be "all", a number or pairs, got {interactions!r}')
    if isinstance(interactions, int | np.integer):
        return {"chosen": integer("interactions", interactions, at_least=0)}
    given = list(interactions) if isinstance(interactions, Iterable) else [interactions]
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in given):
        raise ValueError(
            'interactions must be False, True, a number, or a list of pairs such as [("age", '
            f'"hours")], got {interactions!r}'
        )
    pairs = [tuple(pair) for pair in given]
    if names is None and any(isinstance(name, str) for pair in pairs for name in pair):
        raise ValueError("without a schema, a pair of interactions has places such as (0, 2)")
    if names is not None:
        unknown = [name for pair in pairs for name in pair if name not in names]
        if unknown:
            raise ValueError(
                f"interactions has {unknown[0]!r}, which is not a column of the schema; these are "
                f"{', '.join(names)}"
            )
        pairs = [tuple(names.index(name) for name in pair) for pair in pairs]
    return {"pairs": pairs}


def _check_arrays(model: Any) -> None:
    points = model._fitted_points()
    if model.deviations_.shape != model.points_.shape or np.any(model.deviations_ < 0):
        raise ValueError("there is not one deviation for each bin")
    if model.counts_.shape != model.points_.shape or np.any(model.counts_ < 0):
        raise ValueError("there is not one count for each bin")
    if model.product_deviations_.shape != points.interactions.shape or np.any(
        model.product_deviations_ < 0
    ):
        raise ValueError("there is not one deviation for each product")


@stored_in_model_files(
    {
        "points_": ("*",),
        "intercept_": (1,),
        "bins_": ("*",),
        "edges_": ("*",),
        "deviations_": ("*",),
        "counts_": ("*",),
        "interactions_": ("*", "*"),
        "factors_": ("*",),
        "product_deviations_": ("*", "*"),
    },
    check=_check_arrays,
)
class PrivateScorecard(AUCScoreMixin, ScorecardViews):
    """A scorecard with a privacy guarantee for every training record.

    The score of a record is the sum of points, one for the bin of each of its columns: the
    log-odds of the second class, up to noise. Numbers are divided into bins by noisy counts;
    categories and missing cells are bins of their own. Columns of any scale and shape can be used
    as they are.

    Parameters
    ----------
    epsilon, delta
        As for `PrivateRanker`. With ``delta=0``, points are those of naive Bayes unless
        there are very many records.
    schema : Schema, dict or path, default=None
        The public description of the columns, with which tables are read. Without one, every
        feature is a number between ± ``data_norm``.
    interactions : bool, int or list of pairs, default=False
        Products of two columns that are added if the budget suffices: pairs of names, such as
        ``[("age", "hours")]``, which must not be chosen by looking at the data (places if there is
        no schema); a number of pairs that are chosen privately; or True or "all" for all of them,
        with squares. Scores are then sums of points of columns and of pairs.
    monotone : mapping of str to {-1, 1}, default=None
        Columns whose points must not increase (-1) or not decrease (1) with the number. It must not
        be chosen by looking at the data. Products with other columns are not constrained.
    smoothing : float, default=0.0
        How strongly the points of neighbouring bins of a number, and those of all categories of a
        column, are pulled together: 1 as much as an average bin holds its own points, so that rare
        bins move most. It costs nothing, and `PrivateSearch` chooses among values of it, and of
        ``shrinkage``, for the price of one fit.
    shrinkage : float, default=0.0
        How far points are pulled towards those of naive Bayes, from 0 to 1.
    resolution : int, default=0
        About how many bins a number has, up to 128, if the budget buys labelled counts of fewer:
        points then follow the number more closely, and the table is longer. 0 leaves those of the
        counts. It costs nothing.
    data_norm, classes, ledger, data_set, unit, max_records, random_state, verbose, invalid
        As for `PrivateRanker`.

    Attributes
    ----------
    points_, deviations_, counts_ : arrays
        The points of all bins, column by column; the standard deviation of their noise, to first
        order, or a bound on it for points that are pulled together; the noisy counts of records.
    bins_ : array of shape (columns,)
        The number of bins of each column.
    edges_ : array
        The ends of the bins of numbers, in 4096ths of their range.
    intercept_ : array of shape (1,)
        What is added to every score.
    interactions_, factors_, product_deviations_ : arrays
        The weights of products, their factors by bin, and the standard deviations of the noise in
        the weights; empty without products.
    classes_, certificate_, plan_, schema_, n_features_in_, feature_names_in_
        As for `PrivateRanker`.

    See Also
    --------
    PrivateRanker : chooses between linear, additive and quadratic models.

    Notes
    -----
    `table` lists the points of every bin, `figures` and `write_figures` draw them, `explain` gives
    those of records, and `to_sql` and `to_json` export the model. All are functions of what was
    released.

    `score` is the AUC. On sensitive data it is not private: do not publish it.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import PrivateScorecard
    >>> rng = np.random.default_rng(0)
    >>> age, sex = rng.integers(18, 90, 5000), rng.choice(["F", "M"], 5000)
    >>> died = np.where(rng.random(5000) < 1 / (1 + np.exp(4 - age / 15)), "yes", "no")
    >>> table = {"age": age, "sex": sex, "died": died}
    >>> schema = {"age": [0, 120], "sex": ["F", "M"], "died": {"label": ["no", "yes"]}}
    >>> model = PrivateScorecard(1.0, schema=schema, random_state=0).fit(table)
    >>> model.score(table) > 0.75
    True
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float | None = None,
        *,
        schema: GivenSchema | None = None,
        interactions: bool | int | str | Sequence[tuple[str, str]] = False,
        monotone: Mapping[str, int] | None = None,
        smoothing: float = 0.0,
        shrinkage: float = 0.0,
        resolution: int = 0,
        data_norm: float | None = None,
        classes: ArrayLike | None = None,
        ledger: privacy.BudgetLedger | None = None,
        data_set: str | None = None,
        unit: str | None = None,
        max_records: int | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
        invalid: Invalid = "error",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.interactions = interactions
        self.monotone = monotone
        self.smoothing = smoothing
        self.shrinkage = shrinkage
        self.resolution = resolution
        self.data_norm = data_norm
        self.classes = classes
        self.ledger = ledger
        self.data_set = data_set
        self.unit = unit
        self.max_records = max_records
        self.random_state = random_state
        self.verbose = verbose
        self.invalid = invalid

    _loss_kind = PointwiseLoss
    _problem_kind = PointwiseProblem

    def _algorithm(self, n: int) -> Algorithm:
        schema = self._schema()
        self._checked_monotone(None if schema is None else dict(columns_of_schema(schema)))
        listed = () if schema is None else columns_of_schema(schema)
        columns, found = tuple(cells for _, cells in listed), [name for name, _ in listed]
        for name in found:
            if found.count(name) > 1:
                raise ValueError(f"a column and a part of a date are both called {name!r}")
        names = None if schema is None else found
        return Scorecard(
            columns,
            **_products(self.interactions, names),
            smoothing=self.smoothing,
            shrinkage=self.shrinkage,
            resolution=self.resolution,
        )

    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        raise ValueError("a scorecard is fitted by one algorithm: use plan to see what it does")

    def _constraint(self) -> Unconstrained:
        return Unconstrained()

    def _default_loss(self, algorithm: Algorithm) -> LogisticPointwise:
        return LogisticPointwise()

    def _checked_monotone(self, columns: Mapping[str, Cells] | None) -> dict[str, int]:
        """Return the directions by column, after checking them."""
        if not isinstance(self.monotone, Mapping | None):
            raise ValueError(
                f'monotone must be a mapping such as {{"age": 1}}, got {self.monotone!r}'
            )
        given = {} if self.monotone is None else dict(self.monotone)
        for name, direction in given.items():
            if direction not in (-1, 1):
                raise ValueError(f"monotone must be -1 or 1, got {direction!r} for {name!r}")
            if columns is not None and not isinstance(columns.get(name), NumberCells):
                numbers = [n for n, cells in columns.items() if isinstance(cells, NumberCells)]
                raise ValueError(
                    f"monotone has {name!r}, which is not a number of the table; these are "
                    f"{', '.join(numbers)}"
                )
        return given

    def _fit_plan(self, plan: Any, batches: Any, n_features: int, labels: Any = None) -> Fit:
        if self._schema() is None:  # names are known now, and an error costs nothing yet
            numbers = {
                name: NumberCells(j, -1, 1) for j, name in enumerate(self._names(n_features))
            }
            self._checked_monotone(numbers)
        return super()._fit_plan(plan, batches, n_features, labels)

    def _set_release(self, plan: Plan, fit: Fit) -> None:
        super()._set_release(plan, fit)
        if self.monotone and isinstance(self.parameter_noise_.deviation, np.ndarray):
            self.parameter_noise_ = replace(self.parameter_noise_, deviation=self.deviations_)

    def _set_fitted(self, fit: Fit) -> None:
        found = fit.statistics
        self.bins_, self.edges_ = found["bins"], found["edges"]
        self.deviations_, self.counts_ = np.array(found["deviations"]), found["counts"]
        self.interactions_, self.factors_ = found["interactions"], found["factors"]
        self.product_deviations_ = found["product_deviations"]
        self.points_ = np.array(fit.parameters[:-1])
        self.intercept_ = np.array(fit.parameters[-1:])
        self._make_monotone()

    def _make_monotone(self) -> None:
        """Replace points by the nearest monotone ones, weighted by counts: post-processing.

        Bins are pooled where points go the other way. The deviation of a weighted mean of dependent
        numbers is at most that of their deviations, which pooled bins get.
        """
        names = self.column_names()
        given = self._checked_monotone(dict(zip(names, self._cells(), strict=True)))
        ends = np.cumsum(self.bins_).astype(np.intp)
        for name, direction in given.items():
            from sklearn.isotonic import isotonic_regression

            place = names.index(name)
            column = self._cells()[place]
            start, stop = int(ends[place] - self.bins_[place]), int(ends[place])
            stop -= column.size - FINE
            weights = np.maximum(self.counts_[start:stop], 1e-9)
            found = isotonic_regression(
                self.points_[start:stop], sample_weight=weights, increasing=direction > 0
            )
            pool = np.cumsum(np.diff(found, prepend=found[0]) != 0)
            spread = np.bincount(pool, weights * self.deviations_[start:stop])
            self.points_[start:stop] = found
            self.deviations_[start:stop] = (spread / np.bincount(pool, weights))[pool]

    def column_names(self) -> list[str]:
        """Return the names of the columns of the scorecard."""
        schema = self._known_schema()
        if schema is not None:
            return [name for name, _ in columns_of_schema(schema)]
        return self._names(self.n_features_in_)

    def _names(self, n_features: int) -> list[str]:
        given = self.__dict__.get("feature_names_in_")
        return [f"x{j}" for j in range(n_features)] if given is None else list(given)

    def _cells(self) -> tuple[Cells, ...]:
        schema = self.__dict__.get("schema_")
        if schema is not None:
            return tuple(cells for _, cells in columns_of_schema(schema))
        planned = getattr(self.__dict__.get("plan_"), "algorithm", None)
        if isinstance(planned, Scorecard) and planned.columns:
            return planned.columns  # of rows that a schema has encoded before
        norm = self._clipped_to()
        return tuple(NumberCells(place, -norm, norm) for place in range(self.n_features_in_))

    def _fitted_points(self) -> Points:
        return Points.of(
            self._cells(),
            self.bins_,
            self.edges_,
            self.points_,
            float(self.intercept_[0]),
            self.factors_,
            self.interactions_,
        )

    def decision_function(self, X: ArrayLike) -> Array:
        """Return scores, larger for the second class: the sum of points and the intercept.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a table with a schema
            Records. Scores of null records are NaN.
        """
        check_is_fitted(self, "points_")
        return self._scored(X, self._fitted_points().scores)
