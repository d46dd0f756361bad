"""Tables that other libraries export by the Arrow PyCapsule interface, without copies."""

from __future__ import annotations

from typing import Any

from pairdp._coded_cells import has_pyarrow

_STREAM, _ARRAY = "__arrow_c_stream__", "__arrow_c_array__"
_READ_AS_THEY_ARE = ("pandas", "polars", "numpy", "scipy")


def as_table(table: Any) -> Any:
    """Return a table that is imported from Arrow; other data is returned as it is.

    Everything that has ``__arrow_c_stream__`` is a table, such as a DataFrame of narwhals, a
    relation of DuckDB, or a stream of batches, which can be read once. DataFrames of pandas and
    polars and tables of pyarrow are returned as they are.

    Raises
    ------
    ValueError
        If a table cannot be imported; the message quotes none of its values.
    """
    if type(table).__name__ == "LazyFrame":
        raise ValueError("a LazyFrame has no records yet: pass  frame.collect()")
    if not _exports(table):
        return table
    if not has_pyarrow():
        raise ValueError(
            f"a table of type {type(table).__name__} is read by pyarrow: install it with  "
            "pip install 'pairdp[tables]'"
        )
    import pyarrow as pa

    try:
        if hasattr(table, _STREAM):
            return pa.RecordBatchReader.from_stream(table).read_all()
        return pa.Table.from_batches([pa.record_batch(table)])
    except Exception:  # of any library, whose messages may quote cells
        raise ValueError(
            f"the table of type {type(table).__name__} cannot be read: it must be a table with "
            "named columns, and a stream can be read only once"
        ) from None


def as_labels(labels: Any) -> Any:
    """Return labels, imported from Arrow if they are only exported by it."""
    if not _exports(labels) or hasattr(labels, "__array__") or not has_pyarrow():
        return labels
    import pyarrow as pa

    try:
        if hasattr(labels, _STREAM):
            return pa.chunked_array(labels)
        return pa.array(labels)
    except Exception:
        raise ValueError(
            f"y of type {type(labels).__name__} cannot be read: it must have one label per record"
        ) from None


def _exports(table: Any) -> bool:
    """Return whether a table is read by importing it."""
    if not hasattr(table, _STREAM) and not hasattr(table, _ARRAY):
        return False
    roots = [base.__module__.partition(".")[0] for base in type(table).__mro__]
    if "pyarrow" in roots:
        return type(table).__name__ in ("RecordBatch", "RecordBatchReader", "StructArray")
    return not any(root in _READ_AS_THEY_ARE for root in roots)
