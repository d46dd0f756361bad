"""Estimators take every table that exports Arrow, with the results of a DataFrame."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pairdp import (
    BoundsScaler,
    Budget,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateMetric,
    PrivateRanker,
    SchemaEncoder,
    estimate_bounds,
    evaluate,
)

SCHEMA: dict[str, Any] = {
    "age": [0, 100],
    "visits": {"range": [0, 9], "missing": "indicator"},
    "ward": ["ICU", "Surgery"],
    "died": {"label": ["no", "yes"]},
}


class Exported:
    """A table, or a column, with nothing but the Arrow PyCapsule interface."""

    def __init__(self, exported: Any) -> None:
        self._exported = exported

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._exported.__arrow_c_stream__(requested_schema)


def patients(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.uniform(0, 100, n)
    return pd.DataFrame(
        {
            "age": age,
            "visits": pd.array([None if i % 7 == 0 else i % 9 for i in range(n)], "Int64"),
            "ward": rng.choice(["ICU", "Surgery"], n),
            "died": np.where(age + rng.normal(0, 20, n) > 50, "yes", "no"),
        }
    )


def forms(frame: pd.DataFrame) -> dict[str, Any]:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return {
        "polars": pl.from_arrow(table),
        "pyarrow": table,
        "narwhals": nw.from_native(table),
        "only exported": Exported(table),
        "a stream, read once": table.to_reader(max_chunksize=100),
    }


FORMS = list(forms(patients(2)))
MODELS = {
    "ranker": lambda: PrivateRanker(schema=SCHEMA, model="linear", random_state=0),
    "classifier": lambda: PrivateLinearClassifier(schema=SCHEMA, random_state=0),
    "metric": lambda: PrivateMetric(algorithm="DPGDSC", schema=SCHEMA, random_state=0),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", MODELS)
def test_a_model_is_that_of_a_dataframe(model: str, form: str) -> None:
    frame = patients()
    expected = MODELS[model]().fit(frame)
    found = MODELS[model]().fit(forms(frame)[form])
    method = "transform" if model == "metric" else "decision_function"
    np.testing.assert_array_equal(
        getattr(found, method)(forms(frame)[form]), getattr(expected, method)(frame)
    )
    if model != "metric":
        assert found.score(forms(frame)[form]) == expected.score(frame)


@pytest.mark.parametrize("form", FORMS)
def test_tables_of_numbers_need_no_schema(form: str) -> None:
    frame = patients()
    numbers, labels = frame[["age"]] / 100, frame["died"].to_numpy()
    exported = Exported(pa.chunked_array([labels.tolist()]))
    for invalid in ("error", "null"):
        expected = PrivateRanker(data_norm=1.0, random_state=0, invalid=invalid)
        expected.fit(numbers, labels)
        found = PrivateRanker(data_norm=1.0, random_state=0, invalid=invalid)
        found.fit(forms(numbers)[form], exported)
        assert found.feature_names_in_.tolist() == ["age"]
        np.testing.assert_array_equal(
            found.decision_function(forms(numbers)[form]), expected.decision_function(numbers)
        )
        assert found.score(forms(numbers)[form], exported) == expected.score(numbers, labels)
    scaler = BoundsScaler({"age": 0}, {"age": 1}).fit(forms(numbers)[form])
    np.testing.assert_array_equal(scaler.transform(forms(numbers)[form]), scaler.transform(numbers))


@pytest.mark.parametrize("form", FORMS)
def test_other_functions_read_them_too(form: str) -> None:
    frame = patients()
    features = frame.drop(columns="died")
    encoder = SchemaEncoder(SCHEMA)
    np.testing.assert_array_equal(
        encoder.fit(forms(frame)[form]).transform(forms(features)[form]),
        encoder.fit(frame).transform(features),
    )
    model = PrivateRanker(schema=SCHEMA, model="linear", random_state=0).fit(frame)
    assert (
        evaluate(model, forms(frame)[form], epsilon=1.0, random_state=0).auc
        == evaluate(model, frame, epsilon=1.0, random_state=0).auc
    )
    ranges = [
        estimate_bounds(table, Budget(1.0), columns=["age"], random_state=0)
        for table in (forms(frame)[form], frame)
    ]
    assert ranges[0].upper == ranges[1].upper


def test_batches_may_be_exported() -> None:
    frame = patients()
    expected = PrivateRanker(schema=SCHEMA, algorithm="moments", random_state=0)
    found = PrivateRanker(schema=SCHEMA, algorithm="moments", random_state=0)
    parts = [frame[:200], frame[200:]]
    expected.fit_batches([(part, None) for part in parts], len(frame))
    found.fit_batches([(Exported(pa.Table.from_pandas(part)), None) for part in parts], len(frame))
    np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_a_stream_learns_from_them() -> None:
    frame = patients(100)
    table = Exported(pa.Table.from_pandas(frame))
    expected, found = (
        OnlinePrivateRanker(schema=SCHEMA, horizon=200, random_state=0).partial_fit(given)
        for given in (frame, table)
    )
    np.testing.assert_array_equal(found.coef_, expected.coef_)
