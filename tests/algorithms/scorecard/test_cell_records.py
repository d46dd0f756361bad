"""Cells that are read from batches, against those of records in one table."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from pairdp.algorithms import Plan, Scorecard
from pairdp.algorithms.scorecard.cell_records import CellRecords, coded_parts
from pairdp.algorithms.scorecard.cells import CategoryCells, NumberCells
from pairdp.clipping import _BLOCK
from pairdp.constraints import L2Ball
from pairdp.losses import LogisticRanking
from pairdp.privacy import Budget, NoiseSource, Unit
from pairdp.problem import Problem

N, D = 2 * _BLOCK + 5, 3
PROBLEM = Problem(LogisticRanking(), L2Ball(1.0))
COLUMNS = (NumberCells(0, -1.0, 1.0, missing=2), NumberCells(1, -0.5, 0.5), CategoryCells((2,)))


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, D))  # most rows are clipped
    x[:: N // 3, 2] = np.nan
    y = rng.choice([-1.0, 1.0], N)
    y[7] = np.nan
    return x, y


def plan(unit: Unit | None = None, **given: Any) -> Plan:
    return Scorecard(COLUMNS, **given).plan(PROBLEM, N, D, Budget(1.0, 1e-8), unit=unit)


@pytest.mark.parametrize("size", [700, _BLOCK, N])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, np.ndarray.tolist])
def test_cells_of_batches_are_those_of_the_records(size: int, form: Any) -> None:
    x, y = data()
    batches = [(form(x[i : i + size]), y[i : i + size]) for i in range(0, N, size)]
    found = plan().read(batches, invalid="null")
    assert isinstance(found, CellRecords)
    (part,) = found.parts().handles
    records = PROBLEM.records(x, y, invalid="null")
    (expected,) = coded_parts(records, COLUMNS).handles
    for one, other in zip(part.value, expected.value, strict=True):
        np.testing.assert_array_equal(one, other)
    assert part.value.null.sum() == 4
    fits = [plan().run(given, NoiseSource(0)) for given in (found, records)]
    np.testing.assert_array_equal(fits[0].parameters, fits[1].parameters)


def test_cells_do_not_change_with_the_buffer_of_a_reader() -> None:
    x, y = (np.nan_to_num(one) for one in data())
    y[y == 0] = 1
    row, label = np.empty((1000, D)), np.empty(1000)

    def batches() -> Any:
        for start in range(0, N - 1000, 1000):
            row[:], label[:] = x[start : start + 1000], y[start : start + 1000]
            yield row, label
        rest = N - N % 1000
        yield x[rest:], y[rest:]

    found = plan().read(batches())
    row[:], label[:] = 7.0, 0.0
    expected = plan().read([(x, y)])
    np.testing.assert_array_equal(found.coded.codes, expected.coded.codes)
    np.testing.assert_array_equal(found.coded.y, expected.coded.y)
    x[:] = 7.0
    np.testing.assert_array_equal(found.coded.codes, expected.coded.codes)


def test_records_beyond_the_limit_of_a_unit_are_null() -> None:
    x, y = (np.nan_to_num(one) for one in data())
    y[y == 0] = 1
    units = np.arange(N) // 4
    made = plan(unit=Unit("person", 3))
    found = made.read([(x[:10], y[:10], units[:10]), (x[10:], y[10:], units[10:])])
    np.testing.assert_array_equal(found.coded.null, np.arange(N) % 4 == 3)
    assert found.max_records == 3
    made.run(found)
    with pytest.raises(ValueError, match="without groups"):
        made.read([(x, y)])
    with pytest.raises(ValueError, match="protects units"):
        made.run(plan().read([(x, y)]))


def test_wrong_batches_are_refused() -> None:
    x, y = (np.nan_to_num(one) for one in data())
    y[y == 0] = 1
    for wrong in ([(x[:-1], y[:-1])], [(x, y), (x[:1], y[:1])], [(x, y[:-1])]):
        with pytest.raises(ValueError, match="records"):
            plan().read(wrong)
    with pytest.raises(ValueError, match="2 features, not 3"):
        plan().read([(x[:, :2], y)])
    with pytest.raises(ValueError, match="NaN or infinity"):
        plan().read([data()])


def test_cells_are_for_the_same_columns_only() -> None:
    x, y = data()
    found = plan().read([(x, y)], invalid="null")
    plan(smoothing=1.0).run(found)
    others = Scorecard(COLUMNS[:2]).plan(PROBLEM, N, D, Budget(1.0, 1e-8))
    with pytest.raises(TypeError, match=r"problem\.records"):
        others.run(found)


def test_cells_are_frozen_and_can_be_used_again() -> None:
    found = plan().read([data()], invalid="null")
    assert not any(array.flags.writeable for array in found.coded[:3])
    fits = [plan().run(found, NoiseSource(0)) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].parameters, fits[1].parameters)


def test_cells_are_not_pickled() -> None:
    found = plan().read([data()], invalid="null")
    assert repr(found) == f"CellRecords(n={N}, columns=3)"
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(found)
