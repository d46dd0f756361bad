"""A scorecard as an expression in SQL."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.scorecard.cells import Cells, NumberCells
from pairdp.algorithms.scorecard.points import Points
from pairdp.estimators.bin_names import end_of_bin
from pairdp.schema import CategoryColumn, FlagColumn, NumberColumn
from pairdp.schema.cells import MissingValues, canonical_text
from pairdp.schema.features import FeatureColumn
from pairdp.schema.flag_column import NO_WORDS, YES_WORDS

Array = NDArray[np.float64]
_LARGEST = repr(sys.float_info.max)


@dataclass(frozen=True)
class _Column:
    """A column of a table: its name, what the schema says of it, and which cells are missing."""

    name: str
    cells: Cells
    ends: NDArray[np.int64]
    source: FeatureColumn | None
    missing: MissingValues


def to_sql(
    names: list[str],
    points: Points,
    sources: list[FeatureColumn | None],
    missing: list[MissingValues],
) -> str:
    """Return the score as a sum of CASE expressions and their products, NULL for a null record.

    Cells are compared as a schema does: texts without outer spaces, of which an empty one is
    missing. A cell of a number that is infinite, or a text in a database that keeps texts in
    columns of numbers, has no points.

    Raises
    ------
    ValueError
        If the model has a column that is not a number, a category or a flag.
    """
    columns = [
        _Column(*facts)
        for facts in zip(names, points.columns, points.edges, sources, missing, strict=True)
    ]
    terms = [_number(points.intercept)]
    terms += [_case(c, values) for c, values in zip(columns, points.points, strict=True)]
    for i, j in points.pairs:
        one, other = (_case(columns[c], points.factors[c]) for c in (i, j))
        terms.append(f"{_number(points.interactions[i, j])} * ({one}) * ({other})")
    return "\n  + ".join(terms)


def _case(column: _Column, values: Array) -> str:
    """Return the expression that gives the value of the bin that a column is in."""
    source, cells = column.source, column.cells
    if isinstance(source, NumberColumn) and isinstance(cells, NumberCells):
        then, cases = _of_number(column.name, cells, column.ends, values, source)
    elif isinstance(source, CategoryColumn):
        then, cases = _of_category(column.name, values, source)
    elif isinstance(source, FlagColumn):
        then, cases = _of_flag(column.name, values, source)
    else:
        raise ValueError(
            f"the column {column.name!r} has no expression: only numbers, categories and flags of "
            "a schema have one"
        )
    return f"CASE WHEN {_is_missing(column)} THEN {then} {' '.join(cases)} END"


def _is_missing(column: _Column) -> str:
    """Return the condition that a cell is missing: NULL, or one of the values of the schema."""
    name, numbers = _name(column.name), sorted(column.missing.numbers)
    listed = [_number(value) for value in numbers]
    if not isinstance(column.source, NumberColumn):  # numbers may be written as texts
        name = _text(column.name)
        texts = {"", *column.missing.texts}
        texts |= {text for number in numbers for text in _written(canonical_text(number))}
        listed = [_literal(text) for text in sorted(texts)]
    null = f"{_name(column.name)} IS NULL"
    return f"{null} OR {name} IN ({', '.join(listed)})" if listed else null


def _of_number(
    name: str, column: NumberCells, ends: NDArray[np.int64], values: Array, source: NumberColumn
) -> tuple[str, list[str]]:
    """Return the value of a missing cell, and the cases of others."""
    missing = "NULL"
    if column.missing is not None:
        missing = _number(values[-1])
    elif isinstance(source.missing, float):
        missing = _number(values[_bin_at(column, ends, source, source.missing)])
    # The sign keeps databases from comparing numbers with texts as texts.
    cases = [f"WHEN +{_name(name)} NOT BETWEEN -{_LARGEST} AND {_LARGEST} THEN NULL"]
    for place in range(1, len(ends) - 1):
        end = end_of_bin(column, int(ends[place]), source)
        cases.append(f"WHEN {_name(name)} < {_literal(end)} THEN {_number(values[place - 1])}")
    return missing, [*cases, f"ELSE {_number(values[len(ends) - 2])}"]


def _bin_at(
    column: NumberCells, ends: NDArray[np.int64], source: NumberColumn, value: float
) -> int:
    inner = [float(end_of_bin(column, int(end), source)) for end in ends[1:-1]]
    return int(np.searchsorted(inner, value, side="right"))


def _of_category(name: str, values: Array, source: CategoryColumn) -> tuple[str, list[str]]:
    others = "NULL"
    if source.other is True:
        others = _number(values[len(source.categories)])
    elif not isinstance(source.other, bool):
        others = _number(values[source.categories.index(source.other)])
    missing = others
    if source.has_indicator:
        missing = _number(values[-2])
    elif source.missing == "null":
        missing = "NULL"
    elif source.missing is not None:
        missing = _number(values[source.categories.index(source.missing)])
    listed = [
        f"WHEN {_equals(name, category)} THEN {_number(value)}"
        for category, value in zip(source.categories, values, strict=False)
    ]
    return missing, [*listed, f"ELSE {others}"]


def _of_flag(name: str, values: Array, source: FlagColumn) -> tuple[str, list[str]]:
    yes, no = _number(values[0]), _number(values[-1])
    missing = "NULL"
    if source.has_indicator:
        missing = _number(values[1])
    elif source.missing not in (None, "null"):
        missing = yes if source.missing_is_yes else no
    cases = []
    if source.values is not None:
        of_no, of_yes = source.values
        cases += [
            f"WHEN {_equals(name, of_yes)} THEN {yes}",
            f"WHEN {_equals(name, of_no)} THEN {no}",
        ]
    else:
        for words, value in ((YES_WORDS, yes), (NO_WORDS, no)):
            listed = ", ".join(_literal(text) for word in words for text in _written(word))
            cases.append(f"WHEN LOWER({_text(name)}) IN ({listed}) THEN {value}")
    return missing, [*cases, "ELSE NULL"]


def _equals(name: str, value: object) -> str:
    """Return the condition that a cell equals a category, or a value of a flag."""
    written = _written(canonical_text(value))
    condition = f"{_text(name)} IN ({', '.join(map(_literal, written))})"
    if isinstance(value, str):
        return condition
    return f"{_name(name)} = {_literal(value)} OR {condition}"


def _written(text: str) -> list[str]:
    """Return how a cell with this text is written: an integer of a column of numbers, with .0."""
    return [text, f"{text}.0"] if text.removeprefix("-").isdecimal() else [text]


def _text(name: str) -> str:
    """Return a cell as a text without outer spaces."""
    return f"TRIM(CAST({_name(name)} AS TEXT))"


def _name(name: str) -> str:
    """Return a name as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def _number(value: float) -> str:
    return repr(float(value))


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    return "'" + str(value).replace("'", "''") + "'"
