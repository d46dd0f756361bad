"""Models with a schema in files: applied after loading, and refused where it was edited."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairdp import (
    ModelFileError,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateMetric,
    PrivateRanker,
    Schema,
    load,
    save,
)
from pairdp.privacy import CertificateError
from pairdp.verification import verify_file
from tests.estimators.patients import SCHEMA, TARGET, table
from tests.model_file.models import assert_same_release, forge, opened

TABLE = table()
PRIVATE: dict[str, Any] = {"epsilon": 8.0, "random_state": 0}
MODELS: dict[str, Any] = {
    "ranker": PrivateRanker(**PRIVATE, schema=SCHEMA),
    "graded ranker": PrivateRanker(**PRIVATE, schema=TARGET),
    "classifier": PrivateLinearClassifier(**PRIVATE, schema=SCHEMA),
    "regressor": PrivateLinearRegressor(**PRIVATE, schema=TARGET),
    "metric": PrivateMetric(**PRIVATE, schema=SCHEMA),
    "stream": OnlinePrivateRanker(**PRIVATE, schema=SCHEMA),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_reads_raw_tables(tmp_path: Path, name: str) -> None:
    model, path = MODELS[name].fit(TABLE), tmp_path / "model"
    save(model, path)
    loaded = load(path)
    model.schema = model.schema_
    assert_same_release(loaded, model)
    assert loaded.schema == Schema.of(model.schema)
    method = "transform" if name == "metric" else "predict"
    other = table(20, seed=3)
    np.testing.assert_array_equal(getattr(loaded, method)(other), getattr(model, method)(other))
    assert all(report.holds for report in verify_file(path))
    assert "Medicine" not in path.read_bytes().decode("latin-1")  # of records, not of the schema


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    path = tmp_path_factory.mktemp("saved") / "model"
    save(PrivateRanker(**PRIVATE, schema=SCHEMA).fit(TABLE), path)
    return opened(path)


def fields(state: dict[str, Any], place: int) -> dict[str, Any]:
    """Return the stored fields of a column."""
    columns = state["params"]["schema"]["fields"]["columns"]["tuple"]
    found: dict[str, Any] = columns[place]["fields"]
    return found


def wider(state: dict[str, Any]) -> None:
    fields(state, 1)["high"] = 240.0


def swapped(state: dict[str, Any]) -> None:
    fields(state, 6)["classes"] = {"tuple": ["no", "yes"]}


def renamed(state: dict[str, Any]) -> None:
    fields(state, 1)["name"] = "stay"


def empty_range(state: dict[str, Any]) -> None:
    fields(state, 1)["high"] = 0.0


def a_path(state: dict[str, Any]) -> None:
    state["params"]["schema"] = "/etc/hostname"


def a_mapping(state: dict[str, Any]) -> None:
    state["params"]["schema"] = {"dict": {"age": {"list": [0, 120]}}}


def without(state: dict[str, Any]) -> None:
    state["params"]["schema"] = None


def other_names(state: dict[str, Any]) -> None:
    state["names"][0] = "stay"


def other_labels(state: dict[str, Any]) -> None:
    state["classes"]["values"].reverse()


def not_columns(state: dict[str, Any]) -> None:
    state["params"]["schema"]["fields"]["columns"] = {"tuple": [1, 2]}


EDITS: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (wider, "not that of the certificate"),
    (swapped, "not that of the certificate"),
    (renamed, "names of features are not those of the schema"),
    (empty_range, "lower below upper"),
    (a_path, "the schema is malformed"),
    (a_mapping, "the schema is malformed"),
    (without, "the shape|not that of the certificate"),
    (other_names, "names of features are not those of the schema"),
    (other_labels, "labels are not those of the schema"),
    (not_columns, "must be columns"),
]


@pytest.mark.parametrize(("edit", "reason"), EDITS, ids=lambda part: getattr(part, "__name__", ""))
def test_an_edited_schema_is_refused(
    tmp_path: Path, saved: Any, edit: Callable[[dict[str, Any]], None], reason: str
) -> None:
    header, arrays = copy.deepcopy(saved[0]), saved[1]
    edit(header["steps"][0])
    forge(tmp_path / "model", header, arrays)
    with pytest.raises(ModelFileError, match=reason):
        load(tmp_path / "model")


def test_a_schema_edited_in_the_certificate_too_does_not_verify(tmp_path: Path, saved: Any) -> None:
    """Its sentence has a digest of the schema, which planning again computes anew."""
    header, arrays = copy.deepcopy(saved[0]), saved[1]
    state = header["steps"][0]
    wider(state)
    certificate = state["certificate"]
    certificate.pop("digest")
    stored = [item for item in certificate["plan"]["conditions"] if item["object"] == "SchemaRows"]
    stored[0]["fields"]["schema"] = state["params"]["schema"]
    from pairdp._sealed import seal

    state["certificate"] = json.loads(seal(certificate))
    forge(tmp_path / "model", header, arrays)
    with pytest.raises(CertificateError, match="planning again gives"):
        verify_file(tmp_path / "model")
