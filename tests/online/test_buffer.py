"""The buffer: the latest records, or a uniform sample of all that depends on nothing but counts."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp.online.buffer import PartnerBuffer
from pairdp.records import Records


def numbered(start: int, stop: int) -> Records:
    x = np.arange(start, stop, dtype=float)[:, None] / 1000
    return Records(x, np.where(np.arange(start, stop) % 2, 1.0, -1.0))


@pytest.mark.parametrize("size", [1, 2, 5, 19, 20])
@pytest.mark.parametrize("batch", [1, 3, 7])
def test_the_latest_are_kept(size: int, batch: int) -> None:
    buffer = PartnerBuffer(size, batch, 1)
    for start in range(0, 60, batch):
        stop = min(start + batch, 60)
        together = buffer.arrive(numbered(start, stop))
        expected = np.arange(max(0, start - size), stop) / 1000
        np.testing.assert_array_equal(together.x[:, 0], expected)
        buffer.keep()
        assert buffer.held == min(size, stop)


def contents(buffer: PartnerBuffer) -> list[int]:
    return np.rint(buffer.state()["buffer_x"][:, 0] * 1000).astype(int).tolist()


@pytest.mark.parametrize("batch", [1, 3])
def test_a_reservoir_is_a_uniform_sample_without_repetition(batch: int) -> None:
    size, n, runs = 4, 12, 3000
    counts = np.zeros(n)
    generator = np.random.default_rng(0)
    for _ in range(runs):
        buffer = PartnerBuffer(size, batch, 1, generator)
        for start in range(0, n, batch):
            buffer.arrive(numbered(start, start + batch))
            buffer.keep()
        held = contents(buffer)
        assert len(set(held)) == size
        counts[held] += 1
    # Each count is binomial with p = 1/3; 5.6 deviations are passed by one of 12 in 3e-7 of runs.
    spread = np.sqrt(runs * (1 / 3) * (2 / 3))
    assert np.all(np.abs(counts - runs / 3) < 5.6 * spread)


def test_choices_of_a_reservoir_do_not_depend_on_records() -> None:
    places = []
    for sign in (1, -1):
        buffer = PartnerBuffer(3, 1, 1, np.random.default_rng(1))
        for t in range(40):
            x = sign * np.array([[t / 100]])
            buffer.arrive(Records(x, [float(sign)]))
            buffer.keep()
        places.append(np.abs(buffer.state()["buffer_x"]))
    np.testing.assert_array_equal(*places)


def test_a_state_of_another_shape_is_refused() -> None:
    buffer = PartnerBuffer(3, 1, 2)
    with pytest.raises(ValueError, match="shape"):
        buffer.restore(
            {"buffer_x": np.zeros((4, 3)), "buffer_y": np.zeros(4), "buffer_seen": np.zeros(1)}
        )
