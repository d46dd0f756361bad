r"""The bound for class means of the scores of a released model.

A null record adds (0, 0, 0). A record that becomes null changes the sums by |(ys, s, yS)| ≤ √3·S,
which is less than 2√2·S.
"""

from __future__ import annotations

import math

import numpy as np

from pairdp._checks import integer, positive
from pairdp.privacy.bounds.sensitivity import SUMMING, Bound, register_bound


def _score_means(largest: float, n: int) -> float:
    bound = positive("largest", largest)
    return 2 * math.sqrt(2) * bound * (1 / integer("n", n, at_least=2) + SUMMING)


def _score_means_by_corners(largest: float, n: int) -> float:
    # The norm is convex in both scores, so an extreme point of the square is worst.
    values = [
        np.array([sign * score, score, sign * largest])
        for sign in (-1, 1)
        for score in (-largest, largest)
    ]
    change = max(float(np.linalg.norm(a - b)) for a in values for b in values)
    return change / n + 2 * SUMMING * math.sqrt(2) * largest


register_bound(
    Bound(
        "means of scores",
        "Σ(ys, s, yS)/n, for labels y = ±1 and scores s with |s| at most S, changes by at most "
        "2√2·S/n: by √2·|s - s'| if the label stays, and by the root of "
        "(s + s')² + (s - s')² + 4S² if it flips",
        _score_means,
        _score_means_by_corners,
    )
)
