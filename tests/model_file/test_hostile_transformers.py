"""Model files with forged steps of scikit-learn: refused in words, and nothing runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.pipeline import make_pipeline

from pairdp import ModelFileError, load, save
from pairdp.model_file import files
from tests.model_file.models import forge, opened, ranker
from tests.model_file.test_transformers import FRAME, LABELS, columns

Change = Callable[[dict[str, Any]], None]


def put(*path: str | int, to: Any) -> Change:
    def change(step: dict[str, Any]) -> None:
        inner: Any = step
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = to

    return change


def simple(name: str, **params: Any) -> dict[str, Any]:
    return {"class": name, "params": params, "output": None}


def nested(depth: int) -> dict[str, Any]:
    step: Any = "passthrough"
    for _ in range(depth):
        step = {**simple("Pipeline"), "steps": [["inner", step]]}
    return dict(step)


SEX = ("transformer", "steps", 1, 1)


def newer(step: dict[str, Any]) -> None:
    put(*SEX, "params", "newer", to=1)(step)
    put("scikit_learn", to="99.0")(step)


FORGED: dict[str, tuple[Change, str]] = {
    "another class": (put("transformer", "class", to="StandardScaler"), "unknown model"),
    "a function": (put("transformer", "class", to="os:system"), "not part of pairdp"),
    "a private estimator": (put(*SEX, "class", to="PrivateRanker"), "not a step without"),
    "a schema, which may be a path": (
        put(*SEX, to={"class": "SchemaEncoder", "params": {"schema": "a path"}, "output": None}),
        "not a step without",
    ),
    "no class": (put("transformer", "class", to=None), "unknown model"),
    "another key": (put("transformer", "evil", to=1), "evil"),
    "another parameter": (put(*SEX, "params", "evil", to=1), "no parameter 'evil'"),
    "learned categories": (put(*SEX, "params", "categories", to="auto"), "learned its categories"),
    "counted categories": (put(*SEX, "params", "max_categories", to=2), "counted"),
    "one category list too many": (
        put(*SEX, "params", "categories", to={"list": [{"list": ["F"]}] * 2}),
        "2 lists of categories",
    ),
    "categories of no type": (put(*SEX, "params", "categories", to={"list": [7]}), "not valid"),
    "no category": (
        put(*SEX, "params", "categories", to={"list": [{"list": [None]}]}),
        "no category",
    ),
    "an object as a category": (
        put(*SEX, "params", "categories", to={"list": [{"list": [{"class": "os:system"}]}]}),
        "not valid",
    ),
    "a type of objects": (put(*SEX, "params", "dtype", to="object"), "type of a step"),
    "a type of another name": (put(*SEX, "params", "dtype", to="no type"), "not valid"),
    "an unknown output": (put("transformer", "output", to="pickle"), "output of a step"),
    "steps that are no list": (put("transformer", "steps", to=7), "not valid"),
    "a step without columns": (put("transformer", "steps", 0, to=["a", "drop"]), "malformed"),
    "steps of a leaf": (put(*SEX, "steps", to=[]), "malformed"),
    "no remainder": (lambda step: step["transformer"].pop("remainder"), "remainder"),
    "columns that are missing": (put("transformer", "steps", 1, 2, to="gender"), "no column"),
    "columns beyond the last": (put("transformer", "steps", 1, 2, to=99), "no column"),
    "a malformed slice": (put("transformer", "steps", 1, 2, to={"slice": [1]}), "malformed"),
    "a string as a step": (put("transformer", "steps", 1, 1, to="evil"), "not valid"),
    "fewer names": (put("names", to=["age"]), "names of features"),
    "names that are numbers": (put("names", to=[1, 2, 3, 4, 5]), "names of features"),
    "names that are equal": (put("names", to=["age"] * 5), "names of features"),
    "a number of features that is text": (put("features", to="5"), "number of features"),
    "too many features": (
        lambda step: step.update(transformer=simple("Normalizer"), features=10**12, names=None),
        "features",
    ),
    "a polynomial that fills the memory": (
        lambda step: step.update(
            transformer=simple("PolynomialFeatures", degree=9), features=1000, names=None
        ),
        "more than 1000000 features",
    ),
    "steps nested too deeply": (put("transformer", to=nested(60)), "too deeply"),
    "another version of scikit-learn": (
        newer,
        r"made with scikit-learn 99\.0",
    ),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "model"
    save(make_pipeline(columns(), ranker()).fit(FRAME, LABELS), path)
    return path


@pytest.mark.parametrize("kind", FORGED)
def test_forged_steps_are_refused(good: Path, tmp_path: Path, kind: str) -> None:
    change, reason = FORGED[kind]
    header, arrays = opened(good)
    change(header["steps"][0])
    forge(tmp_path / "model", header, arrays)
    with pytest.raises(ModelFileError, match=reason) as error:
        load(tmp_path / "model")
    assert "\n" not in str(error.value)


def test_forging_changes_nothing_by_itself(good: Path, tmp_path: Path) -> None:
    forge(tmp_path / "model", *opened(good))
    assert repr(load(tmp_path / "model")) == repr(load(good))
    assert files.header_of(good)["steps"][0]["scikit_learn"]
