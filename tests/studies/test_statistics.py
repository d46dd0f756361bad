"""Confidence intervals, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pairdp.studies.statistics import interval


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
@settings(derandomize=True, deadline=None)
def test_as_scipy_has_it(runs: list[float]) -> None:
    found = interval(runs)
    error = stats.sem(runs)
    low, high = stats.t.interval(0.95, len(runs) - 1, loc=np.mean(runs), scale=max(error, 1e-300))
    np.testing.assert_allclose(found, (np.mean(runs), low, high), rtol=1e-9, atol=1e-6)


def test_the_interval_covers_as_often_as_it_says() -> None:
    # 20 000 intervals: the share that covers has standard deviation 0.0015, and 5.5 of these
    # are 0.0085; a false alarm has probability below 1e-6.
    rng = np.random.default_rng(0)
    covered = [low <= 0 <= high for _, low, high in map(interval, rng.normal(size=(20_000, 5)))]
    assert abs(np.mean(covered) - 0.95) < 0.0085


def test_equal_runs_have_no_width_and_one_run_no_interval() -> None:
    assert interval([0.5, 0.5, 0.5]) == (0.5, 0.5, 0.5)
    with pytest.raises(ValueError, match="at least 2 runs"):
        interval([0.5])
