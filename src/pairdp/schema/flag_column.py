"""Flags: yes or no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import keep
from pairdp.schema.cells import Cell, Cells, MissingValues, number_in, plain_text
from pairdp.schema.features import INDICATOR, NULL, Block, FeatureColumn
from pairdp.schema.names import MISSING, Name, Names

NO_WORDS, YES_WORDS = (("false", "no", "n", "f", "0"), ("true", "yes", "y", "t", "1"))


@dataclass(frozen=True)
class FlagColumn(FeatureColumn):
    """Yes or no, encoded as 1 and -1, or as 1 and 0 where the schema's flags are sparse.

    Parameters
    ----------
    name : str
        Its name.
    values : tuple of two names, or None
        How no and yes are written; see `Names`. None accepts false and true, 0 and 1, and, in any
        case, the words no and yes and the letters f, t, n and y.
    missing, missing_values, weight
        See `FeatureColumn`; a fixed value is one of the two.
    """

    name: str
    values: tuple[Name, Name] | None = None
    missing: Name | None = None
    missing_values: tuple[Name, ...] = ()
    weight: float = 1.0

    def __post_init__(self) -> None:
        self._check()
        if self.values is not None:
            keep(self, "values", Names.of(self.values).values)
            if len(self.values) != 2:
                raise ValueError("a flag has two values: [value of no, value of yes]")
        if self.missing not in (None, INDICATOR, NULL) and self._fixed() is None:
            raise ValueError(
                f'missing must be "indicator", "null" or a value of the flag, got {self.missing!r}'
            )

    def _fixed(self) -> int | None:
        """Return the place of the fixed value of missing cells, if there is one."""
        if self.missing in (None, INDICATOR, NULL):
            return None
        place = int(self._places(np.array([self.missing], dtype=object), MissingValues())[0])
        return place if place >= 0 else None

    @property
    def missing_is_yes(self) -> bool:
        """Whether missing cells are fixed to yes."""
        return self._fixed() == 1

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""
        return (self.name, *self._indicator_name())

    def form(self) -> Any:
        """Return the short form."""
        more = self._options()
        if self.values is None and not more:
            return "flag"
        return {"flag": None if self.values is None else list(self.values), **more}

    def _places(self, cells: Cells, missing: MissingValues) -> NDArray[np.int64]:
        names = _FLAGS if self.values is None else Names.of(self.values)
        if self.values is not None:
            return names.codes(cells, missing)
        places = names.codes(_lowered(cells), missing)
        return np.where(places >= 0, places // len(NO_WORDS), places)

    def encode(self, cells: Cells, missing: MissingValues) -> Block:
        """Return the block of each cell: 1 for yes and -1 for no."""
        places = self._places(cells, missing)
        status = np.zeros(len(places), dtype=np.int8)
        gone, unknown = places == MISSING, places < MISSING
        status[gone], status[unknown] = Cell.MISSING, Cell.UNKNOWN
        fixed = self._fixed()
        if fixed is not None:
            places[gone] = fixed
        block = np.where(places < 0, 0.0, 2.0 * places - 1.0)[:, None]
        return Block(self._with_indicator(block, status), status)


_FLAGS = Names((*NO_WORDS, *YES_WORDS), "text")


def _lowered(cells: Cells) -> Cells:
    """Return cells with booleans as words, texts in lower case, and numbers in texts as numbers."""
    return np.fromiter(map(_as_flag, cells.tolist()), object, len(cells))


def _as_flag(cell: Any) -> Any:
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, str):
        number = number_in(cell)
        return plain_text(cell).lower() if number is None else number
    return cell
