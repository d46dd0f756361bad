"""The sum over all pairs of a positive and a negative record that the AUC is made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class PairSum(NamedTuple):
    """P and Q, the numbers of positive and negative records, and 2S, all exact."""

    positives: int
    negatives: int
    doubled_sum: int


def pair_sum(scores: Array, signs: Array) -> PairSum:
    """Return P, Q and 2S, where S is the sum of ½, 0 or -½ over pairs, by the order of scores.

    Parameters
    ----------
    scores : array of shape (n,)
        The scores; NaN makes a null record.
    signs : array of shape (n,)
        1 for positive records, -1 for negative ones; anything else makes a null record.

    Examples
    --------
    >>> pair_sum(np.array([0.1, 0.2, 0.3, np.nan]), np.array([-1.0, 1.0, -1.0, 1.0]))
    PairSum(positives=1, negatives=2, doubled_sum=0)
    """
    known = ~np.isnan(scores)
    positive = scores[known & (signs == 1)]
    negative = np.sort(scores[known & (signs == -1)])
    below = np.searchsorted(negative, positive, side="left")
    up_to = np.searchsorted(negative, positive, side="right")
    # A pair counts 1 if the positive is above, and -1 if it is below: (below) - (Q - up_to).
    total = int(below.sum(dtype=np.int64)) + int(up_to.sum(dtype=np.int64))
    return PairSum(positive.size, negative.size, total - positive.size * negative.size)
