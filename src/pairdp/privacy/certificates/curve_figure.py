"""The curve of ε and δ of a certificate, as a figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pairdp.drawing import Axis, Figure, Point, Series, Style

if TYPE_CHECKING:
    from pairdp.privacy.certificates.certificate import Certificate

_SHOWN = 1.25
_STEPS = 41


def curve_figure(certificate: Certificate, title: str = "ε and δ") -> Figure:
    """Return the figure of all pairs of ε and δ that hold, with the claimed pair.

    Raises
    ------
    ValueError
        If nothing is claimed, or nothing holds.
    """
    budget = certificate.budget
    if budget is None:
        raise ValueError("a certificate without a claim has no curve: nothing holds")
    if budget.is_pure:
        grid = np.linspace(0.0, _SHOWN * budget.epsilon, _STEPS)
        pairs = [(float(epsilon), certificate.delta(float(epsilon))) for epsilon in grid]
    else:
        found = certificate.curve()
        pairs = sorted(zip(found.epsilon.tolist(), found.delta.tolist(), strict=True))
    smallest: dict[float, float] = {}
    for epsilon, delta in pairs:
        if math.isfinite(epsilon):
            smallest[epsilon] = min(delta, smallest.get(epsilon, delta))
    if not smallest:
        raise ValueError("no ε holds at any δ")
    points = tuple(Point(epsilon, delta) for epsilon, delta in smallest.items())
    series = [Series("what the noise gives", points, Style(color=1, marker=None))]
    claim = Point(budget.epsilon, budget.delta)
    series.append(Series("claim", (claim,), Style(color=0, marker=1)))
    scale = "linear" if budget.is_pure else "log"
    return Figure(
        title,
        Axis("ε", "ε", scale="linear", include=(0.0,)),
        Axis("δ", "δ", scale=scale),  # type: ignore[arg-type]
        tuple(series),
        description="The smallest δ that holds at each ε, and the claimed pair.",
    )
