"""Averages over records, one by one and with exact sums."""

from __future__ import annotations

import math

import numpy as np

from pairdp.losses import PointwiseLoss


def average_value(loss: PointwiseLoss, w: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    values = [float(loss.value(w, x[i : i + 1], y[i : i + 1])[0]) for i in range(len(y))]
    return math.fsum(values) / len(y)


def average_gradient(
    loss: PointwiseLoss, w: np.ndarray, x: np.ndarray, y: np.ndarray
) -> np.ndarray:
    rows = [loss.gradient(w, x[i : i + 1], y[i : i + 1])[0] for i in range(len(y))]
    return np.array([math.fsum(column) for column in zip(*rows, strict=True)]) / len(y)
