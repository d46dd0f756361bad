"""One complex number makes a whole pandas column complex: no other record may be read otherwise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pairdp._reading import read_codes, read_signs, read_table, read_targets
from pairdp.records import Records
from pairdp.schema import Schema, columns_of

HOSTILE = 1 + 2j


def test_rows_beside_a_complex_cell_are_read_as_before() -> None:
    numbers = pd.DataFrame({"a": [HOSTILE, 1, 2], "b": [0.5, 1.5, 2.5]})
    mixed = numbers.assign(b=["text", 1.5, 2.5])  # a table of objects
    for table in (numbers, mixed):
        found = read_table(table)
        np.testing.assert_array_equal(found, [[np.nan] * 2, [1, 1.5], [2, 2.5]])
        assert found.flags.c_contiguous  # products with rows round alike


@pytest.mark.parametrize("kind", [complex, object])
def test_labels_beside_a_complex_one_are_read_as_before(kind: type) -> None:
    labels = pd.Series([HOSTILE, -1, 1, 1], dtype=kind)
    assert read_targets(labels)[1:].tolist() == [-1, 1, 1]
    assert read_signs(labels)[1:].tolist() == read_signs(labels, [-1, 1])[1:].tolist() == [-1, 1, 1]
    codes = read_codes(labels)
    assert codes[2] == codes[3] != codes[1]
    assert codes[1] >= 0
    batch = (np.ones((4, 1)), pd.Series([HOSTILE, -1, 1, 1]))
    records = Records.gather([batch], 4, 1, binary=False, invalid="null")
    assert not records.null[1:].any()
    assert records.buckets(256)[1:].tolist() == [255, 1, 1]


def test_cells_of_a_schema_beside_a_complex_one_are_read_as_before() -> None:
    schema = Schema.of({"a": [0, 4], "b": [0, 1], "y": {"label": ["no", "yes"]}})
    table = pd.DataFrame({"a": [1, 2, 3], "b": [0.1, 0.2, 0.3], "y": ["no", "yes", "no"]})
    good = schema.encode(columns_of(table, schema.features)[0], 3)
    for name in ("a", "b"):
        hostile = table.assign(**{name: [HOSTILE, *table[name][1:]]})
        found = schema.encode(columns_of(hostile, schema.features)[0], 3, invalid="null")
        np.testing.assert_array_equal(found[1:], good[1:])
        assert np.isnan(found[0]).all() or np.linalg.norm(found[0]) <= 1 + 1e-12
