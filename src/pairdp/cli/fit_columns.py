"""What a fit reads of a table whose features are numbers, scaled by bounds or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pairdp._coded_cells import Column
from pairdp.cli.unit_options import units_of
from pairdp.estimators import Bounds, BoundsScaler, read_bounds
from pairdp.model_file import Steps
from pairdp.tables import Batch, Table, TableError, TwoLabels
from pairdp.tables.threads import in_threads

Batches = Iterator[Any]


class FitColumns(Protocol):
    """The columns of a table that a fit reads, and how."""

    @property
    def n(self) -> int:
        """The number of records."""

    @property
    def names(self) -> list[str]:
        """The columns of the features."""

    @property
    def width(self) -> int:
        """The number of features."""

    @property
    def classes(self) -> NDArray[Any] | None:
        """The two labels, the higher one last; None for other tasks."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator that follow from the columns."""

    def batches(self, model: Any) -> Batches:
        """Yield rows of features, labels as the model's problem codes them, and units if any."""

    def fitted(self, model: Any) -> Steps:
        """Return what a model file stores, for a fitted model."""


@dataclass(frozen=True)
class NumberColumns:
    """Columns of numbers, and a label.

    Attributes
    ----------
    table : Table
        Their table.
    n : int
        Its number of records.
    names : list of str
        The features.
    label : str
        The label or response.
    scaler : BoundsScaler or None
        How features are scaled.
    labels : TwoLabels or None
        The two labels of a ranker without responses.
    parameters : dict
        Parameters of the estimator.
    unit : str or None
        The column that identifies units; None if single records are protected.
    """

    table: Table
    n: int
    names: list[str]
    label: str
    scaler: BoundsScaler | None
    labels: TwoLabels | None
    parameters: dict[str, Any]
    unit: str | None = None

    @classmethod
    def of(cls, table: Table, options: dict[str, Any]) -> NumberColumns:
        """Return the columns that options describe."""
        if options["label"] is None:
            raise TableError("give --schema FILE, or --label NAME and --bounds FILE")
        unit = options["unit"]
        units = [] if unit is None else [unit]
        table.check_columns([options["label"], *options["drop"], *units])
        if unit == options["label"]:
            raise TableError(f"{unit!r} is the label: it cannot be the unit")
        names, scaler = _features(table, options)
        table.check_columns(names)
        graded = options["response_bounds"] is not None
        label = None if graded else options["label"]
        n, found = table.count(label, invalid=options["invalid"])
        labels, more = None, {}
        if options["task"] == "ranking" and not graded and n > 1:
            labels = _two_labels(options, found)
            if options["classes"] is not None:
                more["classes"] = labels.values.tolist()
        if scaler is not None:
            more["data_norm"] = 1.0  # the bound on scaled rows
        return cls(table, n, names, options["label"], scaler, labels, more, unit)

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.names)

    @property
    def classes(self) -> NDArray[Any] | None:
        """The two labels."""
        return None if self.labels is None else self.labels.values

    def batches(self, model: Any) -> Batches:
        """Yield rows of features, and labels as the model's problem codes them."""
        if self.scaler is not None:
            self.scaler.fit_columns(self.names)
        batches = self.table.batches(self.names, self.label, invalid=model.invalid)
        units = None if self.unit is None else units_of(self.table, self.unit, model.invalid)
        read = ((batch, () if units is None else (units(batch.rows),)) for batch in batches)

        def prepared(piece: tuple[Batch, tuple[list[Any], ...]]) -> Any:
            batch, of_units = piece
            rows = batch.features if self.scaler is None else self.scaler.scale(batch.features)
            return rows, self._coded(model, batch.labels), *of_units

        yield from in_threads(prepared, read)

    def _coded(self, model: Any, cells: Column) -> NDArray[Any]:
        """Return signs of two classes, graded responses within ±1, or names of classes."""
        if self.labels is None:
            coded: NDArray[Any] = model._coded(cells, None)
            return coded
        signs = self.labels.signs(cells)
        if model.invalid == "error" and np.isnan(signs).any():
            raise TableError(
                f"the column {self.label!r} has labels other than {self.labels.low!r} and "
                f"{self.labels.high!r}"
            )
        return signs

    def fitted(self, model: Any) -> Steps:
        """Return the model with its scaler, if there is one."""
        if self.scaler is not None:
            return Steps([("scale", self.scaler), ("model", model)], in_pipeline=True)
        model.feature_names_in_ = np.array(self.names, dtype=object)
        return Steps.of(model)


def _features(table: Table, options: dict[str, Any]) -> tuple[list[str], BoundsScaler | None]:
    """Return the names of the features, and their scaler."""
    others = {options["label"], options["unit"], *options["drop"]}
    rest = [name for name in table.columns if name not in others]
    if options["bounds"] is None:
        if not options["unscaled"]:
            raise TableError(
                "features need a public description: give --schema FILE or --bounds FILE, or "
                "--unscaled if rows are within --data-norm already"
            )
        return rest, None
    if options["unscaled"]:
        raise TableError("--bounds scales the features: give only one of --bounds and --unscaled")
    bounds = read_bounds(options["bounds"])
    table.check_columns(list(bounds.lower))
    for what in ("label", "unit"):
        if options[what] in bounds.lower:
            raise TableError(f"the {what} column {options[what]!r} must not have bounds")
    if without := [name for name in rest if name not in bounds.lower]:
        raise TableError(
            f"{options['bounds']} has no bounds for {', '.join(map(repr, without))}: add them, or "
            f"drop the columns with --drop {without[0]}"
        )
    names = [name for name in bounds.lower if name not in options["drop"]]
    kept = Bounds(*({name: side[name] for name in names} for side in bounds))
    return names, BoundsScaler(*kept, invalid=options["invalid"])


def _two_labels(options: dict[str, Any], found: tuple[Any, ...]) -> TwoLabels:
    """Return the two labels: those of --classes if given, else those that occur."""
    if options["classes"] is not None:
        try:
            return TwoLabels.named(options["classes"].split(","))
        except TableError as error:
            raise TableError(f"--classes: {error}") from None
    if len(found) != 2:
        raise TableError(
            f"ranking needs two labels, but the column {options['label']!r} has {len(found)}: use "
            "another column or --task metric, or give --classes A,B"
        )
    return TwoLabels.named(found)
