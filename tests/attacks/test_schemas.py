"""Attempts to make a schema read one record by another, or certify another preparation.

A table library decides the type of a column by all of its cells, so one word turns numbers into
text, and one gap turns integers into floats. A schema must read every other record the same way.
A schema in a file may change while a fit reads its records.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairdp import PrivateRanker, Schema
from pairdp.algorithms.schema_rows import schema_of
from pairdp.estimators.score_models import arrays_of
from tests.estimators.patients import SCHEMA, TARGET, changed, table

READ: dict[str, Any] = {
    "count": {"range": [0, 50], "missing": "indicator"},
    "code": {"categories": [1, 2, 3], "other": True},
    "mark": {"categories": ["1", "2", "x"], "other": True},
    "smoker": {"flag": None, "missing": "indicator"},
    "day": {"date": ["2020-01-01", "2021-01-01"], "missing": "indicator"},
}
CELLS = {"count": "7", "code": "2", "mark": "1", "smoker": "1", "day": "2020-06-01"}
ODD = ["", "word", "1.5", "1e400", "True", "2020-06-01 10:00:00+02:00", "99999999999999999999999"]


@pytest.mark.parametrize("column", CELLS)
@pytest.mark.parametrize("odd", ODD)
def test_a_cell_does_not_change_how_a_library_hands_over_the_others(column: str, odd: str) -> None:
    pandas = pytest.importorskip("pandas")
    schema = Schema.of(READ)

    def rows(cells: dict[str, str]) -> Any:
        lines = [",".join(CELLS), *[",".join(CELLS.values())] * 3, ",".join(cells.values())]
        frame = pandas.read_csv(io.StringIO("\n".join(lines)))
        return schema.encode(frame, 4, invalid="null")[:3]

    np.testing.assert_array_equal(rows({**CELLS, column: odd}), rows(CELLS))


def test_a_file_that_changes_while_records_are_read_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    columns = table(400)

    def batches() -> Iterator[Any]:
        for start in (0, 200):
            path.write_text(json.dumps({**TARGET, "age": [0, 1]}))
            yield {name: column[start : start + 200] for name, column in columns.items()}, None

    shared: dict[str, Any] = {"epsilon": 8.0, "random_state": 0}
    model = PrivateRanker(**shared, schema=path).fit_batches(batches(), 400)
    expected = PrivateRanker(**shared, schema=SCHEMA).fit(columns)
    assert model.schema_ == schema_of(model.certificate_) == Schema.of(SCHEMA)
    np.testing.assert_allclose(
        model.decision_function(columns), expected.decision_function(columns)
    )
    np.testing.assert_array_equal(model.predict(columns), expected.predict(columns))


@pytest.mark.parametrize("name", ["age", "systolic", "sex", "ward", "died"])
@pytest.mark.parametrize("cell", ["", "?", "1e9", None, 10**400])
def test_nothing_but_the_release_depends_on_a_record(name: str, cell: Any) -> None:
    columns = table(100)
    models = [
        PrivateRanker(100.0, schema=SCHEMA, invalid="null", random_state=0).fit(given)
        for given in (columns, changed(columns, name, 5, cell))
    ]
    released = {"plan_", "certificate_", "parameter_noise_", *arrays_of(models[0])}
    shown = [
        {key: repr(value) for key, value in vars(model).items() if key not in released}
        for model in models
    ]
    assert shown[0] == shown[1]
    assert models[0].certificate_ == models[1].certificate_
    assert set(vars(models[0])) == set(vars(models[1]))
