"""Columns by distinct cells, and batches of one size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pairdp._coded_cells import (
    Column,
    DistinctCells,
    MixedCells,
    arrow_texts,
    arrow_values,
    distinct_cells,
    joined,
)
from pairdp.tables.base import Cells
from pairdp.tables.rebatching import cells_of_size

WORDS = DistinctCells(np.array([0, 1, 1, 2]), np.array(["a", "b", None], dtype=object))
MIXED = MixedCells(
    np.array([1.0, np.nan, np.nan, 4.0]),
    np.array([2]),
    DistinctCells(np.array([0]), np.array(["?"], dtype=object)),
)
COLUMNS: dict[str, Column] = {"words": WORDS, "mixed": MIXED, "numbers": np.arange(4.0)}


def texts(column: Column) -> list[str]:
    return list(map(str, column.tolist()))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_indexed_and_joined_as_an_array(name: str) -> None:
    column = COLUMNS[name]
    whole = np.array(texts(column), dtype=object)
    assert len(column) == 4
    assert column.shape == (4,)
    for which in (slice(1, 3), np.array([True, False, True, True]), np.array([3, 2, 2])):
        assert texts(column[which]) == whole[which].tolist()
    parts = [column[:1], column[1:2], column[2:2], column[2:]]
    assert texts(joined(parts)) == whole.tolist()


def test_columns_of_all_forms_are_joined() -> None:
    all_forms = [MIXED, np.array([7.0]), WORDS, np.array([8.0])]
    expected = [text for part in all_forms for text in texts(part)]
    assert texts(joined(all_forms)) == expected
    assert isinstance(joined([MIXED, np.array([7.0])]), MixedCells)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 12, 100])
def test_batches_have_one_size_whatever_blocks_they_come_in(size: int) -> None:
    bad = np.array([False, True, False, False])
    blocks = [Cells(COLUMNS, bad), Cells({n: c[:1] for n, c in COLUMNS.items()}, bad[:1])] * 2
    found = list(cells_of_size(iter(blocks), size))
    assert [some.rows for some in found[:-1]] == [size] * (len(found) - 1)
    assert sum(some.rows for some in found) == 10
    for name, column in COLUMNS.items():
        expected = (texts(column) + texts(column[:1])) * 2
        assert [text for some in found for text in texts(some.columns[name])] == expected
    assert np.concatenate([some.unreadable for some in found]).tolist() == [*bad, False] * 2


@pytest.mark.parametrize(
    "values",
    [
        np.arange(9.0) / 3,
        np.arange(18.0)[::2],
        np.arange(5, dtype=np.int8),
        np.arange(11) % 3 == 0,
        np.empty(0),
        np.empty(0, dtype=np.bool_),
    ],
)
def test_arrays_of_pyarrow_have_the_same_values(values: np.ndarray) -> None:
    pa = pytest.importorskip("pyarrow")
    assert arrow_values(values).equals(pa.array(values))


@pytest.mark.parametrize("given", [[], [""], ["a", "", "ä\n", "x" * 70_000]])
def test_texts_of_pyarrow_are_the_same(given: list[str]) -> None:
    pa = pytest.importorskip("pyarrow")
    assert arrow_texts(given).equals(pa.array(given, pa.string()))


def test_a_compact_column_has_only_cells_that_occur() -> None:
    column = WORDS[np.array([3, 1, 3])]
    found = column.compact()
    assert texts(found) == texts(column)
    assert len(found.distinct) == 2


def test_a_dictionary_is_not_read_beyond_the_cells_of_a_column() -> None:
    pa = pytest.importorskip("pyarrow")
    whole = pa.array([str(i) for i in range(100)]).dictionary_encode()
    read: list[int] = []

    def values(column: Any) -> np.ndarray:
        read.append(len(column))
        return np.array(column.to_pylist(), dtype=object)

    assert texts(distinct_cells(whole.slice(90, 3), values)) == ["90", "91", "92"]
    assert read == [3]
