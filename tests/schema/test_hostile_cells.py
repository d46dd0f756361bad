"""Cells whose classes raise errors: they are unreadable, and affect no other cell."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import pytest

from pairdp.schema import Schema
from tests.schema.test_encoding import PATIENTS


def _refuse(*_: Any) -> NoReturn:
    raise RuntimeError("secret")


Anything: Any = type(
    "Anything", (), {f"__{name}__": _refuse for name in ("eq", "ne", "float", "str", "bool")}
)
Word: Any = type("Word", (str,), {"strip": _refuse, "lower": _refuse})
Day: Any = type("Day", (datetime.datetime,), {"__sub__": _refuse})
CELLS: dict[str, Any] = {
    "any object": Anything(),
    "text": Word("yes"),
    "empty text": Word(""),
    "time": Day(2023, 1, 1),
    "array": np.array([1, 2]),
    "bytes": b"12",
    "integer that is no float": 10**400,
    "decimal that is no float": Decimal("1E+999999"),
    "signalling NaN": Decimal("sNaN"),
    "list": ["F"],
    "time that is too early in UTC": "0001-01-01T00:00:00+14:00",
    "text that ends in NUL": "ICU\0",
}
ROW = {
    "patient_id": "P1", "age": "5", "sex": "F", "systolic": "120", "crp": "3", "ward": "ICU",
    "admitted": "2023-05-06", "smoker": "yes", "remarks": "", "died": "no",
}  # fmt: skip


@pytest.mark.parametrize("kind", CELLS)
def test_a_hostile_cell_raises_nothing_and_affects_no_other(kind: str) -> None:
    schema = Schema.of(PATIENTS)
    (good,) = schema.encode({name: [cell] for name, cell in ROW.items()}, 1)
    for column in ROW:
        table = {name: [cell, cell, cell] for name, cell in ROW.items()}
        table[column][1] = CELLS[kind]
        rows = schema.encode(table, 3, invalid="null")
        np.testing.assert_array_equal(rows[[0, 2]], [good, good])
        assert np.isnan(rows[1]).all() or np.linalg.norm(rows[1]) <= 1 + 1e-12
        labels = schema.encode_label(table["died"], invalid="null")
        assert labels[[0, 2]].tolist() == [-1.0, -1.0]
