"""Lists of names; how cells are compared with them depends on the list alone."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp.schema.cells import Cells, MissingValues, canonical_text, codes, number_in, plain_text

Name = str | int | float | bool
MISSING, UNKNOWN = -1, -2
_EXACT = 2.0**53  # smaller integers are exact as floats
_TRUTH = {"False": False, "True": True, "false": False, "true": True, "FALSE": False, "TRUE": True}


@dataclass(frozen=True)
class Names:
    """Different names, and how cells are compared with them.

    Attributes
    ----------
    values : tuple of str, int, float or bool
        The names: all texts, all numbers, or booleans.
    kind : {"number", "truth", "text"}
        Numbers match every cell with an equal number, such as 1, 1.0 or "1"; booleans match
        booleans and the words true and false; text matches equal text, without leading and
        trailing spaces, and numbers that are written so.
    """

    values: tuple[Name, ...]
    kind: Literal["number", "truth", "text"]

    @staticmethod
    def of(given: Iterable[object]) -> Names:
        """Return names from those that a person wrote.

        They are numbers if all are numbers, also in text that has no other way to write the same
        number ("1", but not "01" or "1.0"); booleans if all are; and otherwise text.
        """
        listed = list(given)
        for name in listed:
            if not isinstance(name, str | int | float):
                raise ValueError(f"a name must be text, a number, true or false, got {name!r}")
            if isinstance(name, float) and not math.isfinite(name):
                raise ValueError("a name must not be NaN or infinite")
        texts = [canonical_text(name) for name in listed]
        if "" in texts or any(text.endswith("\0") for text in texts):
            raise ValueError("a name must not be empty or end in NUL")
        values: tuple[Name, ...] = tuple(texts)
        kind: Literal["number", "truth", "text"] = "text"
        found = [_written_number(text) for text in texts]
        if all(text in _TRUTH for text in texts):
            values, kind = tuple(_TRUTH[text] for text in texts), "truth"
        elif not any(number is None for number in found):
            values, kind = tuple(number for number in found if number is not None), "number"
        for i, value in enumerate(values):
            if value in values[:i]:
                raise ValueError(f"{value!r} is listed twice")
        return Names(values, kind)

    @cached_property
    def _places(self) -> dict[Name, int]:
        return {value: place for place, value in enumerate(self.values)}

    def index(self, name: object) -> int | None:
        """Return the place of a name, written in any accepted way; None if it is not listed."""
        place = self._code(name)
        return place if place >= 0 else None

    def codes(self, cells: Cells, missing: MissingValues) -> NDArray[np.int64]:
        """Return the place of each cell in the list, -1 if it is missing and -2 if not listed."""
        return codes(
            cells,
            lambda cell: MISSING if missing.has(cell) else self._code(cell),
            lambda text: MISSING if missing.has_text(text) else self._code(text),
        )

    def _code(self, cell: Any) -> int:
        key: Any = None
        if self.kind == "truth":
            if isinstance(cell, bool | np.bool_):
                key = bool(cell)
            elif isinstance(cell, str):
                key = _TRUTH.get(plain_text(cell).strip())
        elif self.kind == "number":
            key = _TRUTH.get(plain_text(cell).strip()) if isinstance(cell, str) else None
            key = number_in(cell) if key is None else key
        else:
            key = canonical_text(cell)
        return UNKNOWN if key is None else self._places.get(key, UNKNOWN)


def _written_number(text: str) -> int | float | None:
    """Return the number that a text writes in its only way, None for other texts."""
    number = number_in(text)
    if number is None or not abs(number) < _EXACT:
        return None
    value = int(number) if number.is_integer() else number
    return value if str(value) == text else None
