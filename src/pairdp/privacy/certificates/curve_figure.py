"""The curve of ε and δ of a certificate, on a grid and as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp.drawing import Axis, Figure, Point, Series, Style

if TYPE_CHECKING:
    from pairdp.privacy.certificates.certificate import Certificate

_STEPS = 30  # up to the claimed ε
_BEYOND = 1.5
_SMALLEST = 1e-13


class CurveGrid(NamedTuple):
    """The smallest δ known to hold at each ε of a grid."""

    epsilon: NDArray[np.float64]
    delta: NDArray[np.float64]


def curve_grid(certificate: Certificate) -> CurveGrid:
    """Return δ for ε from 0 to beyond the claimed one, which is on the grid.

    Raises
    ------
    ValueError
        If nothing is claimed.
    """
    budget = certificate.budget
    if budget is None:
        raise ValueError("a certificate without a claim has no curve: nothing holds")
    steps = np.arange(round(_BEYOND * _STEPS) + 1)
    epsilons = budget.epsilon * (steps / _STEPS)
    deltas = [min(certificate.delta(float(epsilon)), 1.0) for epsilon in epsilons]
    return CurveGrid(epsilons, np.minimum.accumulate(deltas))


def curve_figure(
    certificate: Certificate, title: str = "ε and δ", grid: CurveGrid | None = None
) -> Figure:
    """Return the figure of all pairs of ε and δ that hold, with the claimed pair.

    Raises
    ------
    ValueError
        If nothing is claimed.
    """
    found = curve_grid(certificate) if grid is None else grid
    budget = certificate.budget
    is_log = budget is not None and not budget.is_pure
    pairs = zip(found.epsilon.tolist(), found.delta.tolist(), strict=True)
    points = [Point(e, d) for e, d in pairs if d >= _SMALLEST or not is_log]
    series = [Series("what the noise gives", tuple(points), Style(color=1, marker=None))]
    if budget is not None:
        claim = Point(budget.epsilon, budget.delta)
        series.append(Series("claim", (claim,), Style(color=0, marker=1)))
    return Figure(
        title,
        Axis("ε", "ε", scale="linear"),
        Axis("δ", "δ", scale="log" if is_log else "linear"),
        tuple(series),
        description="The smallest δ that holds at each ε, and the claimed pair.",
    )
