"""Ways of bringing rows into the unit ball that a paper may have used: readings of its protocol.

A reading scales features, then rows. Xue 2021 and Huai 2020 say neither; eleven combinations were
tried, and the study of Xue 2021 measures all of them without noise (exhibit "Preparations").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Scaling = Callable[[Array], Array]


class Reading(NamedTuple):
    """How features are scaled, and then rows; missing values (NaN) are 0 in between."""

    features: Scaling
    rows: Scaling

    def __call__(self, x: Array) -> Array:
        """Return the rows in the unit ball."""
        scaled = self.features(x)
        return self.rows(np.where(np.isnan(scaled), 0.0, scaled))


def _raw(x: Array) -> Array:
    return x


def _centred(x: Array) -> Array:
    return np.asarray(x - np.nanmean(x, axis=0))


def _standardised(x: Array) -> Array:
    spread = np.nanstd(x, axis=0)
    return _centred(x) / np.where(spread > 0, spread, 1.0)


def _to_unit_interval(x: Array) -> Array:
    low, high = np.nanmin(x, axis=0), np.nanmax(x, axis=0)
    return np.asarray((x - low) / np.where(high > low, high - low, 1.0))


def _to_symmetric_interval(x: Array) -> Array:
    return 2 * _to_unit_interval(x) - 1


def _over_own_norm(x: Array) -> Array:
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(norms > 0, norms, 1.0))


def _over_largest_norm(x: Array) -> Array:
    return np.asarray(x / np.linalg.norm(x, axis=1).max())


def _over_root_d(x: Array) -> Array:
    """Return rows divided by √d, and by their norm if they are still longer than 1."""
    scaled = x / x.shape[1] ** 0.5
    return np.asarray(scaled / np.maximum(1.0, np.linalg.norm(scaled, axis=1, keepdims=True)))


RAW_ROWS: Final = "raw rows over their norms"
STANDARDISED_ROWS: Final = "standardised rows over their norms"
LARGEST_NORM: Final = "standardised rows over the largest norm"

READINGS: Final[dict[str, Reading]] = {
    RAW_ROWS: Reading(_raw, _over_own_norm),
    "raw rows over the largest norm": Reading(_raw, _over_largest_norm),
    "centred rows over their norms": Reading(_centred, _over_own_norm),
    "centred rows over the largest norm": Reading(_centred, _over_largest_norm),
    STANDARDISED_ROWS: Reading(_standardised, _over_own_norm),
    LARGEST_NORM: Reading(_standardised, _over_largest_norm),
    "standardised rows over √d": Reading(_standardised, _over_root_d),
    "features in [0, 1], rows over their norms": Reading(_to_unit_interval, _over_own_norm),
    "features in [0, 1], rows over √d": Reading(_to_unit_interval, _over_root_d),
    "features in [-1, 1], rows over their norms": Reading(_to_symmetric_interval, _over_own_norm),
    "features in [-1, 1], rows over √d": Reading(_to_symmetric_interval, _over_root_d),
}
"""All readings that were tried, by name. Only the first reads nothing but the record itself."""
