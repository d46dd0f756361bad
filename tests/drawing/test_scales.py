from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.drawing.scales import Scale, fit, grow_by_one_factor

FINITE = st.floats(-1e9, 1e9).map(lambda v: 0.0 if abs(v) < 1e-9 else v)


@given(st.lists(FINITE, min_size=1, max_size=8))
@settings(derandomize=True, deadline=None)
def test_every_value_and_every_tick_lies_inside_its_axis(values: list[float]) -> None:
    scale = fit(values, 10.0, 110.0)
    places = [scale(value) for value in values]
    assert all(10 <= place <= 110 for place in places)
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    assert all(np.diff(np.array(places)[np.argsort(ranks)]) >= 0)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 12
    assert ticks == sorted(set(ticks))
    slack = 1e-9 * (scale.high - scale.low)
    assert all(scale.low - slack <= tick <= scale.high + slack for tick in ticks)


def test_ticks_are_round() -> None:
    assert Scale(0.47, 0.86, 0, 1).ticks() == [0.5, 0.6, 0.7, 0.8]
    assert Scale(0, 100, 0, 1).ticks() == [0, 20, 40, 60, 80, 100]
    assert Scale(0.3, 70, 0, 1, log=True).ticks() == [0.5, 1, 2, 5, 10, 20, 50]
    assert Scale(1e-6, 10, 0, 1, log=True).ticks() == [1e-6, 1e-4, 1e-2, 1.0]


def test_ticks_at_the_values_keep_apart() -> None:
    scale = Scale(0, 10, 0, 100)
    assert scale.ticks_at([1, 2, 2.1, 9], 10) == [1, 2, 9]
    assert scale.ticks_at(list(np.linspace(0, 10, 40)), 10) == scale.ticks()


def test_sizes_that_differ_much_get_a_log_scale() -> None:
    assert fit([1, 100], 0, 1).log
    assert not fit([1, 5], 0, 1).log
    assert not fit([-1, 100], 0, 1).log
    assert not fit([1, 100], 0, 1, may_be_log=False).log


def test_sizes_that_double_get_a_log_scale() -> None:
    assert grow_by_one_factor([128, 256, 512])
    assert not grow_by_one_factor([0.5, 0.8, 1.0, 2.0])
    assert not grow_by_one_factor([1.0, 2.0])
    assert not grow_by_one_factor([0.0, 1.0, 2.0])
