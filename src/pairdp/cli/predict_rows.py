"""What ``pairdp predict`` computes: predictions for the records of a table, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._coded_cells import Column, DistinctCells
from pairdp._reading import Invalid
from pairdp.cli.predict_steps import FirstSteps
from pairdp.cli.schema_table import cells_for, check_table, encoded, with_starts
from pairdp.estimators import BoundsScaler, SchemaEncoder
from pairdp.model_file import Steps
from pairdp.schema import Schema
from pairdp.tables import Table, TableError

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Predicted = list[Column]


@dataclass(frozen=True)
class Predictor:
    """A saved model, and the columns that it predicts.

    Attributes
    ----------
    names : list of str
        The columns of the features.
    schema : Schema or None
        How they are encoded; None for columns of numbers.
    first : FirstSteps or None
        The steps of scikit-learn that come before the model.
    head : list of str
        The names of the predicted columns.
    predict : callable
        From rows of features to columns of predictions.
    """

    names: list[str]
    schema: Schema | None
    first: FirstSteps | None
    head: list[str]
    predict: Callable[[Array], Predicted]

    @classmethod
    def of(cls, model: Steps, positive: str | None, probability: bool = False) -> Predictor:
        """Return the predictor of a loaded model.

        Parameters
        ----------
        model : Steps
            The model.
        positive : str or None
            The label with high scores.
        probability : bool, default=False
            Whether to predict the probability of that label too.
        """
        steps = model.estimators
        if isinstance(steps[-1], BoundsScaler | SchemaEncoder):
            raise TableError("the file contains a scaler without a model")
        if not hasattr(steps[0], "feature_names_in_"):
            raise TableError(
                "the model has no names of columns, since it was fitted to an array: fit it to a "
                "DataFrame, or with  pairdp fit"
            )
        names = [str(name) for name in steps[0].feature_names_in_]
        schema: Schema | None = getattr(steps[0], "schema_", None)
        if schema is not None:
            steps = steps_of_encoded_rows(steps)
        first = None
        if len(steps) > 1 and type(steps[0]).__module__.startswith("sklearn."):
            *before, last = steps
            first, steps = FirstSteps.of(before, names, last.n_features_in_), [last]
        return cls(names, schema, first, *_outputs(steps, positive, probability))

    def check(self, table: Table) -> None:
        """Raise an error if a table lacks columns of the model, or has columns it refuses."""
        if self.schema is None:
            table.check_columns(self.names)
        else:
            check_table(self.schema, table, response=False)

    def parts(self, table: Table, *, invalid: Invalid) -> Iterator[Callable[[], Array]]:
        """Yield for each batch a function that returns the features of its records.

        All features of a record that cannot be read are NaN. The functions may be called in
        several threads.
        """
        if self.first is not None:
            for rows in self.first.rows(table, invalid=invalid):
                yield partial(np.asarray, rows)
            return
        if self.schema is None:
            for batch in table.batches(self.names, None, invalid=invalid):
                yield partial(np.asarray, batch.features)
            return
        batches = cells_for(self.schema, table, self.names, invalid=invalid)
        for start, cells in with_starts(batches):
            yield partial(encoded, self.schema, cells, start, invalid)

    def columns(self, rows: Array) -> tuple[Predicted, Mask]:
        """Return the predictions for all records, and for which ones there are none."""
        missing = np.isnan(rows)
        if not missing.any():
            return self.predict(rows), np.zeros(len(rows), dtype=np.bool_)
        unreadable = np.asarray(missing.any(axis=1))
        readable = ~unreadable
        # A record that cannot be read has the prediction of another one, which is not shown.
        found = self.predict(rows[readable]) if readable.any() else [np.zeros(1) for _ in self.head]
        places = np.maximum(np.cumsum(readable) - 1, 0)
        return [column[places] for column in found], unreadable


def steps_of_encoded_rows(steps: list[Any]) -> list[Any]:
    """Return the steps of a model without its schema: they take rows that it has encoded."""
    first, *rest = steps
    if isinstance(first, SchemaEncoder):
        return rest
    bare = copy(first)
    bare.schema, bare.n_features_in_ = None, first.schema_.width
    del bare.schema_
    return [bare, *rest]


def kept_columns(
    table: Table, names: Sequence[str], *, invalid: Invalid
) -> Iterator[Sequence[Column]]:
    """Yield the cells of columns that are copied to the output, batch by batch."""
    if not names:
        yield from repeat(())
    for cells in table.coded_cells(names, invalid=invalid):
        yield [cells.columns[name] for name in names]


def _outputs(
    steps: list[Any], positive: str | None, probability: bool
) -> tuple[list[str], Callable[[Array], Predicted]]:
    """Return the names of the predicted columns, and the function that computes them."""
    *before, model = steps
    labels = [str(label) for label in getattr(model, "classes_", ())]
    if positive is not None and positive not in labels:
        known = f"its labels are {', '.join(labels)}" if labels else "the model has no labels"
        raise TableError(f"--positive {positive} is not a label of the model: {known}")
    if probability and not hasattr(model, "predict_proba"):
        raise TableError(
            "the model is not calibrated, and scores are not probabilities: release a ROC curve "
            "with  pairdp evaluate --roc -o FILE , and add it to the model with  pairdp calibrate"
        )
    reverse = bool(labels) and positive == labels[0]
    own = str(getattr(getattr(type(model), "predict", None), "__module__", ""))
    by_score = hasattr(model, "_places") and own.startswith("pairdp.")  # not of a user's class
    classes = np.array(getattr(model, "classes_", np.empty(0)).tolist(), dtype=object)
    sign = -1.0 if reverse else 1.0
    for step in steps:
        vars(step).pop("feature_names_in_", None)  # rows come as arrays, in this order

    def scaled(rows: Array) -> Array:
        for step in before:
            rows = step.transform(rows)
        return rows

    def scores_and_labels(rows: Array) -> Predicted:
        rows = scaled(rows)
        scores = model.decision_function(rows)
        decided = DistinctCells(model._places(scores), classes) if by_score else model.predict(rows)
        found: Predicted = [sign * scores, decided]
        if probability:
            found.append(model.predict_proba(rows)[:, 0 if reverse else 1])
        return found

    if hasattr(model, "transform"):  # a metric, whose predictions would be of pairs
        head = [f"z{i}" for i in range(len(model.get_feature_names_out()))]
        return head, lambda rows: list(model.transform(scaled(rows)).T)
    if labels:
        head = ["score", "label", *(["probability"] if probability else [])]
        return head, scores_and_labels
    if hasattr(model, "decision_function"):
        return ["score"], lambda rows: [model.decision_function(scaled(rows))]
    return ["prediction"], lambda rows: [model.predict(scaled(rows))]
