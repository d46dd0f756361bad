"""Sums over all positive-negative pairs of scores, in extended precision and one by one."""

from __future__ import annotations

import numpy as np

from pairdp.losses import HingeRanking, LogisticRanking, RankingLoss

Long = np.longdouble


def _slope(loss: RankingLoss, u: np.ndarray) -> np.ndarray:
    if isinstance(loss, LogisticRanking):
        return -np.exp(-np.logaddexp(Long(0), u))
    if isinstance(loss, HingeRanking) and loss.width:
        return -np.clip((1 - u) / Long(loss.width), 0, 1)
    return loss.slope(u)


def slopes(loss: RankingLoss, u: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Return Σ φ'(u₊ - u₋) over the partners of each record."""
    is_positive = positive == 1
    apart = u[is_positive].astype(Long)[:, None] - u[~is_positive].astype(Long)[None, :]
    table = _slope(loss, apart)
    sums = np.zeros(u.size, dtype=Long)
    sums[is_positive] = table.sum(axis=1)
    sums[~is_positive] = table.sum(axis=0)
    return sums


def total(loss: RankingLoss, u: np.ndarray, positive: np.ndarray) -> Long:
    """Return Σ φ(u₊ - u₋) over all positive-negative pairs."""
    is_positive = positive == 1
    apart = u[is_positive].astype(Long)[:, None] - u[~is_positive].astype(Long)[None, :]
    if isinstance(loss, LogisticRanking):
        return np.sum(np.logaddexp(Long(0), -apart))
    return np.sum(loss.phi(apart))
