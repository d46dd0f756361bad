"""Figures as data, drawn into HTML pages and SVG files: for studies, model reports and the docs.

A `Figure` is frozen data: axes, and series of points with intervals. `write_group` draws figures
with a common legend, and `write_page` puts them into one HTML file with tooltips, buttons that show
and hide series, keyboard access, light and dark colours, and a table of the values. `write_svg`
returns a figure as a self-contained SVG file. Both render one tree of elements; neither reads the
output of the other. `assign_styles` chooses distinct colours and markers for many series.
docs/architecture.md says why no plotting library is used.

Examples
--------
The report of a model: a ROC curve with a confidence band, and coefficients as bars.

>>> from pairdp.drawing import Axis, Figure, Point, Series, Style, write_group, write_page
>>> curve = tuple(Point(x / 10, (x / 10) ** 0.3, (0.0, 1.0)) for x in range(11))
>>> model = Series("model", curve, Style(color=1, marker=None, band=True))
>>> roc = Figure("ROC", Axis("false positive rate"), Axis("true positive rate"), (model,))
>>> weights = {"age": 0.4, "glucose": 1.2}
>>> bars = tuple(Series(name, (Point(0, w, (w - 0.1, w + 0.1)),)) for name, w in weights.items())
>>> coefficients = Figure("Coefficients", Axis(""), Axis("coefficient"), bars, mark="bar")
>>> figures = [roc, coefficients]
>>> body = "".join(write_group(figure.title, [figure]) for figure in figures)
>>> page = write_page("A model", body, figures)
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
