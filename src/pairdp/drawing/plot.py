"""Draw a figure of any mark."""

from __future__ import annotations

from pairdp.drawing.canvas import Canvas
from pairdp.drawing.figure import Figure
from pairdp.drawing.line_plot import draw_lines
from pairdp.drawing.row_plot import draw_rows


def draw(figure: Figure) -> Canvas:
    """Return the drawing of a figure."""
    return draw_lines(figure) if figure.mark == "line" else draw_rows(figure)
