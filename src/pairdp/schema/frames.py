"""Columns by name from tables in memory, without importing the library that made them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._arrow_tables import as_table
from pairdp._checks import did_you_mean
from pairdp._coded_cells import Column, DistinctCells, MixedCells, distinct_cells, has_pyarrow

Cells = Column
_INTEGERS = frozenset(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64))
_WITH_MISSING = ("Float32", "Float64", "Date")
_BY_ARROW = ("String", "Categorical", "Enum", "Boolean", "Int", "UInt", "Datetime")  # of polars
_NOT_IN_ARROW = ("Int128", "UInt128")


def table_columns(table: Any) -> list[str] | None:
    """Return the names of a table's columns, None if it has none.

    Parameters
    ----------
    table : DataFrame, Table, mapping, structured array or list of mappings
        Of pandas, polars, pyarrow or another library that exports Arrow (``__arrow_c_stream__``);
        or a mapping of names to columns. A list of records has no names: which keys a record has
        is as private as the record.
    """
    table = as_table(table)
    if _has_records(table):
        return []
    if isinstance(table, Mapping):
        return list(table)
    if isinstance(table, np.ndarray):
        return None if table.dtype.names is None else list(table.dtype.names)
    if isinstance(table, Sequence):
        return None
    names = getattr(table, "column_names", None)  # of pyarrow
    if names is None:
        names = getattr(table, "columns", None)  # of pandas and polars
    if names is None or not hasattr(names, "__iter__"):
        return None
    return list(names)


def columns_of(table: Any, names: Iterable[str]) -> tuple[dict[str, Cells], int]:
    """Return some columns of a table as arrays of cells, and the number of rows.

    Raises
    ------
    ValueError
        If the table has no named columns, lacks one of the names or has one of them twice.
    """
    table = as_table(table)
    known = table_columns(table)
    if known is None:
        raise ValueError(
            "a schema needs a table with named columns: a DataFrame of pandas or polars, a table "
            "of pyarrow or another that exports Arrow (__arrow_c_stream__), a dict of columns, a "
            "structured array or a list of dicts; got "
            f"{type(table).__name__}"
        )
    wanted = list(names)
    if _has_records(table):
        return {name: as_cells([_cell(row, name) for row in table]) for name in wanted}, len(table)
    if missing := [name for name in wanted if name not in known]:
        raise ValueError(
            f"the table lacks {_columns(missing)} of the schema; it has {_listed(known)}"
            + did_you_mean(missing[0], map(str, known))
        )
    if twice := [name for name in wanted if known.count(name) > 1]:
        raise ValueError(f"the table has {_columns(twice)} twice: rename one")
    found = {name: _cells(table, name) for name in wanted}
    n = _length(table, found)
    if any(column.ndim != 1 or len(column) != n for column in found.values()):
        raise ValueError("the columns of the table must have one cell for each record")
    return found, n


def row_slices(table: Any, names: Sequence[str], size: int) -> Iterator[Any]:
    """Yield the rows of a table in order, ``size`` at a time, as tables with some of its columns.

    What is computed from a few rows stays in the cache, and takes no memory for all rows.
    """
    table = as_table(table)
    _, n = columns_of(table, ())
    columns: dict[str, Cells] | None = None
    if not hasattr(table, "iloc") and not hasattr(table, "slice"):  # of no library for tables
        columns, n = columns_of(table, names)
    for start in range(0, n, size):
        rows = slice(start, min(start + size, n))
        if columns is not None:
            yield {name: column[rows] for name, column in columns.items()}
        elif hasattr(table, "iloc"):  # of pandas
            yield table.iloc[rows]
        else:  # of polars and pyarrow
            yield table.slice(start, rows.stop - start)


def _has_records(table: Any) -> bool:
    """Return whether a table is a list of records, each a mapping of names to cells."""
    return (
        isinstance(table, Sequence)
        and not isinstance(table, str | bytes)
        and any(isinstance(row, Mapping) for row in table)
    )


def _cell(row: Any, name: str) -> Any:
    """Return the cell of a record; one that it lacks is missing."""
    return row.get(name) if isinstance(row, Mapping) else None


def _length(table: Any, found: Mapping[str, Cells]) -> int:
    if found:
        return len(next(iter(found.values())))
    first = next(iter(table.values()), ()) if isinstance(table, Mapping) else table
    return int(getattr(first, "num_rows", None) or len(first))


def _cells(table: Any, name: str) -> Cells:
    if hasattr(table, "get_column"):  # of polars
        return as_cells(table.get_column(name))
    if hasattr(table, "column_names") and hasattr(table, "column"):  # of pyarrow
        return as_cells(table.column(name))
    return as_cells(table[name])


def as_cells(column: Any) -> Cells:
    """Return one column as an array; cells of several types are not converted to one."""
    if isinstance(column, DistinctCells | MixedCells):
        return column
    if isinstance(column, np.ndarray):
        if type(column) is np.ndarray or not isinstance(column, np.ma.MaskedArray):
            return _without_complex(column)
        cells = np.array(column.data, dtype=object)
        cells[np.ma.getmaskarray(column)] = None
        return cells
    if hasattr(column, "to_pylist"):  # of pyarrow
        return _of_arrow(column)
    if hasattr(column, "to_list") and hasattr(column, "null_count"):  # of polars
        return _of_polars(column)
    if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
        raise ValueError(f"a column must be a sequence of cells, got {type(column).__name__}")
    if hasattr(column, "dtype"):  # of pandas, whose integers would be floats if one is missing
        if isinstance(column.dtype, np.dtype):
            return _without_complex(np.asarray(column))
        return _of_extension(column)
    return _objects(column)


def _of_extension(column: Any) -> Cells:
    """Return a column of pandas that is not an array of numpy."""
    array = getattr(column, "array", column)
    if hasattr(array, "codes") and hasattr(array, "categories"):
        categories = np.asarray(array.categories, dtype=object)
        codes = np.asarray(array.codes)  # -1 for missing cells
        return DistinctCells(
            np.where(codes < 0, len(categories), codes), np.append(categories, [None])
        )
    if hasattr(array, "__arrow_array__") and has_pyarrow():
        arrow = array.__arrow_array__()
        if _is_comparable(str(arrow.type)) or str(arrow.type) in ("float", "double"):
            return _of_arrow(arrow)
    return np.asarray(column, dtype=object)


def _of_polars(column: Any) -> Cells:
    kind = str(column.dtype)
    if kind in _WITH_MISSING or (kind in _INTEGERS and column.null_count() == 0):
        numbers: NDArray[Any] = column.to_numpy()  # NaN and NaT for missing ones
        return numbers
    if kind.startswith(_BY_ARROW) and kind not in _NOT_IN_ARROW and has_pyarrow():
        return _of_arrow(column.to_arrow())
    return _objects(column.to_list())


def _without_complex(cells: NDArray[Any]) -> NDArray[Any]:
    """Return real numbers as floats where one complex number made all of them complex."""
    if cells.dtype.kind != "c":
        return cells
    found = cells.astype(object)
    real = cells.imag == 0
    found[real] = cells.real[real]
    return found


def _of_arrow(column: Any) -> Cells:
    kind = str(column.type)
    numbers = kind.startswith(("int", "uint", "halffloat"))
    # Times of nanoseconds are no datetimes of Python.
    if kind.startswith(("timestamp", "date", "float", "double")) or (
        numbers and not column.null_count
    ):
        chunks = getattr(column, "chunks", [column])
        found = [np.asarray(chunk) for chunk in chunks] or [np.empty(0)]
        return found[0] if len(found) == 1 else np.concatenate(found)
    if kind.startswith(("int", "uint")):
        return _integers_with_missing(column)
    if _is_comparable(kind):
        whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        return distinct_cells(whole, lambda values: _objects(values.to_pylist()))
    return _objects(column.to_pylist())


def _integers_with_missing(column: Any) -> MixedCells:
    """Return integers as they are; numpy has no missing ones, and they would become floats."""
    missing = np.flatnonzero(np.asarray(column.is_null()))
    others = DistinctCells(np.zeros(len(missing), dtype=np.intp), np.array([None], dtype=object))
    return MixedCells(np.asarray(column.fill_null(0)), missing, others)


def _is_comparable(kind: str) -> bool:
    """Return whether distinct values of an Arrow type are found quickly, and are not converted."""
    return kind.startswith(("string", "large_string", "dictionary<values=", "bool", "int", "uint"))


def _objects(cells: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(cells, object, len(cells))


def _columns(names: Sequence[str]) -> str:
    some = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
    return f"the column{'s' if len(names) > 1 else ''} {some}"


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names[:20])) + (", …" if len(names) > 20 else "")
