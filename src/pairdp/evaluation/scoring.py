r"""Scores and labels of records, each computed from its own record alone.

A matrix product may round the score of a record differently when there are more or fewer records
beside it, and ties decide pairs. So every step of a model gets all n records at their places: one
that cannot be read is replaced by another row, and its score is then NaN. Which records are null
so affects no score of another.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import did_you_mean
from pairdp._reading import Invalid, read_labels, read_signs, read_table, uses_null_records
from pairdp.schema import Schema, columns_of, table_columns

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_LARGEST = 1e150
"""Rows with larger numbers are not scored: their products might overflow, and are then rescaled."""


_UNREADABLE = (
    "some records cannot be read, because of a missing, infinite or huge number or an unknown "
    'category: leave them out, or pass invalid="null", which makes them null records'
)
_OF_RECORDS = ("kneighbors", "radius_neighbors", "support_vectors_", "X_train_")
"""What models have that hold records: those of neighbours, with support vectors, or kernels."""


class ScoredModel(NamedTuple):
    """A model as evaluation sees it: its steps, and the schema that encodes its tables."""

    before: list[Any]
    last: Any
    schema: Schema | None

    @property
    def classes(self) -> tuple[str, str]:
        """The names of the two classes, the positive one last."""
        low, high = self.last.classes_.tolist()
        return str(low), str(high)

    @property
    def label_schema(self) -> Schema | None:
        """The schema that codes labels; None if the classes of the model do."""
        own: Schema | None = getattr(self.last, "schema_", None)
        return own if own is not None and own.response is not None else None

    def makes_null_records(self) -> bool:
        """Return whether the schema declares cells that make null records."""
        columns = () if self.schema is None else self.schema.columns
        return any(getattr(column, "missing", None) == "null" for column in columns)

    def number_of(self, X: Any) -> int:
        """Return the public number of records, after checking what else is public about them."""
        if self.schema is not None:
            self.schema.check_table(table_columns(X) or ())
            return columns_of(X, ())[1]
        if not hasattr(X, "shape"):
            return len(X)
        first = [*self.before, self.last][0]
        names, given = getattr(first, "feature_names_in_", None), getattr(X, "columns", None)
        if names is not None and given is not None:
            _check_names([str(name) for name in names], [str(name) for name in given])
        width = getattr(first, "n_features_in_", None)
        if len(X.shape) != 2 or (width is not None and X.shape[1] != width):
            raise ValueError(f"X must be a table of {width} features, got shape {X.shape}")
        return int(X.shape[0])

    def outputs(self, X: Any, invalid: Invalid, method: str) -> tuple[NDArray[Any], Mask]:
        """Return what a method of the last step returns, and which records are null.

        Every record is at its place, also those that are null.
        """
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # they would depend on the data
            rows, null = self._rows(X, invalid)
            found = np.array(getattr(bare(self.last), method)(rows))
        return found, null

    def numbers(self, X: Any, invalid: Invalid, method: str) -> Array:
        """Return the numbers that a method of the last step returns, NaN for null records."""
        found, null = self.outputs(X, invalid, method)
        numbers = np.array(found, dtype=np.float64)
        numbers[null] = np.nan
        return numbers

    def scores(self, X: Any, invalid: Invalid) -> Array:
        """Return scores, NaN for null records; see `pairdp.evaluate`."""
        return self.numbers(X, invalid, "decision_function")

    def coded_signs(self, labels: Any, invalid: Invalid) -> Array:
        """Return 1 for positive records, -1 for negative ones, and 0 for null records."""
        schema = self.label_schema
        if schema is not None:
            return np.nan_to_num(schema.encode_label(read_labels(labels), invalid=invalid))
        signs = read_signs(labels, self.last.classes_.tolist())
        if not uses_null_records(invalid) and np.any(signs == 0):
            low, high = self.classes
            raise ValueError(
                f"y has labels that the model does not know: it was fitted to the classes {low!r} "
                f"and {high!r}"
            )
        return signs

    def given_labels(self, X: Any, y: ArrayLike | None) -> Any:
        """Return the labels that are given, or those in the column of the schema."""
        if y is not None:
            shape = tuple(getattr(y, "shape", ()))
            return np.ravel(y) if len(shape) == 2 and shape[1] == 1 else y
        if self.schema is None or self.schema.label is None:
            raise ValueError("y is needed: no schema says which column is the label")
        return columns_of(X, [self.schema.label])[0][self.schema.label]

    def _rows(self, X: Any, invalid: Invalid) -> tuple[Array, Mask]:
        """Return finite rows for the last step, and which of them stand for null records."""
        before = self.before
        if self.schema is not None:
            columns, n = columns_of(X, self.schema.features)
            rows, null = _filled(self.schema.encode(columns, n, invalid=invalid))
            return _filled(_transformed(self._after_encoding, rows))[0], null
        if not uses_null_records(invalid):
            try:
                rows, null = _filled(_transformed(before, X))
            except (ValueError, TypeError, OverflowError):
                raise ValueError(_UNREADABLE) from None  # other messages would quote a cell
            if null.any():
                raise ValueError(_UNREADABLE)
            return rows, null
        if all(type(step).__module__.startswith("pairdp.") for step in before):
            width = [*before, self.last][0].n_features_in_
            rows, null = _filled(read_table(X, width))
            return _filled(_transformed(before, rows))[0], null
        places = np.arange(self.number_of(X))
        table, not_real = _without_complex(X, places.size)
        null = not_real | ~_readable(before, table, places)
        if null.all():
            return np.zeros((places.size, self.last.n_features_in_)), null
        places[null] = places[~null][0]
        return _filled(_transformed(before, _taken(table, places)))[0], null

    @property
    def _after_encoding(self) -> list[Any]:
        """The steps before the last that take rows which the schema has encoded."""
        if not self.before:
            return []
        first, *rest = self.before
        encodes = not hasattr(first, "pair_distance")
        return rest if encodes else [bare(first), *rest]  # a metric with a schema


def bare(step: Any) -> Any:
    """Return a step for rows that are encoded and have no names."""
    alone = object.__new__(type(step))  # a stream, which holds records, has no copies
    vars(alone).update(vars(step))
    vars(alone).pop("feature_names_in_", None)
    if hasattr(alone, "schema_"):
        alone.schema, alone.n_features_in_ = None, alone.schema_.width
        del alone.schema_
    return alone


def model_parts(model: Any) -> ScoredModel:
    """Return the steps of a model, and the schema that encodes its tables."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    steps = [step for step in steps if step is not None and not isinstance(step, str)]
    *before, last = map(_of_tables, steps)
    steps = [*before, last]
    return ScoredModel(before, last, getattr(steps[0], "schema_", None))


