"""Bytes of a page and of an SVG file with a ROC curve, and of plotly's script if installed."""

from __future__ import annotations

import importlib
from contextlib import suppress

import numpy as np

from pairdp.drawing import Axis, Figure, Point, Series, Style, write_group, write_page, write_svg


def main() -> None:
    """Print the sizes."""
    rates = np.linspace(0, 1, 21).tolist()
    curve = tuple(
        Point(x, x**0.3, (max(0.0, x**0.3 - 0.05), min(1.0, x**0.3 + 0.05))) for x in rates
    )
    model = Series("model", curve, Style(1, None, band=True))
    roc = Figure("ROC", Axis("false positive rate"), Axis("true positive rate"), (model,))
    texts = {
        "script and style of a page": write_page("", ""),
        "page with a ROC curve": write_page("A model", write_group("ROC", [roc]), [roc]),
        "SVG file of the same curve": write_svg(roc),
    }
    with suppress(ImportError):
        texts["plotly's script"] = importlib.import_module("plotly.offline").get_plotlyjs()
    print("Sizes of drawings, in bytes")
    for name, text in texts.items():
        print(f"  {name:28s} {len(text.encode()):10,d}")


if __name__ == "__main__":
    main()
