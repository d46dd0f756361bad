"""The values of a figure as a table.

Optional end tags are omitted: a page may have thousands of cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pairdp.drawing.figure import Figure, Point
from pairdp.drawing.text import escape, measured, number

_MANY = 12  # values of x; if there are more, each has a row instead of a column
CellText = Callable[[int, int], str]
"""From the indices of a series and of its point to the HTML of the cell."""


def write_table(
    figure: Figure,
    cell: CellText | None = None,
    facts: Mapping[str, Sequence[str]] | None = None,
    caption: str = "",
) -> str:
    """Return the table of a figure: a row per series and a column per x.

    If there are many values of x and nothing else is shown, rows and columns are exchanged.

    Parameters
    ----------
    figure : Figure
    cell : callable, optional
        Writes a cell; by default `write_value`.
    facts : mapping of str to sequences of str, optional
        Additional columns before the values, with a text for each series.
    caption : str
        By default what the intervals are.
    """
    facts = facts or {}
    xs = figure.xs
    by_x = cell is None and not facts and len(xs) > _MANY
    write = cell or (lambda row, i: write_value(figure.series[row].points[i]))
    values = [
        {point.x: write(row, i) for i, point in enumerate(series.points)}
        for row, series in enumerate(figure.series)
    ]
    if not caption and figure.has_intervals:
        caption = f"Values with {figure.intervals}"
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    if by_x:
        head = f"<th>{escape(figure.x.symbol or figure.x.name)}"
        head += "".join(f"<th>{escape(series.label)}" for series in figure.series)
        body = "".join(
            f"<tr><th>{number(x)}" + "".join(f"<td>{column.get(x, '')}" for column in values)
            for x in xs
        )
        return f"<table>{title}<thead><tr>{head}<tbody>{body}</table>"
    kinds = any(series.kind for series in figure.series)
    names = ["series", *(["kind"] if kinds else []), *facts]
    head = "".join(f"<th>{escape(name)}" for name in names)
    head += "".join(f"<th>{escape(figure.x_text(number(x)))}" for x in xs)
    body = ""
    for row, series in enumerate(figure.series):
        body += f"<tr><th>{escape(series.name)}" + (f"<td>{escape(series.kind)}" if kinds else "")
        body += "".join(f"<td>{escape(texts[row])}" for texts in facts.values())
        body += "".join(f"<td>{values[row].get(x, '')}" for x in xs)
    return (
        f"<table data-names={1 + kinds} data-lead={len(names)}>{title}<thead><tr>{head}"
        f"<tbody>{body}</table>"
    )


def write_value(point: Point) -> str:
    """Return a value and its interval."""
    return measured(point.y) + write_interval(point)


def write_interval(point: Point) -> str:
    """Return the interval of a value, as "± width" if both sides are equal after rounding."""
    above, below = point.high - point.y, point.y - point.low
    if not above and not below:
        return ""
    if measured(above, point.y) == measured(below, point.y):
        return f" <i>± {measured(above, point.y)}</i>"
    return f" <i>[{measured(point.low, point.y)}, {measured(point.high, point.y)}]</i>"
