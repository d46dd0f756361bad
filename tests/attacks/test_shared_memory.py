"""Records must not share memory with what a caller passed.

Tried: keep an array that `Records` was made from and change it afterwards. Labels that were
already floats were taken without a copy, so that the records changed after they were checked, and
the caller's own array became read-only. A reader that fills one buffer again for each batch
changed the labels of the batches before.

What must hold: the records stay as they were made, whatever happens to the arrays they were made
from; and those arrays stay as they were, and writable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from pairdp.algorithms import MomentRelease
from pairdp.algorithms.class_moments import ClassMoments
from pairdp.clipping import clip_rows
from pairdp.constraints import L2Ball
from pairdp.estimators import PrivateRanker
from pairdp.losses import LeastSquaresRanking
from pairdp.problem import Problem
from pairdp.records import Records

Array = NDArray[Any]
_N, _D = 6, 3


def _rows() -> Array:
    return np.random.default_rng(1).uniform(-0.5, 0.5, (_N, _D))


def _signs() -> Array:
    return np.array([1.0, -1.0, 1.0, -1.0, 1.0, 1.0])


def _arrays(form: str, folder: Path) -> tuple[Array, Array]:
    x, y = _rows(), _signs()
    if form == "Fortran order":
        return np.asfortranarray(x), y
    if form == "every other":
        wide, long = np.zeros((2 * _N, _D)), np.zeros(2 * _N)
        wide[::2], long[::2] = x, y
        return wide[::2], long[::2]
    if form == "memory map":
        mapped = [
            np.memmap(folder / name, dtype=np.float64, mode="w+", shape=values.shape)
            for name, values in (("x", x), ("y", y))
        ]
        mapped[0][:], mapped[1][:] = x, y
        return mapped[0], mapped[1]
    return x, y


_FORMS = ("C order", "Fortran order", "every other", "memory map")
_MAKERS: dict[str, Callable[[Any, Any], Records]] = {
    "binary": lambda x, y: Records(x, y),
    "classes": lambda x, y: Records(x, y, binary=False),
    "targets": lambda x, y: Records(x, y, target_bound=2.0),
    "one batch": lambda x, y: Records.gather([(x, y)], _N, _D),
    "two batches": lambda x, y: Records.gather([(x[:2], y[:2]), (x[2:], y[2:])], _N, _D),
    "a batch of classes": lambda x, y: Records.gather([(x, y)], _N, _D, binary=False),
    "a batch of targets": lambda x, y: Records.gather([(x, y)], _N, _D, target_bound=2.0),
    "a problem": lambda x, y: Problem(LeastSquaresRanking(), L2Ball(1.0)).records(x, y),
    "a part": lambda x, y: Records(x, y).part(slice(1, 5)),
    "some rows": lambda x, y: Records(x, y).rows(np.array([4, 0])),
}


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("maker", _MAKERS)
def test_records_do_not_change_with_the_arrays_they_were_made_from(
    maker: str, form: str, tmp_path: Path
) -> None:
    x, y = _arrays(form, tmp_path)
    records = _MAKERS[maker](x, y)
    before = records.x.copy(), records.y.copy()
    assert x.flags.writeable
    assert y.flags.writeable
    np.testing.assert_array_equal(x, _rows())
    np.testing.assert_array_equal(y, _signs())
    x[:], y[:] = 7.0, -y
    np.testing.assert_array_equal(records.x, before[0])
    np.testing.assert_array_equal(records.y, before[1])
    assert not records.x.flags.writeable
    assert not records.y.flags.writeable


def test_records_do_not_change_with_a_data_frame() -> None:
    x, y = pd.DataFrame(_rows()), pd.Series(_signs())
    records = Records(x, y)
    before = records.x.copy(), records.y.copy()
    x.iloc[:, :], y.iloc[:] = 7.0, -_signs()
    np.testing.assert_array_equal(records.x, before[0])
    np.testing.assert_array_equal(records.y, before[1])


def test_arrays_that_are_read_only_stay_so_and_are_accepted() -> None:
    x, y = _rows(), _signs()
    x.setflags(write=False)
    y.setflags(write=False)
    Records(x, y)
    assert not x.flags.writeable
    assert not y.flags.writeable


def test_records_beside_others_do_not_lock_the_memory_they_look_at() -> None:
    x, y = _rows(), _signs()
    seen = Records(x, y).beside(x, y)
    assert x.flags.writeable
    assert y.flags.writeable
    assert not seen.x.flags.writeable
    assert not seen.y.flags.writeable


def _with_one_buffer() -> Iterator[tuple[Array, Array]]:
    x, y = np.empty((2, _D)), np.empty(2)
    for start in range(0, _N, 2):
        x[:], y[:] = _rows()[start : start + 2], _signs()[start : start + 2]
        yield x, y


def test_a_reader_may_fill_one_buffer_again_and_again() -> None:
    found = Records.gather(_with_one_buffer(), _N, _D)
    np.testing.assert_array_equal(found.x, _rows())
    np.testing.assert_array_equal(found.y, _signs())
    problem = Problem(LeastSquaresRanking(), L2Ball(1.0))
    sums = MomentRelease().plan(problem, _N, _D).read(_with_one_buffer())
    assert isinstance(sums, ClassMoments)
    np.testing.assert_allclose(sums.signed, _signs() @ _rows(), rtol=1e-14)


def test_estimators_and_clip_rows_leave_the_callers_arrays_alone() -> None:
    x, y = 10 * _rows(), _signs()
    kept = x.copy(), y.copy()
    clipped = clip_rows(x, 1.0)
    assert not np.shares_memory(clipped, x)
    PrivateRanker(1.0, 1e-6, data_norm=1.0, random_state=0).fit(x, y)
    assert x.flags.writeable
    assert y.flags.writeable
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(y, kept[1])