def _of_tables(step: Any) -> Any:
    """Return the chosen model of a search, if it takes tables; any other step as it is."""
    chosen = getattr(step, "best_estimator_", None)
    return chosen if hasattr(chosen, "schema_") else step


def has_two_scores(last: Any) -> bool:
    """Return whether a fitted model gives scores for two classes."""
    classes = getattr(last, "classes_", None)
    return hasattr(last, "decision_function") and classes is not None and np.shape(classes) == (2,)


def holds_records(last: Any) -> bool:
    """Return whether a model, or one that it is made of, predicts from records that it holds."""
    if any(hasattr(last, name) for name in _OF_RECORDS):
        return True
    inner = [getattr(last, name, None) for name in ("best_estimator_", "estimator_")]
    inner += np.ravel(np.array(getattr(last, "estimators_", []), dtype=object)).tolist()
    return any(holds_records(one) for one in inner if one is not None)


def _check_names(known: Sequence[str], given: Sequence[str]) -> None:
    if list(known) == list(given):
        return
    missing = [name for name in known if name not in given]
    if missing:
        raise ValueError(f"X lacks the column {missing[0]!r}{did_you_mean(missing[0], given)}")
    raise ValueError("X must have the columns that the model was fitted to, in the same order")


def _transformed(steps: Sequence[Any], X: Any) -> Array:
    rows = X
    for step in steps:
        rows = step.transform(rows)
    return np.array(rows.todense() if hasattr(rows, "todense") else rows, np.float64, ndmin=2)


def _filled(rows: Array) -> tuple[Array, Mask]:
    """Return rows with zeros in place of those that cannot be scored, and which these are."""
    null: Mask = np.asarray(~(np.abs(rows) <= _LARGEST).all(axis=1))
    return np.where(null[:, None], 0.0, rows), null


def _taken(X: Any, places: NDArray[np.int64]) -> Any:
    """Return the records at some places of a table or an array."""
    if hasattr(X, "iloc"):
        return X.iloc[places]
    if hasattr(X, "shape"):
        return X[places]
    return [X[place] for place in places.tolist()]


def _without_complex(X: Any, n: int) -> tuple[Any, Mask]:
    """Return a table with the real parts of complex numbers, and which records have others.

    One complex number gives its whole column that type, which steps refuse.
    """
    wrong: Mask = np.zeros(n, dtype=np.bool_)
    if isinstance(X, np.ndarray) and X.dtype.kind == "c":
        return np.array(X.real), np.asarray((X.imag != 0).any(axis=1))
    kinds = [getattr(kind, "kind", "") for kind in getattr(X, "dtypes", ())]
    if "c" not in kinds or not hasattr(X, "isetitem"):
        return X, wrong
    table = X.copy()
    for place, kind in enumerate(kinds):
        if kind == "c":
            column = table.iloc[:, place].to_numpy()
            wrong |= column.imag != 0
            table.isetitem(place, column.real)
    return table, wrong


def _readable(steps: Sequence[Any], X: Any, places: NDArray[np.int64]) -> Mask:
    """Return which records every step can read, found by halving."""
    try:
        return ~_filled(_transformed(steps, _taken(X, places)))[1]
    except Exception:  # cells of any kind, and steps of any class
        if places.size == 1:
            return np.zeros(1, dtype=np.bool_)
    half = places.size // 2
    return np.concatenate([_readable(steps, X, part) for part in (places[:half], places[half:])])
