"""Plots, tables and pages: for studies, for reports on models, and for the documentation.

A `Figure` is frozen data. `write_page` puts figures into one HTML file, with tooltips, legends that
show and hide series, keyboard access, light and dark colours and a table of the values;
`write_svg` gives a figure as an SVG file that needs nothing around it. Both draw one element tree.

Why no plotting library: a page must work without a network and stay small. The SVG of matplotlib
has no tooltips, no series to switch off and no dark version; plotly, Vega and Bokeh put their whole
script into every page that works offline. Here script and style of a page are less than 20 KB, and
nothing is needed but numpy.

Examples
--------
>>> from pairdp.drawing import Axis, Figure, Point, Series, Style, write_group, write_page
>>> points = tuple(Point(x / 10, (x / 10) ** 0.3, (0.0, 1.0)) for x in range(11))
>>> model = Series("model", points, Style(color=1, marker=None, band=True))
>>> roc = Figure("ROC", Axis("false positive rate"), Axis("true positive rate"), (model,))
>>> page = write_page("A model", write_group("ROC", [roc]), [roc])
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
