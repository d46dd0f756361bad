"""Rows are clipped in blocks as they are one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pairdp.clipping import clip_rows

NUMBERS = st.floats(width=64) | st.floats(-3, 3) | st.sampled_from([1e160, -1e300, np.inf, -0.0])


def _one(row: Any, data_norm: float) -> np.ndarray:
    """Return a clipped row, all NaN if it is not finite."""
    if not np.isfinite(row).all():
        return np.full(len(row), np.nan)
    largest = max(np.abs(row).max(), 1.0)
    norm = largest * np.sqrt(np.sum((row / largest) ** 2))
    return np.array(row) if norm <= data_norm else row / largest * (data_norm / (norm / largest))


@given(arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(1, 4)), elements=NUMBERS))
def test_rows_are_clipped_as_one_by_one(x: np.ndarray) -> None:
    before = x.copy()
    found = clip_rows(x, 1.5, "null")
    np.testing.assert_allclose(found, [_one(row, 1.5) for row in x], rtol=1e-14, atol=1e-300)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(found, clip_rows(x.tolist(), 1.5, "null"))
    np.testing.assert_array_equal(found, clip_rows(np.asfortranarray(x), 1.5, "null"))
    np.testing.assert_array_equal(found, np.vstack([clip_rows(x[i : i + 1], 1.5, "null")
                                                    for i in range(len(x))]))  # fmt: skip
    if np.isfinite(x).all():
        np.testing.assert_array_equal(found, clip_rows(x, 1.5))
    else:
        with pytest.raises(ValueError, match="contains NaN or infinity"):
            clip_rows(x, 1.5)


@pytest.mark.parametrize("invalid", ["error", "null"])
@pytest.mark.parametrize("dtype", [np.int8, np.bool_, np.float32, np.uint64])
def test_numbers_of_any_type_are_converted(dtype: Any, invalid: Any) -> None:
    x = np.arange(20_000 * 2).reshape(-1, 2).astype(dtype)
    rows = clip_rows(x, 2.0, invalid)
    assert rows.dtype == np.float64
    np.testing.assert_array_equal(rows, clip_rows(x.astype(np.float64), 2.0, invalid))
    with pytest.raises(ValueError, match="x has 2 features, not 3"):
        clip_rows(x, 2.0, invalid, 3)
