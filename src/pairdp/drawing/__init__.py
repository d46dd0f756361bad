"""Plots, tables and pages: for studies, for reports on models, and for the documentation.

A `Figure` is frozen data. `write_page` puts figures into one HTML file, with tooltips, legends that
show and hide series, keyboard access, light and dark colours and a table of the values;
`write_svg` gives a figure as an SVG file that needs nothing around it. Both draw one element tree.

Why no plotting library: a page must work without a network and stay small. matplotlib weighs 30 MB
installed, and its SVG has neither tooltips nor series to switch off nor a dark version; plotly,
Vega and Bokeh put 3 to 4 MB of script into every page. Here the script and the style of a page are
20 KB, and nothing is imported but numpy.
"""

from pairdp.drawing.figure import Axis, Figure, Point, Series, Style
from pairdp.drawing.page import write_page
from pairdp.drawing.page_figure import write_group
from pairdp.drawing.series_styles import assign_styles
from pairdp.drawing.svg_file import write_svg

__all__ = [
    "Axis",
    "Figure",
    "Point",
    "Series",
    "Style",
    "assign_styles",
    "write_group",
    "write_page",
    "write_svg",
]
