"""Categories of a public list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pairdp._checks import keep
from pairdp.schema.cells import Cell, Cells, MissingValues, Status
from pairdp.schema.features import INDICATOR, NULL, Block, FeatureColumn, Mask
from pairdp.schema.names import MISSING, Name, Names


@dataclass(frozen=True)
class CategoryColumn(FeatureColumn):
    """One of a public list of categories, encoded as one 1 among zeros.

    Parameters
    ----------
    name : str
        Its name.
    categories : tuple of str, int, float or bool
        The list; see `Names` for how cells are compared with it.
    other : bool or category
        Whether cells that are not listed have their own feature; or the category that they become.
        False refuses them.
    missing, missing_values, weight
        See `FeatureColumn`; a fixed value is a category. None is as for cells that are not listed.
    """

    name: str
    categories: tuple[Name, ...]
    other: Name = False
    missing: Name | None = None
    missing_values: tuple[Name, ...] = ()
    weight: float = 1.0

    def __post_init__(self) -> None:
        self._check()
        keep(self, "categories", Names.of(self.categories).values)
        if not self.categories:
            raise ValueError("the list of categories is empty")
        if not isinstance(self.other, bool):
            keep(self, "other", self._listed("other", "true, false", self.other))
        if self.other is True and "other" in self.categories:
            raise ValueError(
                'one of the categories is "other": use "other": "other" for cells not listed'
            )
        if self.missing not in (None, INDICATOR, NULL):
            words = '"indicator", "null"'
            keep(self, "missing", self._listed("missing", words, self.missing))

    def _listed(self, what: str, words: str, given: object) -> Name:
        place = self.names.index(given)
        if place is None:
            raise ValueError(f"{what} must be {words} or one of the categories, got {given!r}")
        return self.categories[place]

    @cached_property
    def names(self) -> Names:
        """How cells are compared with the categories."""
        return Names.of(self.categories)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""
        listed = [*self.categories, *(["other"] if self.other is True else [])]
        return (*(f"{self.name}={category}" for category in listed), *self._indicator_name())

    def form(self) -> Any:
        """Return the short form."""
        more: dict[str, Any] = {} if self.other is False else {"other": self.other}
        more |= self._options()
        plain_list = self.names.kind == "text" and not more
        listed = list(self.categories)
        return listed if plain_list else {"categories": listed, **more}

    def is_refused(self, status: Status) -> Mask:
        """Return which cells the schema has no place for."""
        refused = np.zeros(len(status), dtype=np.bool_)
        if self.other is False:
            refused |= status == Cell.UNKNOWN
            if self.missing is None:
                refused |= status == Cell.MISSING
        return refused

    def encode(self, cells: Cells, missing: MissingValues) -> Block:
        """Return the block of each cell."""
        places = self.names.codes(cells, missing)
        status = np.zeros(len(places), dtype=np.int8)
        gone, unknown = places == MISSING, places < MISSING
        status[gone], status[unknown] = Cell.MISSING, Cell.UNKNOWN
        width = len(self.categories) + (self.other is True)
        others = self._place_of_others()
        places[unknown] = others
        places[gone] = others if self.missing is None else self._place_of_missing()
        block = np.zeros((len(places), width))
        has_place = np.flatnonzero(places >= 0)
        block[has_place, places[has_place]] = 1.0
        return Block(self._with_indicator(block, status), status)

    def _place_of_others(self) -> int:
        if isinstance(self.other, bool):
            return len(self.categories) if self.other else -1
        return self.categories.index(self.other)

    def _place_of_missing(self) -> int:
        if self.missing in (INDICATOR, NULL):
            return -1
        return self.categories.index(self.missing)
