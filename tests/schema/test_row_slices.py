"""Tables are encoded a few rows at a time, with the results of the whole table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pairdp import PrivateMetric, PrivateRanker
from pairdp.estimators import schema_tables
from pairdp.schema import Schema, columns_of, row_slices

N = 50
SCHEMA = Schema.of(
    {
        "age": {"range": [0, 100], "missing": "indicator"},
        "ward": {"categories": ["ICU", "ER"], "other": True},
        "who": "id",
        "died": {"label": ["no", "yes"]},
    }
)


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(N) < 0.1, np.nan, rng.normal(50, 40, N)),
            "ward": rng.choice(["ICU", "ER", "?", None], N),
            "who": rng.integers(0, 30, N),
            "died": rng.choice(["no", "yes"], N),
        }
    )


def _tables() -> dict[str, Any]:
    frame = _frame()
    found: dict[str, Any] = {
        "pandas": frame.set_index(pd.Index(np.arange(N)[::-1] / 2)),
        "categorical": frame.astype({"ward": "category"}),
        "dict": {name: frame[name].tolist() for name in frame},
        "records": frame.to_dict("records"),
        "structured": frame.to_records(index=False),
    }
    for library in ("polars", "pyarrow"):
        try:
            module = __import__(library)
        except ImportError:
            continue
        of = module.from_pandas if library == "polars" else module.Table.from_pandas
        found[library] = of(frame)
    return found


TABLES = _tables()


@pytest.mark.parametrize("size", [1, 7, N, N + 1])
@pytest.mark.parametrize("name", TABLES)
def test_slices_have_the_cells_of_the_table(name: str, size: int) -> None:
    names = list(SCHEMA.features)
    whole, n = columns_of(TABLES[name], names)
    parts = [columns_of(rows, names) for rows in row_slices(TABLES[name], names, size)]
    assert n == N
    assert [length for _, length in parts] == [min(size, N - i) for i in range(0, N, size)]
    for column in names:
        cells = [str(cell) for some, _ in parts for cell in some[column].tolist()]
        assert cells == [str(cell) for cell in whole[column].tolist()]


@pytest.mark.filterwarnings("ignore::pairdp.NoSignalWarning")
@pytest.mark.parametrize("name", TABLES)
def test_rows_and_fits_are_those_of_the_whole_table(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def results() -> list[Any]:
        table = TABLES[name]
        models = [
            PrivateRanker(schema=SCHEMA, algorithm="moments", random_state=0),
            PrivateRanker(schema=SCHEMA, unit="who", max_records=1, random_state=0),
            PrivateMetric(schema=SCHEMA, random_state=0),
        ]
        fitted = [model.fit(table) for model in models]
        return [
            schema_tables.encoded_rows(SCHEMA, table, "null"),
            *(model.decision_function(table) for model in fitted[:2]),
            fitted[2].transform(table),
        ]

    whole = results()
    monkeypatch.setattr(schema_tables, "_ROWS", 8)
    for some, expected in zip(results(), whole, strict=True):
        np.testing.assert_allclose(some, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::pairdp.NoSignalWarning")
def test_labels_and_errors_name_rows_of_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_tables, "_ROWS", 8)
    frame = _frame()
    bare = Schema.of({"age": [0, 100]})
    ages = pd.DataFrame({"age": np.linspace(0, 100, N)})
    fitted = PrivateRanker(schema=bare, random_state=0).fit(ages, frame["died"])
    assert fitted.classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match=f"y has {N - 1} labels, and the table has {N} records"):
        PrivateRanker(schema=bare).fit(ages, frame["died"][1:])
    ages.loc[20, "age"] = None
    with pytest.raises(ValueError, match="row 20"):
        PrivateRanker(schema=bare).fit(ages, frame["died"])
