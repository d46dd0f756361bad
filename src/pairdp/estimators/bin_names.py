"""The bins of a scorecard in words, in the units of the table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.scorecard.cells import FINE, Cells, NumberCells
from pairdp.schema import CategoryColumn, DateColumn, FlagColumn, NumberColumn, Schema
from pairdp.schema.features import FeatureColumn

_EDGE = 1e-7  # of a cell, as in `NumberCells.codes`
MISSING = "missing"
NONE = ""
"""The name of a bin that no record can be in, which no category has."""


def bin_names(column: Cells, ends: NDArray[np.int64], source: FeatureColumn | None) -> list[str]:
    """Return the names of the bins of one column.

    Parameters
    ----------
    column : Cells
        The cells of the column.
    ends : array
        The ends of the bins of a number, in fine cells; empty for a category.
    source : FeatureColumn, optional
        The column of the schema.
    """
    if isinstance(column, NumberCells):
        exact = [end_of_bin(column, int(end), source) for end in ends]
        if isinstance(source, NumberColumn) and _has_integers(source):
            names = _names_of_integers([float(end) for end in exact])
        else:
            shown = _shown(exact)
            names = [f"[{low}, {high})" for low, high in pairwise(shown)]
            if isinstance(source, DateColumn):  # whole units, of which a bin may hold none
                empty = [low == high for low, high in pairwise(shown)]
                names = [NONE if e else name for e, name in zip(empty, names, strict=True)]
            names[-1] = f"[{shown[-2]}, {shown[-1]}]"
        return [*names, *([] if column.missing is None else [MISSING])]
    return list(_names_of_categories(column, source))


def _has_integers(source: NumberColumn) -> bool:
    """Return whether all numbers of a column are integers, also those for missing cells."""
    filled = source.missing
    return source.integer and (not isinstance(filled, float) or filled.is_integer())


def _names_of_integers(ends: list[float]) -> list[str]:
    """Return the integers in each bin; an integer at an end is in the upper bin."""
    width = (ends[-1] - ends[0]) / FINE
    firsts = [math.ceil(end - _EDGE * width) for end in ends[:-1]]
    names = []
    for low, high in pairwise([*firsts, math.floor(ends[-1]) + 1]):
        last = high - 1
        names.append(NONE if last < low else str(low) if last == low else f"{low} to {last}")
    return names


def end_of_bin(column: NumberCells, end: int, source: FeatureColumn | None) -> float | str:
    """Return the end of a bin in the units of the table: a number or a date."""
    share: float = end / FINE
    if isinstance(source, DateColumn):
        return source.date_at(share)
    if not isinstance(source, NumberColumn):
        return column.low + (column.high - column.low) * share
    if source.scale == "log":
        low, high = math.log(source.low), math.log(source.high)
        return math.exp(low + (high - low) * share)
    return source.low + (source.high - source.low) * share


def _shown(ends: list[float | str]) -> list[str]:
    """Return ends as text, numbers with at least six digits, and so many that they differ."""
    for digits in range(6, 18):
        shown = [end if isinstance(end, str) else f"{end:.{digits}g}" for end in ends]
        if len(set(shown)) == len(set(ends)):
            break
    return shown


def _names_of_categories(column: Cells, source: FeatureColumn | None) -> Iterator[str]:
    if isinstance(source, FlagColumn):
        no, yes = source.values or ("no", "yes")
        yield str(yes)
        if source.has_indicator:
            yield MISSING
        yield str(no)
        return
    if isinstance(source, CategoryColumn):
        yield from map(str, source.categories)
        if source.other is True:
            yield "other"
        if source.has_indicator:
            yield MISSING
    else:
        yield from (str(place + 1) for place in range(column.size - 1))
    yield NONE


def source_of(schema: Schema | None, name: str) -> FeatureColumn | None:
    """Return the column of the schema with a name; a part of a date is a category."""
    for column in () if schema is None else schema.feature_columns:
        if column.name == name:
            return column
        if isinstance(column, DateColumn):
            for part in column.parts:
                if name == f"{column.name} ({part})":
                    return CategoryColumn(name, column.part_names(part))
    return None
