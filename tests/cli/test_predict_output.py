"""Predictions are written as Python's csv module writes them."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairdp._coded_cells import DistinctCells
from pairdp.cli.predict_output import Output

TEXTS = np.array(["a", 'say "x"', "b,c", None, "d\ne", "ä", " f ", "\r", 1, 1.0, True], object)
SCORES = np.array([0.5, -1e-7, 1e22, 3.0, np.pi, 1e16, 123456789.125, -0.0, 5e-324, 2.0, 1 / 3])
LABELS = np.array(["no", "yes, sir"])[np.arange(len(SCORES)) % 2]
NULL = np.arange(len(SCORES)) % 4 == 3


def outputs() -> dict[str, Output]:
    codes = np.arange(len(TEXTS))[::-1]
    return {
        "scores": Output([], [SCORES], NULL),
        "labels": Output([], [SCORES, LABELS], NULL),
        "numbers": Output([], [SCORES, np.arange(len(SCORES)) % 2], NULL),
        "booleans": Output([], [SCORES, SCORES > 0], ~NULL),
        "coded labels": Output([], [SCORES, DistinctCells(codes % 2, TEXTS[:2])], NULL),
        "kept": Output([DistinctCells(codes, TEXTS), TEXTS], [SCORES, LABELS], NULL),
        "only kept": Output([TEXTS], [], NULL),
        "dates": Output([np.array(["2024-02-29"] * len(SCORES), "M8[D]")], [SCORES], NULL),
    }


@pytest.mark.parametrize("name", outputs())
def test_lines_are_those_of_the_csv_module(name: str) -> None:
    output = outputs()[name]
    expected = io.StringIO(newline="")
    rows: list[Any] = list(output.rows())
    csv.writer(expected, lineterminator="\n").writerows(rows)
    assert output.text() == expected.getvalue()
    assert output.lines() == expected.getvalue().encode()
    assert [row[-1] is None for row in rows] == NULL.tolist() or name in ("booleans", "only kept")


@given(
    st.lists(
        st.floats() | st.integers(-(2**60), 2**60).map(float) | st.floats(1e-5, 1e-3),
        min_size=1,
        max_size=50,
    )
)
def test_pyarrow_writes_numbers_as_python_does(values: list[float]) -> None:
    pytest.importorskip("pyarrow")
    numbers = np.array(values)
    output = Output([], [numbers, numbers > 0], np.zeros(len(numbers), dtype=np.bool_))
    expected = [f"{number!r},{number > 0}" for number in numbers.tolist()]
    assert output.lines().decode().splitlines() == expected
