"""The shortest run of bins that holds all but a share of the values, from noisy counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Window(NamedTuple):
    """The first and the last bin of a window."""

    first: int
    last: int


def shortest_window(
    counts: Array, n: int, coverage: float, deviation: float, tolerance: float
) -> Window:
    r"""Return the shortest run of bins that noisy counts show to hold a share of the values.

    All counts add up to n, which is public, so each is corrected by the same amount first. The
    sum of w of m corrected counts then has noise of standard deviation
    :math:`s_w = σ\sqrt{w(m-w)/m}`, and a window of w bins is accepted if

    .. math:: \text{sum} ≥ \text{coverage}·(n - \text{missing}) - \text{tolerance}·s_w.

    Of the shortest windows that are accepted, the one with the largest sum is returned. This is a
    function of noisy counts and public numbers.

    Parameters
    ----------
    counts : array of shape (m,)
        Noisy counts; the last is that of missing values, which is in no window.
    n : int
        The sum of all counts without noise.
    coverage : float
        The share of the values that are not missing.
    deviation : float
        σ, the standard deviation of the noise on each count.
    tolerance : float
        How many standard deviations a sum may lack. A larger tolerance makes windows shorter.

    Examples
    --------
    >>> shortest_window(np.array([0.3, 6.1, 88.2, 4.9, -0.2, 1.0]), 100, 0.98, 0.5, 1.0)
    Window(first=1, last=3)
    """
    m = counts.size
    corrected = counts + (n - counts.sum()) / m
    present = n - min(max(corrected[-1], 0.0), float(n))
    sums = np.concatenate([[0.0], np.cumsum(corrected[:-1])])
    for width in range(1, m - 1):
        held = sums[width:] - sums[:-width]
        needed = coverage * present - tolerance * deviation * np.sqrt(width * (m - width) / m)
        best = int(np.argmax(held))
        if held[best] >= needed:
            return Window(best, best + width - 1)
    return Window(0, m - 2)
