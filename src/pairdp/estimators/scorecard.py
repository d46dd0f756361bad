"""PrivateScorecard: a private additive model with points for each bin of each column."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from pairdp import privacy
from pairdp._checks import positive
from pairdp._files import write_atomically
from pairdp._reading import Invalid
from pairdp.algorithms import Algorithm, Fit
from pairdp.algorithms.choice import Choice
from pairdp.algorithms.scorecard.cells import FINE, Cells, NumberCells
from pairdp.algorithms.scorecard.layout import columns_of_schema
from pairdp.algorithms.scorecard.points import Points
from pairdp.algorithms.scorecard.scorecard import Scorecard
from pairdp.constraints import Unconstrained
from pairdp.drawing import Figure
from pairdp.estimators.bin_names import NONE, bin_names, source_of
from pairdp.estimators.scorecard_figures import figures_of, page_of
from pairdp.estimators.scorecard_sql import to_sql
from pairdp.estimators.table_input import GivenSchema
from pairdp.estimators.two_classes import AUCScoreMixin, TwoClassEstimator
from pairdp.losses import LogisticPointwise, PointwiseLoss
from pairdp.model_file.registry import stored_in_model_files
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Budget
from pairdp.schema.features import FeatureColumn

Array = NDArray[np.float64]


class Entry(NamedTuple):
    """A bin of a scorecard: its points, the deviation of their noise, and its share of records."""

    column: str
    bin: str
    points: float
    noise: float
    share: float


def _pandas() -> Any:
    try:
        import pandas as pd  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError(
            "a table of points is a pandas DataFrame: install pandas, or use to_json"
        ) from None
    return pd


def _check_arrays(model: Any) -> None:
    points = model._fitted_points()
    if model.deviations_.shape != model.points_.shape or np.any(model.deviations_ < 0):
        raise ValueError("there is not one deviation for each bin")
    if model.counts_.shape != model.points_.shape or np.any(model.counts_ < 0):
        raise ValueError("there is not one count for each bin")
    del points


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
    },
    check=_check_arrays,
)
class PrivateScorecard(AUCScoreMixin, TwoClassEstimator):
    """A scorecard with a privacy guarantee for every training record.

    The score of a record is the sum of points, one for the bin of each of its columns: the
    log-odds of the second class, up to noise. Numbers are divided into bins by noisy counts;
    categories and missing cells are bins of their own. Columns of any scale and shape can be used
    as they are.

    Parameters
    ----------
    epsilon, delta
        As for `PrivateRanker`. With ``delta=0``, points are those of naive Bayes.
    schema : Schema, dict or path, default=None
        The public description of the columns, with which tables are read. Without one, every
        feature is a number between ± ``data_norm``.
    interactions : bool, default=False
        Whether products of two columns may be added if the budget suffices. Then scores are no
        longer sums of points.
    monotone : mapping of str to {-1, 1}, default=None
        Columns whose points must not increase (-1) or not decrease (1) with the number. It must not
        be chosen by looking at the data.
    data_norm, classes, ledger, data_set, unit, max_records, random_state, verbose, invalid
        As for `PrivateRanker`.

    Attributes
    ----------
    points_, deviations_, counts_ : arrays
        The points of all bins, column by column; the standard deviation of their noise, to first
        order; the noisy counts of records.
    bins_ : array of shape (columns,)
        The number of bins of each column.
    edges_ : array
        The ends of the bins of numbers, in 4096ths of their range.
    intercept_ : array of shape (1,)
        What is added to every score.
    interactions_, factors_ : arrays
        The coefficients of products, and their factors by bin; empty without products.
    classes_, certificate_, plan_, schema_, n_features_in_, feature_names_in_
        As for `PrivateRanker`.

    See Also
    --------
    PrivateRanker : a linear ranker by a loss over pairs.

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
        interactions: bool = False,
        monotone: Mapping[str, int] | None = None,
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
        columns = () if schema is None else tuple(cells for _, cells in columns_of_schema(schema))
        return Scorecard(columns, self.interactions)

    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        raise ValueError("a scorecard is fitted by one algorithm: use plan to see what it does")

    def _constraint(self) -> Unconstrained:
        return Unconstrained()

    def _default_loss(self, algorithm: Algorithm) -> LogisticPointwise:
        return LogisticPointwise()

    def _checked_monotone(self, columns: Mapping[str, Cells] | None) -> dict[str, int]:
        """Return the directions by column, after checking them."""
        given = {} if self.monotone is None else dict(self.monotone)
        for name, direction in given.items():
            if direction not in (-1, 1):
                raise ValueError(f"monotone must be -1 or 1, got {direction!r} for {name!r}")
            if columns is not None and not isinstance(columns.get(name), NumberCells):
                numbers = [n for n, cells in columns.items() if isinstance(cells, NumberCells)]
                raise ValueError(
                    f"monotone has {name!r}, which is not a number of the schema; these are "
                    f"{', '.join(numbers)}"
                )
        return given

    def _set_fitted(self, fit: Fit) -> None:
        found = fit.statistics
        self.bins_, self.edges_ = found["bins"], found["edges"]
        self.deviations_, self.counts_ = found["deviations"], found["counts"]
        self.interactions_, self.factors_ = found["interactions"], found["factors"]
        self.points_ = np.array(fit.parameters[:-1])
        self.intercept_ = np.array(fit.parameters[-1:])
        self._make_monotone()

    def _make_monotone(self) -> None:
        """Replace points by the nearest monotone ones, weighted by counts: post-processing."""
        names = self.column_names()
        given = self._checked_monotone(dict(zip(names, self._cells(), strict=True)))
        ends = np.cumsum(self.bins_).astype(np.intp)
        for name, direction in given.items():
            from sklearn.isotonic import isotonic_regression

            place = names.index(name)
            column = self._cells()[place]
            start, stop = int(ends[place] - self.bins_[place]), int(ends[place])
            stop -= column.size - FINE
            self.points_[start:stop] = isotonic_regression(
                self.points_[start:stop],
                sample_weight=np.maximum(self.counts_[start:stop], 1e-9),
                increasing=direction > 0,
            )

    def column_names(self) -> list[str]:
        """Return the names of the columns of the scorecard."""
        schema = self.__dict__.get("schema_")
        if schema is not None:
            return [name for name, _ in columns_of_schema(schema)]
        given = self.__dict__.get("feature_names_in_")
        return [f"x{j}" for j in range(self.n_features_in_)] if given is None else list(given)

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
        rows = self._features(X)
        null = np.isnan(rows[:, 0])
        scores = np.full(len(rows), np.nan)
        scores[~null] = self._fitted_points().scores(rows[~null])
        return scores

    def table(self, *, points_to_double: float | None = None, base_points: float = 0.0) -> Any:
        """Return the points of every bin as a pandas DataFrame.

        Parameters
        ----------
        points_to_double : float, optional
            How many points double the odds of the second class. By default points are log-odds.
        base_points : float, default=0
            The points that all columns together add to those of their bins, in equal parts; the
            intercept is then distributed likewise. Only with ``points_to_double``.

        Returns
        -------
        DataFrame
            With the columns column, bin, points, noise (its standard deviation, to first order) and
            share (the noisy share of records in the bin).
        """
        pd = _pandas()
        check_is_fitted(self, "points_")
        factor, shift = 1.0, 0.0
        if points_to_double is not None:
            factor = positive("points_to_double", points_to_double) / math.log(2)
            shift = (factor * float(self.intercept_[0]) + base_points) / len(self.bins_)
        return pd.DataFrame(
            [
                (one.column, one.bin, factor * one.points + shift, factor * one.noise, one.share)
                for one in self._entries()
            ],
            columns=list(Entry._fields),
        )

    def _entries(self) -> Iterator[Entry]:
        """Yield the bins that records can be in."""
        points = self._fitted_points()
        total = self.counts_.sum() / len(points.columns)
        place = 0
        for name, column, ends, values in zip(
            self.column_names(), points.columns, points.edges, points.points, strict=True
        ):
            titles = bin_names(column, ends, self._schema_column(name))
            for title, value in zip(titles, values.tolist(), strict=True):
                noise, share = float(self.deviations_[place]), float(self.counts_[place] / total)
                place += 1
                if title != NONE:
                    yield Entry(name, title, value, noise, share)

    def named_points(self) -> list[tuple[str, float, float]]:
        """Return the points of every bin by name, with the standard deviation of their noise."""
        check_is_fitted(self, "points_")
        return [(f"{one.column} {one.bin}", one.points, one.noise) for one in self._entries()]

    @property
    def scorecard_(self) -> Any:
        """The points of every bin as a pandas DataFrame; see `table`."""
        return self.table()

    def _schema_column(self, name: str) -> FeatureColumn | None:
        return source_of(self.__dict__.get("schema_"), name)

    def figures(self) -> tuple[Figure, ...]:
        """Return a figure of each column: its points, with two standard deviations of noise."""
        check_is_fitted(self, "points_")
        names = self.column_names()
        sources = [self._schema_column(name) for name in names]
        return figures_of(names, self._fitted_points(), self.deviations_, sources)

    def write_figures(self, path: str | Path) -> None:
        """Write the figures to an HTML page, atomically; it loads nothing from elsewhere."""
        budget = self.certificate_.budget
        claim = "no noise" if budget is None else f"ε = {budget.epsilon:g}, δ = {budget.delta:g}"
        page = page_of(self.figures(), self.classes_[1], claim)
        write_atomically(Path(path), page.encode())

    def explain(self, X: Any) -> Any:
        """Return the points of records by column as a pandas DataFrame; they add up to the score.

        With interactions, a column of that name has what products add.

        Parameters
        ----------
        X : array-like or table
            Records.
        """
        pd = _pandas()
        check_is_fitted(self, "points_")
        rows = self._features(X)
        if np.isnan(rows).any():
            raise ValueError("some of the records are null records, which have no points")
        points = self._fitted_points()
        found = pd.DataFrame(points.of_columns(rows), columns=self.column_names())
        found["intercept"] = points.intercept
        if points.factors:
            found["interactions"] = points.scores(rows) - found.sum(axis=1)
        return found

    def to_json(self) -> str:
        """Return the points of every bin as JSON text."""
        check_is_fitted(self, "points_")
        columns: dict[str, list[dict[str, Any]]] = {}
        for one in self._entries():
            entry = {"bin": one.bin, "points": one.points, "noise": one.noise}
            columns.setdefault(one.column, []).append(entry)
        low, high = self.classes_.tolist()
        return json.dumps(
            {
                "low": low,
                "high": high,
                "intercept": float(self.intercept_[0]),
                "columns": columns,
            },
            indent=2,
            ensure_ascii=False,
        )

    def to_sql(self) -> str:
        """Return the score as an expression in SQL: a sum of CASE expressions."""
        check_is_fitted(self, "points_")
        if "schema_" not in self.__dict__:
            raise ValueError("an expression needs the names of columns: fit with a schema")
        names = self.column_names()
        return to_sql(names, self._fitted_points(), [self._schema_column(name) for name in names])
