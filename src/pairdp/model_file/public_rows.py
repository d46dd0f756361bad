"""Fitting steps again to rows that are made from their parameters and the names of features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
)

Accepted = list[list[Any] | None]
"""For each feature the cells that a step accepts in fit; None for any number."""

_MOST_FEATURES = 10**6
"""The most features of a step, and the most that it makes of them."""


def fitted_to_names(step: Any, features: int, names: Sequence[str] | None) -> Any:
    """Return a step, fitted to two equal rows that depend on its parameters and names alone.

    Parameters
    ----------
    step : transformer
        A step that `refusal_of` accepts; it is not changed.
    features : int
        Number of features.
    names : sequence of str or None
        Their names, if the step was fitted to a table with names.

    Raises
    ------
    ValueError
        If no such rows exist, for instance because the parameters do not fit the features.
    """
    if not 1 <= features <= _MOST_FEATURES:
        raise ValueError(f"a step needs from 1 to {_MOST_FEATURES} features, got {features}")
    if _width(step, features) > _MOST_FEATURES:
        raise ValueError(f"a step makes more than {_MOST_FEATURES} features")
    cells = [_example(accepted) for accepted in _accepted(step, features, names)]
    return clone(step).fit(_table(cells, names))


def text_features(step: Any, features: int, names: Sequence[str] | None) -> list[bool]:
    """Return which features have text, by the categories of the steps that read them first."""
    accepted = _accepted(step, features, names)
    return [any(isinstance(value, str) for value in listed or ()) for listed in accepted]


def _accepted(step: Any, features: int, names: Sequence[str] | None) -> Accepted:
    """Return what cells a step accepts in fit."""
    if isinstance(step, OneHotEncoder | OrdinalEncoder):
        if len(step.categories) != features:
            raise ValueError(f"{len(step.categories)} lists of categories for {features} features")
        return [list(listed) for listed in step.categories]
    if isinstance(step, Pipeline):
        return _of_pipeline([child for _, child in step.steps], features, names)
    if isinstance(step, FeatureUnion):
        found: Accepted = [None] * features
        for _, child in step.transformer_list:
            found = _both(found, _accepted(child, features, names))
        return found
    if isinstance(step, ColumnTransformer):
        found = [None] * features
        for _, child, columns in step.transformers:
            places = _places(columns, features, names)
            inner = None if names is None else [names[place] for place in places]
            for place, one in zip(places, _accepted(child, len(places), inner), strict=True):
                (found[place],) = _both([found[place]], [one])
        return found
    return [None] * features


def _of_pipeline(steps: list[Any], features: int, names: Sequence[str] | None) -> Accepted:
    """Return what the first steps accept; those that keep present cells pass on what follows."""
    found: Accepted = [None] * features
    for step in steps:
        found = _both(found, _accepted(step, features, names))
        keeps = step is None or isinstance(step, str | SimpleImputer | FunctionTransformer)
        if not keeps:
            break
    return found


def _width(step: Any, features: int) -> int:
    """Return a bound on the number of features that a step makes, without running it."""
    if isinstance(step, OneHotEncoder):
        return sum(len(listed) for listed in step.categories)
    if isinstance(step, PolynomialFeatures):
        degree = step.degree if isinstance(step.degree, int) else max(step.degree)
        return math.comb(features + degree, degree)
    if isinstance(step, SplineTransformer):
        return features * (len(step.knots) + int(step.degree))
    if isinstance(step, FeatureUnion):
        return sum(_width(child, features) for _, child in step.transformer_list)
    if isinstance(step, ColumnTransformer):
        sizes = [
            (child, len(columns) if isinstance(columns, list | tuple) else features)
            for _, child, columns in step.transformers
        ]
        return sum(_width(child, size) for child, size in [*sizes, (step.remainder, features)])
    if isinstance(step, Pipeline):
        widths = [features]
        for _, child in step.steps:
            widths.append(_width(child, widths[-1]))
        return max(widths)
    return features


def _both(one: Accepted, other: Accepted) -> Accepted:
    return [
        b if a is None else a if b is None else [value for value in a if value in b]
        for a, b in zip(one, other, strict=True)
    ]


def _places(columns: Any, features: int, names: Sequence[str] | None) -> list[int]:
    """Return the positions of the columns that a ColumnTransformer selects."""
    several = columns if isinstance(columns, list | tuple | np.ndarray) else [columns]
    several = list(several)
    if isinstance(columns, slice):
        ends = [columns.start, columns.stop]
        if any(isinstance(end, str) for end in ends):  # by name, the last one included
            start, stop = (None if end is None else _place(end, features, names) for end in ends)
            return list(range(features))[start : None if stop is None else stop + 1 : columns.step]
        return list(range(features))[columns]
    if several and all(isinstance(one, bool | np.bool_) for one in several):
        if len(several) != features:
            raise ValueError(f"a mask of {len(several)} columns for {features} features")
        return np.flatnonzero(several).tolist()
    return [_place(one, features, names) for one in several]


def _place(column: Any, features: int, names: Sequence[str] | None) -> int:
    if isinstance(column, str):
        if names is None or column not in names:
            raise ValueError(f"there is no column {column!r}")
        return list(names).index(column)
    if not isinstance(column, int | np.integer) or not -features <= column < features:
        raise ValueError(f"there is no column {column!r}")
    return int(column) % features


def _example(accepted: list[Any] | None) -> Any:
    if accepted is None:
        return 0.0
    known = [value for value in accepted if not _is_missing(value)]
    if not known:
        raise ValueError("no category is accepted by all encoders of a column")
    return known[0]


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _table(cells: list[Any], names: Sequence[str] | None) -> Any:
    """Return two equal rows, as a table with names if there are any."""
    if names is None:
        text = any(isinstance(cell, str) for cell in cells)
        return np.array([cells, cells], dtype=object if text else np.float64)
    for library in ("pandas", "polars"):
        try:
            frame = import_module(library).DataFrame
        except ImportError:
            continue
        return frame({name: [cell, cell] for name, cell in zip(names, cells, strict=True)})
    raise ValueError(
        "its steps were fitted to a table with names, which needs pandas or polars: install one"
    )
