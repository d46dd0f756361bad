"""The candidates of a search: estimators with different parameters, or on different features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid

from pairdp._checks import did_you_mean
from pairdp.estimators import PrivateEstimator
from pairdp.schema import Schema
from pairdp.schema.columns import IgnoredColumn

FEATURES = "features"
_ACCEPTED = (
    "candidates must be a grid such as {{'regularization': [0.01, 0.1]}}, or a list of dicts of "
    "parameters, of (name, estimator) pairs or of both, got {!r}"
)
_OF_SEARCH = ("epsilon", "delta", "ledger", "data_set", "random_state", "verbose")


@dataclass(frozen=True)
class Candidate:
    """One of the candidates of a search.

    Attributes
    ----------
    params : dict
        What distinguishes it: its parameters, or its name.
    estimator : PrivateEstimator
        The estimator, not fitted.
    features : tuple of int or str, or None
        The columns that it uses; None for all of them.
    """

    params: dict[str, Any]
    estimator: PrivateEstimator
    features: tuple[Any, ...] | None = None

    def width(self, n_features: int | None) -> int | None:
        """Return the number of features that its plan is for; None if its schema says it."""
        if self.estimator.schema is not None:
            return None
        return n_features if self.features is None else len(self.features)

    def columns(self, X: Any, names: Any = None) -> Any:
        """Return its columns of an array whose columns have names; with a schema, the table."""
        if self.features is None or self.estimator.schema is not None:
            return X
        return X[:, self._places(names)]

    def names(self, names: NDArray[np.object_]) -> NDArray[np.object_]:
        """Return the names of its columns, given those of all."""
        return names if self.features is None else names[self._places(names)]

    def _places(self, names: Any) -> list[int]:
        features = list(self.features or ())
        if not any(isinstance(name, str) for name in features):
            return features
        if names is None:
            raise ValueError("features are names, but X has none: give the places of columns")
        known = [str(name) for name in names]
        unknown = [name for name in features if name not in known]
        if unknown:
            raise ValueError(f"X has no column {unknown[0]!r}{did_you_mean(unknown[0], known)}")
        return [known.index(name) for name in features]


def read_candidates(estimator: Any, given: Any) -> tuple[Candidate, ...]:
    """Return the candidates of a search.

    Parameters
    ----------
    estimator : PrivateEstimator or None
        What parameters are set on; None if all candidates are estimators.
    given : mapping, or sequence of mappings and (name, estimator) pairs
        See `PrivateSearch`.

    Raises
    ------
    TypeError, ValueError
        If there are fewer than two, or one is not for a search.
    """
    if isinstance(given, Mapping):
        given = [*ParameterGrid(dict(given))] if given else []
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(_ACCEPTED.format(given))
    found = tuple(_read(estimator, entry) for entry in given)
    for candidate in found:
        if not is_classifier(candidate.estimator):
            raise ValueError(
                "a search is for two classes, and not for a graded response: compare models by "
                "pairdp.evaluate, with a part of the budget for each"
            )
    if len({candidate.estimator.schema is None for candidate in found}) > 1:
        raise ValueError("all candidates must have a schema, or none of them")
    if len(found) < 2:
        raise ValueError(f"a search needs at least two candidates, got {len(found)}")
    return found


def _read(estimator: Any, entry: Any) -> Candidate:
    if isinstance(entry, Mapping):
        params = dict(entry)
        features = params.pop(FEATURES, None)
        made = _checked(estimator)
        refused = [name for name in params if name in _OF_SEARCH]
        if refused:
            raise ValueError(f"{refused[0]} is that of the search, and not of a candidate")
        made.set_params(**params)
        if features is None:
            return Candidate(dict(entry), made)
        chosen = _feature_names(features)
        if made.schema is not None:
            made.set_params(schema=restricted(Schema.of(made.schema), chosen))
        return Candidate(dict(entry), made, chosen)
    if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str):
        return Candidate({"name": entry[0]}, _checked(entry[1]))
    raise TypeError(_ACCEPTED.format(entry))


def _checked(estimator: Any) -> PrivateEstimator:
    """Return a copy of an estimator for two classes, without a ledger."""
    if not isinstance(estimator, PrivateEstimator) or not hasattr(estimator, "decision_function"):
        raise TypeError(
            "a search chooses among private estimators with scores for two classes, such as "
            f"PrivateRanker, got {type(estimator).__name__}: compare others by "
            "pairdp.evaluate, with a part of the budget for each"
        )
    if estimator.ledger is not None:
        raise ValueError("give the ledger to PrivateSearch: it pays for the search as a whole")
    copy: PrivateEstimator = clone(estimator)
    copy.set_params(random_state=None)
    return copy


def _feature_names(features: Any) -> tuple[Any, ...]:
    chosen = tuple(features) if isinstance(features, list | tuple | np.ndarray) else ()
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(
            f"features must be a list of different columns, names or places, got {features!r}"
        )
    return chosen


def restricted(schema: Schema, features: Sequence[str]) -> Schema:
    """Return a schema that uses only some of its features, and ignores the others.

    Raises
    ------
    ValueError
        If one of them is not a feature of the schema.
    """
    unknown = [name for name in features if name not in schema.features]
    if unknown:
        raise ValueError(f"the schema has no feature {unknown[0]!r}")
    unused = set(schema.features) - set(features)
    columns = tuple(
        IgnoredColumn(column.name) if column.name in unused else column for column in schema.columns
    )
    return replace(schema, columns=columns)
