"""What a model is evaluated by: scores, predictions, errors or distances, and labels for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import flag, positive
from pairdp._reading import (
    Invalid,
    equal_to,
    read_codes,
    read_labels,
    read_signs,
    read_table,
    read_targets,
    uses_null_records,
)
from pairdp.evaluation.accuracy import AccuracyEvaluation
from pairdp.evaluation.concordance import ConcordanceEvaluation
from pairdp.evaluation.errors import ErrorEvaluation
from pairdp.evaluation.pair_distances import matched_pairs, ordered_pairs
from pairdp.evaluation.plan import EvaluationStatistic, Noise
from pairdp.evaluation.planning import ScoreEvaluation
from pairdp.evaluation.score_bins import BINS, half_range, spread_edges
from pairdp.evaluation.scoring import ScoredModel, holds_records
from pairdp.tables import TableError, TwoLabels

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
SAME_CLASS = ("different", "same")
SIMILAR = ("dissimilar", "similar")
_LARGEST = 1e150


class Options(NamedTuple):
    """What a user may choose about an evaluation, from public facts."""

    noise: Noise = "auto"
    roc: bool = False
    threshold: float | None = None
    score_range: float | None = None
    r2: bool = False

    def refuse_r2(self) -> None:
        """Raise an error if R² is asked for, where there are no targets."""
        if flag("r2", self.r2):
            raise ValueError("r2 is for the errors of regressors, and this is another measure")

    def refuse_counts(self) -> None:
        """Raise an error if counts of scores are asked for, where there are no scores."""
        if flag("roc", self.roc) or self.threshold is not None or self.score_range is not None:
            raise ValueError(
                "roc, threshold and score_range are for the AUC of scores of two classes, and this "
                "model is evaluated by another measure"
            )


@dataclass(frozen=True)
class EvaluatedModel(ABC):
    """A model and the measure by which it is evaluated.

    Attributes
    ----------
    model : ScoredModel
        Its steps, and the schema that encodes its tables.
    """

    model: ScoredModel

    def number_of(self, X: Any) -> int:
        """Return the public number of records, after checking what else is public about them."""
        return self.model.number_of(X)

    def makes_null_records(self, invalid: Invalid) -> bool:
        """Return whether null records may occur, apart from those of units."""
        return uses_null_records(invalid) or self.model.makes_null_records()

    @abstractmethod
    def statistic(self, null_records: bool, options: Options) -> EvaluationStatistic:
        """Return what is evaluated, by public facts alone."""

    @abstractmethod
    def outputs(self, X: Any, invalid: Invalid) -> Array:
        """Return numbers for each record by the model, NaN for null records."""

    @abstractmethod
    def coded(self, labels: Any, invalid: Invalid) -> Array:
        """Return given labels as numbers; what they mean depends on the measure."""

    def labels(self, X: Any, y: ArrayLike | None, invalid: Invalid) -> Array:
        """Return the labels of records as numbers, from y or from the column of the schema."""
        return self.coded(self.model.given_labels(X, y), invalid)

    def coded_cells(self, cells: NDArray[Any], invalid: Invalid) -> Array:
        """Return the cells of a column of a table as numbers."""
        return self.coded(cells, invalid)

    def units(self, groups: ArrayLike) -> ArrayLike:
        """Return the unit of each record."""
        return groups

    @abstractmethod
    def records(self, outputs: Array, labels: Array, unused: Mask) -> tuple[Array, ...]:
        """Return what a plan runs on; unused records are null."""


@dataclass(frozen=True)
class OfScores(EvaluatedModel):
    """The AUC of a model with scores for two classes."""

    def statistic(self, null_records: bool, options: Options) -> ScoreEvaluation:
        """Return what is evaluated, by public facts alone."""
        options.refuse_r2()
        edges = self._edges(options)
        return ScoreEvaluation(self.model.classes, null_records, options.noise, edges)

    def _edges(self, options: Options) -> tuple[float, ...]:
        """Return the edges of bins of scores, from the model and other public facts."""
        more = () if options.threshold is None else (options.threshold,)
        if not flag("roc", options.roc):
            return more
        given = options.score_range
        half = half_range(self.model.last) if given is None else positive("score_range", given)
        return spread_edges(half, BINS, *more)

    def outputs(self, X: Any, invalid: Invalid) -> Array:
        """Return scores, NaN for null records."""
        return self.model.scores(X, invalid)

    def coded(self, labels: Any, invalid: Invalid) -> Array:
        """Return 1 for positive records, -1 for negative ones, and 0 for null records."""
        return self.model.coded_signs(labels, invalid)

    def coded_cells(self, cells: NDArray[Any], invalid: Invalid) -> Array:
        """Return the cells of a column of a table as signs."""
        if self.model.label_schema is not None:
            return self.coded(cells, invalid)
        signs = TwoLabels.named(self.model.classes).signs(cells)
        if not uses_null_records(invalid) and np.isnan(signs).any():
            low, high = self.model.classes
            raise TableError(f"the label column has labels other than {low!r} and {high!r}")
        return np.nan_to_num(signs)

    def records(self, outputs: Array, labels: Array, unused: Mask) -> tuple[Array, ...]:
        """Return scores and signs."""
        return outputs, np.where(unused, 0.0, labels)


@dataclass(frozen=True)
class OfGivenPairs(OfScores):
    """The AUC of a metric over pairs that are given with labels 1 (similar) and -1."""

    def number_of(self, X: Any) -> int:
        """Return the public number of pairs."""
        d = int(self.model.last.components_.shape[1])
        shape = np.shape(X) if hasattr(X, "shape") else (len(X), 2, d)
        if len(shape) != 3 or shape[1:] != (2, d):
            raise ValueError(f"X must be pairs of records, of shape (n, 2, {d}), got {shape}")
        return int(shape[0])

    def statistic(self, null_records: bool, options: Options) -> ScoreEvaluation:
        """Return what is evaluated, by public facts alone."""
        options.refuse_counts()
        options.refuse_r2()
        return ScoreEvaluation(SIMILAR, null_records, options.noise, items="given pairs")

    def makes_null_records(self, invalid: Invalid) -> bool:
        """Return whether null pairs may occur."""
        return uses_null_records(invalid)

    def outputs(self, X: Any, invalid: Invalid) -> Array:
        """Return minus the distances of pairs, NaN for null pairs."""
        d = int(self.model.last.components_.shape[1])
        given = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
        if given.ndim != 3 or given.shape[1:] != (2, d):
            raise ValueError(f"X must be pairs of records, of shape (n, 2, {d})")
        rows = read_table(given.reshape(-1, d), d).reshape(-1, 2 * d)
        null = ~(np.abs(rows) <= _LARGEST).all(axis=1)
        if null.any() and not uses_null_records(invalid):
            raise ValueError(
                'some pairs cannot be read: leave them out, or pass invalid="null", which makes '
                "them null pairs"
            )
        rows[null] = 0.0
        scores = np.array(self.model.last.decision_function(rows.reshape(-1, 2, d)))
        scores[null] = np.nan
        return scores

    def coded(self, labels: Any, invalid: Invalid) -> Array:
        """Return 1 for similar pairs, -1 for dissimilar ones, and 0 for null pairs."""
        signs = read_signs(read_labels(labels))
        if not uses_null_records(invalid) and not np.all(signs):
            raise ValueError("y must be 1 for similar pairs and -1 for dissimilar ones")
        return signs

    def units(self, groups: ArrayLike) -> ArrayLike:
        """Return a tuple of the two persons of each pair."""
        given = np.asarray(groups, dtype=None if hasattr(groups, "dtype") else object)
        if given.ndim != 2 or given.shape[1] != 2:
            raise ValueError(f"groups must have the two persons of each pair, got {given.shape}")
        return [tuple(pair) for pair in given.tolist()]

    def coded_cells(self, cells: NDArray[Any], invalid: Invalid) -> Array:
        """Raise an error: a table has records and no pairs."""
        raise TableError("a metric of given pairs is evaluated on arrays of pairs: see the API")


@dataclass(frozen=True)
class OfMatchedPairs(EvaluatedModel):
    """The AUC of a metric over pairs of records of the same and of different classes."""

    def statistic(self, null_records: bool, options: Options) -> ScoreEvaluation:
        """Return what is evaluated, by public facts alone."""
        options.refuse_counts()
        options.refuse_r2()
        return ScoreEvaluation(SAME_CLASS, null_records, options.noise, items="matched pairs")

    def outputs(self, X: Any, invalid: Invalid) -> Array:
        """Return coordinates whose Euclidean distances are those of the metric."""
        return self.model.numbers(X, invalid, "transform")

    def coded(self, labels: Any, invalid: Invalid) -> Array:
        """Return equal numbers for equal labels, NaN for null records."""
        schema = self.model.label_schema
        if schema is not None:
            return schema.encode_label(read_labels(labels), invalid=invalid)
        codes = read_codes(labels)
        if not uses_null_records(invalid) and np.any(codes < 0):
            raise ValueError("y has labels that are missing or infinite")
        return np.where(codes < 0, np.nan, codes)

    def records(self, outputs: Array, labels: Array, unused: Mask) -> tuple[Array, ...]:
        """Return minus the distances of pairs, and whether their classes are the same."""
        return matched_pairs(outputs, np.where(unused, np.nan, labels))


@dataclass(frozen=True)
class OfPredictions(EvaluatedModel):
    """The accuracy of a classifier."""

    def statistic(self, null_records: bool, options: Options) -> AccuracyEvaluation:
        """Return what is evaluated, by public facts alone."""
        options.refuse_counts()
        options.refuse_r2()
        return AccuracyEvaluation(null_records, options.noise, holds_records(self.model.last))

    @property
    def _classes(self) -> list[Any]:
        found: list[Any] = np.asarray(self.model.last.classes_).tolist()
        return found

    def outputs(self, X: Any, invalid: Invalid) -> Array:
        """Return the places of the predicted classes, NaN for null records."""
        found, null = self.model.outputs(X, invalid, "predict")
        return np.where(null, np.nan, _places(found, self._classes))

    def coded(self, labels: Any, invalid: Invalid) -> Array:
        """Return the places of classes, NaN for null records."""
        schema = self.model.label_schema
        if schema is not None:
            return (schema.encode_label(read_labels(labels), invalid=invalid) + 1) / 2
        places = _places(read_labels(labels), self._classes)
        return self._checked(places, invalid)

    def coded_cells(self, cells: NDArray[Any], invalid: Invalid) -> Array:
        """Return the cells of a column of a table as the places of classes, compared as text."""
        if self.model.label_schema is not None:
            return self.coded(cells, invalid)
        names = [str(label).strip() for label in self._classes]
        texts = np.array([None if cell is None else str(cell).strip() for cell in cells], object)
        numbers = all(_number(name) is not None for name in names)
        known: list[Any] = [_number(name) for name in names] if numbers else names
        found = np.array([_number(text) for text in texts], object) if numbers else texts
        return self._checked(_places(found, known), invalid)

    def _checked(self, places: Array, invalid: Invalid) -> Array:
        if not uses_null_records(invalid) and np.isnan(places).any():
            raise ValueError("y has labels that the model does not know")
        return places

    def records(self, outputs: Array, labels: Array, unused: Mask) -> tuple[Array, ...]:
        """Return 1 for right predictions, 0 for wrong ones, and NaN for null records."""
        null = unused | np.isnan(outputs) | np.isnan(labels)
        return (np.where(null, np.nan, outputs == labels),)


@dataclass(frozen=True)
class OfErrors(EvaluatedModel):
    """The mean errors of a regressor."""

    target_range: tuple[float, float]

    def statistic(self, null_records: bool, options: Options) -> EvaluationStatistic:
        """Return what is evaluated, by public facts alone."""
        options.refuse_counts()
        holds = holds_records(self.model.last)
        return ErrorEvaluation(self.target_range, null_records, options.noise, holds, options.r2)

    def outputs(self, X: Any, invalid: Invalid) -> Array:
        """Return predictions, NaN for null records."""
        return np.ravel(self.model.numbers(X, invalid, "predict"))

    def coded(self, labels: Any, invalid: Invalid) -> Array:
        """Return targets, NaN for null records."""
        schema = self.model.label_schema
        if schema is not None:
            return schema.encode_label(read_labels(labels), invalid=invalid)
        targets = read_targets(labels)
        if not uses_null_records(invalid) and np.isnan(targets).any():
            raise ValueError("y must be finite numbers")
        return targets

    def coded_cells(self, cells: NDArray[Any], invalid: Invalid) -> Array:
        """Return the cells of a column of a table as targets."""
        if self.model.label_schema is not None:
            return self.coded(cells, invalid)
        return self.coded([None if cell is None else str(cell) for cell in cells], invalid)

    def records(self, outputs: Array, labels: Array, unused: Mask) -> tuple[Array, ...]:
        """Return predictions and targets."""
        return np.where(unused, np.nan, outputs), labels


@dataclass(frozen=True)
class OfResponses(OfErrors):
    """The concordance of a ranker with graded responses, whose range is that of a target."""

    def statistic(self, null_records: bool, options: Options) -> ConcordanceEvaluation:
        """Return what is evaluated, by public facts alone; there may always be null pairs."""
        options.refuse_counts()
        options.refuse_r2()
        return ConcordanceEvaluation(options.noise)

    def outputs(self, X: Any, invalid: Invalid) -> Array:
        """Return scores, NaN for null records."""
        return self.model.scores(X, invalid)

    def records(self, outputs: Array, labels: Array, unused: Mask) -> tuple[Array, ...]:
        """Return 1 for pairs in the right order, 0 for others, ½ for ties, NaN for null pairs."""
        responses = np.clip(labels, *self.target_range)
        return (ordered_pairs(outputs, np.where(unused, np.nan, responses)),)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float({"True": "1", "False": "0"}.get(text, text))
    except ValueError:
        return None


def _places(labels: NDArray[Any], classes: list[Any]) -> Array:
    """Return the place of each label among the classes, NaN for others."""
    found = np.full(len(labels), np.nan)
    for place, name in enumerate(classes):
        found[equal_to(labels, name)] = place
    return found
