"""A metric from pairs of rows of a table that a schema describes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairdp import PrivatePairMetric, SchemaEncoder, load, verify
from pairdp.algorithms.schema_rows import schema_of
from pairdp.verification import verify_file
from tests.estimators.patients import SCHEMA, table

TABLE = table(400)
WITHOUT_LABEL: dict[str, Any] = {**SCHEMA, "died": "ignore"}
ROWS = SchemaEncoder(WITHOUT_LABEL).transform(TABLE)
rng = np.random.default_rng(0)
PAIRS = rng.integers(0, 400, (1000, 2))
OLD = np.array([int(age) > 50 for age in TABLE["age"]])
SIGNS = np.where(OLD[PAIRS[:, 0]] == OLD[PAIRS[:, 1]], 1, -1)


def metric(epsilon: float = 5.0, **given: Any) -> PrivatePairMetric:
    return PrivatePairMetric(epsilon, random_state=0, **given)


def test_rows_are_encoded_by_the_schema_which_the_certificate_covers(tmp_path: Path) -> None:
    model = metric(schema=WITHOUT_LABEL).fit(PAIRS, SIGNS, preprocessor=TABLE)
    encoded = metric(data_norm=2.0).fit(PAIRS, SIGNS, preprocessor=ROWS)
    np.testing.assert_array_equal(model.components_, encoded.components_)
    assert model.score(ROWS[PAIRS], SIGNS) > 0.8
    assert schema_of(model.certificate_) == model.schema_
    assert verify(model.certificate_).holds
    model.save(tmp_path / "model.pairdp")
    assert all(report.holds for report in verify_file(tmp_path / "model.pairdp"))
    loaded = load(tmp_path / "model.pairdp")
    other_order = dict(reversed(TABLE.items()))
    np.testing.assert_array_equal(loaded.transform(TABLE), model.transform(other_order))
    np.testing.assert_array_equal(model.feature_names_in_, ["age", "sex", "systolic", "ward"])


def test_persons_are_those_of_the_identifier_in_the_table() -> None:
    persons = np.array([f"P{i % 50}" for i in range(400)])
    with_ids = {**TABLE, "patient_id": persons.tolist()}
    model = metric(500.0, schema=WITHOUT_LABEL, unit="patient_id", max_pairs=3)
    model.fit(PAIRS, SIGNS, preprocessor=with_ids)
    given = metric(500.0, data_norm=2.0, unit="patient_id", max_pairs=3)
    given.fit(PAIRS, SIGNS, groups=persons[PAIRS], preprocessor=ROWS)
    np.testing.assert_array_equal(model.components_, given.components_)
    assert verify(model.certificate_).holds
    by_row = metric(500.0, data_norm=2.0, unit="patient_id", max_pairs=3)
    by_row.fit(PAIRS, SIGNS, preprocessor=ROWS)
    assert not np.array_equal(model.components_, by_row.components_)


@pytest.mark.parametrize("reason", ["refused by the schema", "null by the schema"])
def test_pairs_of_a_record_that_cannot_be_read_are_null_pairs(reason: str) -> None:
    messy = {**TABLE, "age": ["", *TABLE["age"][1:]]}
    rows = np.vstack([np.full(ROWS.shape[1], np.nan), ROWS[1:]])
    expected = metric(data_norm=2.0, invalid="null").fit(PAIRS, SIGNS, preprocessor=rows)
    if reason == "refused by the schema":
        with pytest.raises(ValueError, match="column 'age' in row 0"):
            metric(schema=WITHOUT_LABEL).fit(PAIRS, SIGNS, preprocessor=messy)
        model = metric(schema=WITHOUT_LABEL, invalid="null")
    else:
        gaps = {"age": {"range": [0, 120], "missing": "null"}}
        model = metric(schema=WITHOUT_LABEL | gaps)
    model.fit(PAIRS, SIGNS, preprocessor=messy)
    np.testing.assert_array_equal(model.components_, expected.components_)


def test_schemas_that_do_not_fit_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match="declare 'died' as \"ignore\""):
        metric(schema=SCHEMA).fit(PAIRS, SIGNS, preprocessor=TABLE)
    with pytest.raises(ValueError, match="pass the table as preprocessor"):
        metric(schema=WITHOUT_LABEL).fit(PAIRS, SIGNS)
    with pytest.raises(ValueError, match="leave out data_norm"):
        metric(schema=WITHOUT_LABEL, data_norm=3.0).fit(PAIRS, SIGNS, preprocessor=TABLE)
    with pytest.raises(ValueError, match="row numbers that preprocessor"):
        metric(schema=WITHOUT_LABEL).fit(PAIRS + 1, SIGNS, preprocessor=TABLE)
