"""Figures in a page: plots with their tables, and a common legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pairdp.drawing.canvas import WIDTH
from pairdp.drawing.elements import make, to_html
from pairdp.drawing.figure import Figure, keys_of
from pairdp.drawing.markers import classes
from pairdp.drawing.page_legend import write_legend
from pairdp.drawing.plot import draw
from pairdp.drawing.text import escape
from pairdp.drawing.value_table import write_table


def write_group(
    name: str,
    figures: Sequence[Figure],
    *,
    tables: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    value: str = "",
    legend: bool = True,
) -> str:
    """Return figures with one legend, whose buttons show and hide series in all figures.

    Parameters
    ----------
    name : str
        What the figures show together.
    figures : sequence of Figure
    tables : sequence of str, optional
        The table of each figure; by default from `write_table`.
    tags : sequence of str, optional
        HTML next to the title of each figure.
    value : str
        What a value is, for tooltips, such as "mean".
    legend : bool
        Whether there is a legend; figures whose rows name their series need none.
    """
    keys = keys_of(figures)
    tables = [write_table(figure) for figure in figures] if tables is None else tables
    tags = [""] * len(figures) if tags is None else tags
    plots = "".join(
        f"<figure><figcaption><b>{escape(figure.title)}</b>{tag}</figcaption>"
        f"{write_inline(figure, keys)}<details><summary>Table of {escape(figure.y.name)}</summary>"
        f"<div class=scroll>{table}</div></details></figure>"
        for figure, table, tag in zip(figures, tables, tags, strict=True)
    )
    intervals = figures[0].intervals if figures else ""
    buttons = write_legend(name, figures, keys) if legend else ""
    return (
        f'<div class="plot-group" data-value="{escape(value)}" '
        f'data-intervals="{escape(intervals)}">{buttons}'
        f'<div class="plots">{plots}</div></div>'
    )


def write_inline(figure: Figure, keys: Mapping[tuple[str, str], int]) -> str:
    """Return a figure as an SVG element of a page.

    The group of a series has the index of its legend entry and of its row in the table, where the
    page's script reads the values.
    """
    canvas = draw(figure)
    for drawn in canvas.series:
        series = figure.series[drawn.row]
        drawn.group.set("class", classes(series.style))
        drawn.group.set("data-k", str(keys[series.key]))
        drawn.group.set("data-row", str(drawn.row))
    words = [figure.description or figure.title]
    words += [f"with {figure.intervals}"] if figure.has_intervals else []
    attributes: dict[str, object] = {
        "class": "plot",
        "viewBox": f"0 0 {WIDTH} {canvas.height:g}",
        "role": "group",
        "aria-label": ", ".join(words),
    }
    return to_html(make("svg", attributes, [*canvas.axes, *(d.group for d in canvas.series)]))
