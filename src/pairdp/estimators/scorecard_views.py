"""What a fitted scorecard can be looked at as: tables, figures, explanations, JSON and SQL."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from pairdp._checks import positive, real
from pairdp._files import write_atomically
from pairdp.algorithms.scorecard.points import Points
from pairdp.drawing import Figure
from pairdp.estimators.bin_names import source_of
from pairdp.estimators.scorecard_figures import figures_of, figures_of_pairs, page_of
from pairdp.estimators.scorecard_sql import to_sql
from pairdp.estimators.scorecard_tables import (
    Entry,
    by_importance,
    columns_as_json,
    entries_of_columns,
    entries_of_pairs,
    name_of_pair,
    pairs_as_json,
    pandas,
)
from pairdp.estimators.two_classes import TwoClassEstimator
from pairdp.schema.encoding import missing_values
from pairdp.schema.features import FeatureColumn

Array = NDArray[np.float64]


def are_all(interactions: Any) -> bool:
    """Return whether products of all columns are asked for."""
    return interactions is True or (isinstance(interactions, str) and interactions == "all")


class ScorecardViews(TwoClassEstimator):
    """The views of `PrivateScorecard`; all are functions of what was released."""

    interactions: Any
    bins_: Array
    counts_: Array
    deviations_: Array
    intercept_: Array
    product_deviations_: Array

    @abstractmethod
    def column_names(self) -> list[str]:
        """Return the names of the columns of the scorecard."""

    @abstractmethod
    def _fitted_points(self) -> Points:
        """Return the points, with all that scores need."""

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
            share (the noisy share of records in the bin). Pairs of columns that were named or
            chosen follow, such as "age x hours", with a row for each two bins.
        """
        pd = pandas()
        check_is_fitted(self, "points_")
        if not math.isfinite(real("base_points", base_points)):
            raise ValueError(f"base_points must be finite, got {base_points!r}")
        if points_to_double is None and base_points:
            raise ValueError("base_points are for points: give points_to_double as well")
        factor, shift = 1.0, 0.0
        if points_to_double is not None:
            factor = positive("points_to_double", points_to_double) / math.log(2)
            shift = (factor * float(self.intercept_[0]) + base_points) / len(self.bins_)
        rows = [
            one._replace(points=factor * one.points + added, noise=factor * one.noise)
            for entries, added in ((self._entries(), shift), (self._entries_of_pairs(), 0.0))
            for one in entries
        ]
        return pd.DataFrame(rows, columns=list(Entry._fields))

    def _entries(self) -> Iterator[Entry]:
        """Yield the bins that records can be in."""
        return entries_of_columns(
            self.column_names(),
            self._fitted_points(),
            self.deviations_,
            self.counts_,
            self._sources(),
        )

    def _entries_of_pairs(self) -> Iterator[Entry]:
        """Yield the joint bins of pairs, unless products are of all columns."""
        if are_all(self.interactions):
            return iter(())
        return entries_of_pairs(
            self.column_names(), self._fitted_points(), self.product_deviations_, self._sources()
        )

    def named_points(self) -> list[tuple[str, float, float]]:
        """Return the points of every bin by name, with the standard deviation of their noise.

        The column whose points differ most over the records, by released shares, comes first.
        """
        check_is_fitted(self, "points_")
        bins = by_importance(self._entries())
        return [(f"{one.column} {one.bin}", one.points, one.noise) for one in bins]

    @property
    def scorecard_(self) -> Any:
        """The points of every bin as a pandas DataFrame; see `table`."""
        return self.table()

    def _sources(self) -> list[FeatureColumn | None]:
        schema = self.__dict__.get("schema_")
        return [source_of(schema, name) for name in self.column_names()]

    def figures(self) -> tuple[Figure, ...]:
        """Return a figure of each column: its points, with two standard deviations of noise.

        Figures of pairs that were named or chosen follow.
        """
        check_is_fitted(self, "points_")
        names, points, sources = self.column_names(), self._fitted_points(), self._sources()
        found = figures_of(names, points, self.deviations_, sources)
        if are_all(self.interactions):
            return found
        return found + figures_of_pairs(names, points, self.product_deviations_, sources)

    def write_figures(self, path: str | Path) -> None:
        """Write the figures to an HTML page, atomically; it loads nothing from elsewhere."""
        budget = self.certificate_.budget
        claim = "no noise" if budget is None else f"ε = {budget.epsilon:g}, δ = {budget.delta:g}"
        page = page_of(self.figures(), self.classes_[1], claim)
        write_atomically(Path(path), page.encode())

    def explain(self, X: Any) -> Any:
        """Return the points of records by column as a pandas DataFrame; they add up to the score.

        Pairs that were named or chosen have columns such as "age x hours"; what all products add
        together, if they are of all columns, is in the column "interactions".

        Parameters
        ----------
        X : array-like or table
            Records. With a schema, one record may be a dict of its cells, or a row of a DataFrame.
        """
        pd = pandas()
        check_is_fitted(self, "points_")
        rows = self._features(self._as_table(X))
        if np.isnan(rows).any():
            raise ValueError("some of the records are null records, which have no points")
        points, names = self._fitted_points(), self.column_names()
        products = points.of_pairs(rows)
        titles = [name_of_pair(names, i, j) for i, j in points.pairs]
        if are_all(self.interactions):
            products, titles = products.sum(axis=1, keepdims=True), ["interactions"]
        constant = np.full(len(rows), points.intercept)
        parts = np.column_stack([points.of_columns(rows), constant, products])
        return pd.DataFrame(parts, columns=[*names, "intercept", *titles])  # names may be equal

    def _as_table(self, X: Any) -> Any:
        """Return records as a table, which one record is not."""
        if "schema_" not in self.__dict__:
            return X
        one = X.to_dict() if isinstance(X, pandas().Series) else X
        if isinstance(one, Mapping) and one and all(np.ndim(cell) == 0 for cell in one.values()):
            return [one]
        return X

    def to_json(self) -> str:
        """Return the points of every bin as JSON text.

        A bin of a number or a date holds what is at least ``lower`` and below ``upper``; the first
        and the last one also hold what is outside the range.
        """
        check_is_fitted(self, "points_")
        low, high = self.classes_.tolist()
        names, points, sources = self.column_names(), self._fitted_points(), self._sources()
        return json.dumps(
            {
                "low": low,
                "high": high,
                "intercept": float(self.intercept_[0]),
                "columns": columns_as_json(names, points, self.deviations_, sources),
                **pairs_as_json(names, points, sources),
            },
            indent=2,
            ensure_ascii=False,
        )

    def to_sql(self) -> str:
        """Return the score as an expression in SQL: a sum of CASE expressions and products.

        Columns are numbers, categories and flags; dates are refused, since dialects differ. Cells
        that are empty, or that the schema lists as missing, are missing, outer spaces (not tabs)
        are ignored, and a null record has the score NULL. So has one with an infinite number, or
        with text in a column of numbers.
        """
        check_is_fitted(self, "points_")
        if "schema_" not in self.__dict__:
            raise ValueError("an expression needs the names of columns: fit with a schema")
        sources = self._sources()
        missing = [missing_values(self.schema_, source) for source in sources]
        return to_sql(self.column_names(), self._fitted_points(), sources, missing)
