"""A certified upper bound on the maximum of a function over a box, by branch and bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_MOST_BOXES = 4_000_000


def upper_bound(
    above: Callable[[Array, Array], Array],
    box: Sequence[tuple[float, float]],
    *,
    gap: float = 1e-3,
    start: int = 8,
) -> float:
    """Return an upper bound on the function.

    Parameters
    ----------
    above : callable
        ``above(low, high)`` bounds the function from above on each box; columns are boxes. On a box
        that is a single point it must equal the function.
    box : sequence of (low, high)
        The box over which the maximum is taken.
    gap : float
        Boxes are split until the bound is within this relative gap of an attained value, or until
        there are too many: the bound is then looser, but still valid.
    start : int
        Initial number of boxes along each side.
    """
    edges = [np.linspace(low, high, start + 1) for low, high in box]
    lows = np.stack([c.ravel() for c in np.meshgrid(*(e[:-1] for e in edges), indexing="ij")])
    highs = np.stack([c.ravel() for c in np.meshgrid(*(e[1:] for e in edges), indexing="ij")])
    best, settled = 0.0, 0.0
    while True:
        bounds = above(lows, highs)
        middle = (lows + highs) / 2
        best = max(best, float(above(middle, middle).max()), float(above(lows, lows).max()))
        enough = best * (1 + gap)
        if np.isnan(bounds).any():
            raise FloatingPointError("a bound is NaN: nothing is certified")
        open_ = bounds > enough
        settled = max(settled, float(bounds[~open_].max(initial=0.0)))
        if not open_.any():
            return settled
        if int(open_.sum()) * 2 ** len(box) > _MOST_BOXES:
            return float(bounds.max())
        lows, highs = lows[:, open_], highs[:, open_]
        for side in range(len(box)):
            cut = (lows[side] + highs[side]) / 2
            left_high, right_low = highs.copy(), lows.copy()
            left_high[side], right_low[side] = cut, cut
            lows = np.concatenate([lows, right_low], axis=1)
            highs = np.concatenate([left_high, highs], axis=1)
