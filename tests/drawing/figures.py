"""Figures such as reports on models have. None of their numbers was measured."""

from __future__ import annotations

import numpy as np

from pairdp.drawing import Axis, Figure, Point, Series, Style

RATES = np.linspace(0, 1, 21)


def roc() -> Figure:
    """Return a curve with a band, and the diagonal for reference."""
    private = tuple(
        Point(float(x), float(y), (max(0.0, float(y) - 0.05), min(1.0, float(y) + 0.05)))
        for x, y in zip(RATES, RATES**0.3, strict=True)
    )
    diagonal = (Point(0.0, 0.0), Point(1.0, 1.0))
    return Figure(
        "ROC",
        Axis("false positive rate", "FPR", "linear", include=(0.0, 1.0)),
        Axis("true positive rate", scale="linear", include=(0.0, 1.0)),
        (
            Series("model", private, Style(1, None, band=True)),
            Series("chance", diagonal, Style(7, None, "thin")),
        ),
    )


def privacy_curve() -> Figure:
    """Return δ over ε, on a logarithmic axis."""
    points = tuple(Point(float(e), float(10 ** (-2 - e))) for e in np.linspace(0.1, 6, 40))
    return Figure(
        "Privacy curve",
        Axis("ε", scale="linear"),
        Axis("δ", scale="log"),
        (Series("Gaussian", points, Style(2, None)),),
    )


def coefficients(*values: float) -> Figure:
    """Return horizontal bars with error bars."""
    return Figure(
        "Coefficients",
        Axis(""),
        Axis("coefficient"),
        tuple(
            Series(f"feature {i}", (Point(0, v, (v - 0.1, v + 0.2)),), Style(3))
            for i, v in enumerate(values)
        ),
        mark="bar",
    )
