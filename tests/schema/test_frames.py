"""DataFrames of pandas, polars and pyarrow are encoded as their cells are, one by one."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pairdp.schema import Schema, columns_of

SCHEMA = Schema.of(
    {
        "age": {"range": [0, 100], "missing": "indicator", "missing_values": [-9]},
        "ward": {"categories": ["ICU", "Medicine"], "other": True, "missing": "indicator"},
        "code": {"categories": [1, 2, 3], "missing": 1, "other": 2},
        "day": {"date": ["2020-01-01", "2024-12-31"], "parts": ["month"], "missing": "indicator"},
        "smoker": {"flag": None, "missing": "indicator"},
        "died": {"label": [0, 1], "missing": "null"},
    }
)
CELLS: dict[str, list[Any]] = {
    "age": [1.5, None, -9.0, 250.0, 7.0],
    "ward": ["ICU", " Medicine ", None, "", "x\0"],
    "code": [1, None, 3, 2, 9],
    "day": [dt.date(2021, 3, 4), None, dt.date(1999, 1, 1), dt.date(2024, 2, 29), None],
    "smoker": [True, None, False, True, True],
    "died": [0, 1, None, 1, 0],
}
ARROW = pa.table(CELLS)
CATEGORIES = ARROW.set_column(1, "ward", ARROW["ward"].dictionary_encode())
FRAMES: dict[str, Any] = {
    "pyarrow": ARROW,
    "pyarrow in chunks": pa.concat_tables([ARROW.slice(0, 2), ARROW.slice(2)]),
    "pyarrow, categories": pa.concat_tables([CATEGORIES.slice(0, 2), CATEGORIES.slice(2)]),
    "polars": pl.DataFrame(CELLS),
    "polars, categories": pl.DataFrame(CELLS).cast({"ward": pl.Categorical}),
    "pandas": pd.DataFrame(CELLS),
    "pandas, own types": pd.DataFrame(CELLS).convert_dtypes(),
    "pandas, categories": pd.DataFrame(CELLS).astype({"ward": "category", "code": "category"}),
    "pandas of pyarrow": ARROW.to_pandas(types_mapper=pd.ArrowDtype),
    "no pyarrow": None,
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_is_encoded_as_its_cells(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = FRAMES[name]
    if name == "no pyarrow":
        monkeypatch.setattr("pairdp.schema.frames.has_pyarrow", lambda: False)
        frame = FRAMES["polars, categories"]
    expected = SCHEMA.encode(CELLS, 5)
    columns, n = columns_of(frame, [*SCHEMA.features, "died"])
    assert n == 5
    np.testing.assert_array_equal(SCHEMA.encode(columns, n), expected)
    np.testing.assert_array_equal(
        SCHEMA.encode_label(columns["died"]), SCHEMA.encode_label(CELLS["died"])
    )
    assert SCHEMA.outside(columns) == SCHEMA.outside(CELLS)
    for row in range(5):  # a record alone is read as among others
        alone = {key: column[row : row + 1] for key, column in columns.items()}
        np.testing.assert_array_equal(SCHEMA.encode(alone, 1), expected[row : row + 1])
