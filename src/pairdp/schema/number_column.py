"""Numbers with a public range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairdp._checks import RECORDS, flag, keep, one_of, real
from pairdp.schema.cells import Array, Cell, Cells, MissingValues, numbers
from pairdp.schema.columns import check_range, plain
from pairdp.schema.features import INDICATOR, NULL, Block, FeatureColumn
from pairdp.schema.names import Name


@dataclass(frozen=True)
class NumberColumn(FeatureColumn):
    """A number with a public range, to which it is clipped.

    Parameters
    ----------
    name : str
        Its name.
    low, high : float
        The range.
    scale : {"linear", "log"}
        Whether the number or its logarithm is mapped to [-1, 1].
    integer : bool
        Whether other numbers than integers are refused.
    missing, missing_values, weight
        See `FeatureColumn`; a fixed value is a number within the range.
    """

    name: str
    low: float
    high: float
    scale: str = "linear"
    integer: bool = False
    missing: float | str | None = None
    missing_values: tuple[Name, ...] = ()
    weight: float = 1.0

    def __post_init__(self) -> None:
        self._check()
        for end in ("low", "high"):
            keep(self, end, real("an end of the range", getattr(self, end)))
        check_range(self.low, self.high)
        one_of("scale", self.scale, "linear", "log")
        flag("integer", self.integer)
        if self.scale == "log" and self.low < RECORDS[0]:
            raise ValueError(
                f"a log scale needs a range of positive numbers, got [{self.low:g}, {self.high:g}]"
            )
        if self.missing in (None, INDICATOR, NULL):
            return
        if isinstance(self.missing, str):
            raise ValueError(
                f'missing must be "indicator", "null" or a number, got {self.missing!r}'
            )
        keep(self, "missing", real("missing", self.missing))
        if not self.low <= self.missing <= self.high:
            raise ValueError(f"missing must be a number of the range, got {self.missing:g}")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""
        return (self.name, *self._indicator_name())

    def form(self) -> Any:
        """Return the short form."""
        ends = [plain(self.low), plain(self.high)]
        more: dict[str, Any] = {} if self.scale == "linear" else {"scale": self.scale}
        more |= {"integer": True} if self.integer else {}
        more |= self._options()
        return {"range": ends, **more} if more else ends

    def encode(self, cells: Cells, missing: MissingValues) -> Block:
        """Return the block of each cell."""
        values, status = numbers(cells, missing)
        if self.integer:
            status[(status == Cell.VALID) & (np.floor(values) != values)] = Cell.UNKNOWN
        if isinstance(self.missing, float):
            values[status == Cell.MISSING] = self.missing
        outside = np.flatnonzero((values < self.low) | (values > self.high))
        if len(outside):
            status[outside[status[outside] == Cell.VALID]] = Cell.OUTSIDE
            np.clip(values, self.low, self.high, out=values)
        block = self._mapped(values)[:, None]
        return Block(self._with_indicator(block, status), status)

    def _mapped(self, values: Array) -> Array:
        """Map numbers of the range to [-1, 1], in place."""
        low, high = self.low, self.high
        if self.scale == "log":
            np.log(values, out=values)
            low, high = math.log(low), math.log(high)
        values -= low / 2 + high / 2
        values /= high / 2 - low / 2
        return np.clip(values, -1.0, 1.0, out=values)
