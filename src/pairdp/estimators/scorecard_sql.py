"""A scorecard as an expression in SQL."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.scorecard.cells import NumberCells
from pairdp.algorithms.scorecard.points import Points
from pairdp.estimators.bin_names import end_of_bin
from pairdp.schema import CategoryColumn, FlagColumn, NumberColumn
from pairdp.schema.features import FeatureColumn
from pairdp.schema.flag_column import NO_WORDS, YES_WORDS

Array = NDArray[np.float64]


def to_sql(names: list[str], points: Points, sources: list[FeatureColumn | None]) -> str:
    """Return the score as a sum of CASE expressions and their products, NULL for a null record.

    Raises
    ------
    ValueError
        If the model has a column that is not a number, a category or a flag.
    """
    terms = [_number(points.intercept)]
    terms += [_case(names, points, sources, c, values) for c, values in enumerate(points.points)]
    for i, j in points.pairs:
        one, other = (_case(names, points, sources, c, points.factors[c]) for c in (i, j))
        terms.append(f"{_number(points.interactions[i, j])} * ({one}) * ({other})")
    return "\n  + ".join(terms)


def _case(
    names: list[str],
    points: Points,
    sources: list[FeatureColumn | None],
    place: int,
    values: Array,
) -> str:
    """Return the expression that gives the value of the bin that a column is in."""
    name, source, column = names[place], sources[place], points.columns[place]
    if isinstance(source, NumberColumn) and isinstance(column, NumberCells):
        cases = _of_number(name, column, points.edges[place], values, source)
    elif isinstance(source, CategoryColumn):
        cases = _of_category(name, values, source)
    elif isinstance(source, FlagColumn):
        cases = _of_flag(name, values, source)
    else:
        raise ValueError(
            f"the column {name!r} has no expression: only numbers, categories and flags of a "
            "schema have one"
        )
    return f"CASE {' '.join(cases)} END"


def _of_number(
    name: str, column: NumberCells, ends: NDArray[np.int64], values: Array, source: NumberColumn
) -> list[str]:
    missing = "NULL"
    if column.missing is not None:
        missing = _number(values[-1])
    elif isinstance(source.missing, float):
        missing = _number(values[_bin_at(column, ends, source, source.missing)])
    cases = [f"WHEN {_name(name)} IS NULL THEN {missing}"]
    for place in range(1, len(ends) - 1):
        end = end_of_bin(column, int(ends[place]), source)
        cases.append(f"WHEN {_name(name)} < {_literal(end)} THEN {_number(values[place - 1])}")
    return [*cases, f"ELSE {_number(values[len(ends) - 2])}"]


def _bin_at(
    column: NumberCells, ends: NDArray[np.int64], source: NumberColumn, value: float
) -> int:
    inner = [float(end_of_bin(column, int(end), source)) for end in ends[1:-1]]
    return int(np.searchsorted(inner, value, side="right"))


def _of_category(name: str, values: Array, source: CategoryColumn) -> list[str]:
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
        f"WHEN {_name(name)} = {_literal(category)} THEN {_number(value)}"
        for category, value in zip(source.categories, values, strict=False)
    ]
    return [f"WHEN {_name(name)} IS NULL THEN {missing}", *listed, f"ELSE {others}"]


def _of_flag(name: str, values: Array, source: FlagColumn) -> list[str]:
    yes, no = _number(values[0]), _number(values[-1])
    missing = "NULL"
    if source.has_indicator:
        missing = _number(values[1])
    elif source.missing not in (None, "null"):
        missing = yes if source.missing_is_yes else no
    cases = [f"WHEN {_name(name)} IS NULL THEN {missing}"]
    if source.values is not None:
        of_no, of_yes = source.values
        cases += [
            f"WHEN {_name(name)} = {_literal(of_yes)} THEN {yes}",
            f"WHEN {_name(name)} = {_literal(of_no)} THEN {no}",
        ]
    else:
        for words, value in ((YES_WORDS, yes), (NO_WORDS, no)):
            listed = ", ".join(_literal(word) for word in words)
            cases.append(f"WHEN LOWER(CAST({_name(name)} AS TEXT)) IN ({listed}) THEN {value}")
    return [*cases, "ELSE NULL"]


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
