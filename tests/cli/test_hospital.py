"""A hospital's table, from the schema to the scores, as a new user does it."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from pairdp import PrivateRanker, load
from tests.cli.helpers import refused, released, run, run_json, there
from tests.cli.hospital import COLUMNS, FORMS, SCHEMA, patients, text_of, write_csv

ROWS = patients(1500, 1)
NEW = patients(300, 2)
FIT = ["fit", "patients.csv", "--schema", "schema.json", "--epsilon", "1", "--seed", "7"]
SAVED = [*FIT, "-o", "model.pairdp"]


@pytest.fixture(autouse=True)
def _hospital(_folder: None) -> None:
    Path("data.csv").unlink()
    Path("bounds.json").unlink()
    write_csv("patients.csv", ROWS)
    write_csv("new.csv", NEW)
    Path("schema.json").write_text(SCHEMA, encoding="utf-8")


def scores_of(*args: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(run("predict", "model.pairdp", *args).stdout)))


def test_the_walk_through() -> None:
    write_csv("patients.csv", patients(4000, 1))
    Path("schema.json").unlink()
    started = run("schema", "patients.csv", "-o", "schema.json")
    assert started.stderr == ""
    assert '"systolic": "?"' in Path("schema.json").read_text(encoding="utf-8")
    Path("schema.json").write_text(SCHEMA, encoding="utf-8")
    checked = run("schema", "--check", "schema.json", "patients.csv", "--yes").stdout
    assert checked.startswith("NOT PRIVATE")
    fitted = run(*SAVED)
    assert fitted.stderr == ""
    assert "is differentially private with ε" in " ".join(fitted.stdout.split())
    assert "'yes'" in fitted.stdout
    verified = run("verify", "model.pairdp")
    assert verified.stderr == ""
    assert "holds: ε = 1, δ = 1e-06, n = 4000" in verified.stdout
    scored = run("predict", "model.pairdp", "new.csv", "--keep", "patient_id", "-o", "s.csv")
    assert scored.stdout == ""
    lines = list(csv.DictReader(Path("s.csv").read_text(encoding="utf-8").splitlines()))
    assert [line["patient_id"] for line in lines] == [row[0] for row in NEW]
    died = [row[-1] == "yes" for row in NEW]
    assert roc_auc_score(died, [float(line["score"]) for line in lines]) > 0.7


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_table_gives_the_same_model_and_scores(form: str) -> None:
    run(*SAVED)
    right = load("model.pairdp")
    scores = run("predict", "model.pairdp", "new.csv").stdout
    path, write, options = FORMS[form]
    write(path, ROWS)
    run("fit", path, *FIT[2:], "-o", "other.pairdp", *options)
    found = load("other.pairdp")
    np.testing.assert_array_equal(released(found), released(right))
    assert found.certificate_ == right.certificate_
    assert found.schema_ == right.schema_
    write(path, NEW)
    kept = run("predict", "other.pairdp", path, *options, "--keep", "admitted").stdout
    assert [line.split(",", 1)[1] for line in kept.splitlines()] == scores.splitlines()


def test_records_that_are_read_one_by_one_are_the_same() -> None:
    run(*SAVED)
    for form in ("gzip", "Latin-1", "decimal commas", "Parquet"):
        path, write, options = FORMS[form]
        write(path, ROWS)
        run("fit", path, *FIT[2:], "-o", f"{form}.pairdp", *options, "--invalid", "null")
        found = load(f"{form}.pairdp")
        np.testing.assert_array_equal(released(found), released(load("model.pairdp")))


def test_what_the_command_fits_is_what_python_fits() -> None:
    import pandas as pd

    run(*SAVED)
    frame = pd.DataFrame(ROWS, columns=list(COLUMNS))
    ranker = PrivateRanker(1.0, schema="schema.json", random_state=7).fit(frame)
    loaded = load("model.pairdp")
    assert isinstance(loaded, PrivateRanker)
    np.testing.assert_array_equal(released(loaded), released(ranker))
    assert loaded.certificate_ == ranker.certificate_
    assert loaded.classes_.tolist() == ["no", "yes"]
    new = pd.DataFrame(NEW, columns=list(COLUMNS)).drop(columns="died")
    scores = [float(line["score"]) for line in scores_of("new.csv")]
    np.testing.assert_allclose(scores, ranker.decision_function(new), rtol=1e-12)
    assert [line["label"] for line in scores_of("new.csv")] == loaded.predict(new).tolist()


def test_the_last_class_ranks_high() -> None:
    run(*SAVED)
    Path("schema.json").write_text(SCHEMA.replace('["no", "yes"]', '["yes", "no"]'))
    run(*FIT, "-o", "turned.pairdp")
    assert load("turned.pairdp").classes_.tolist() == ["yes", "no"]
    turned, model = (
        load(name).decision_function(_frame(ROWS)) for name in ("turned.pairdp", "model.pairdp")
    )
    assert np.corrcoef(turned, model)[0, 1] < -0.5  # the noise differs


def _frame(rows: Any) -> dict[str, list[str]]:
    return {name: list(cells) for name, cells in zip(COLUMNS, zip(*rows, strict=True), strict=True)}


def test_a_metric_and_a_target_by_a_schema() -> None:
    run(*FIT, "--task", "metric", "-o", "metric.pairdp")
    (first, *_) = run_json("predict", "metric.pairdp", "new.csv", "--keep", "patient_id")
    assert first["patient_id"] == "P00000"
    assert "z0" in first
    target = SCHEMA.replace('"died":     {"label": ["no", "yes"]}', '"died": "ignore"').replace(
        '"age":      [0, 120]', '"age":      {"target": [0, 120]}'
    )
    Path("schema.json").write_text(target)
    run(*FIT, "--response-levels", "13", "-o", "graded.pairdp")
    (first, *_) = run_json("predict", "graded.pairdp", "new.csv")
    assert set(first) == {"score"}
    assert "holds" in run("verify", "graded.pairdp").stdout
    assert "needs a label" in refused(*FIT, "--task", "metric", "-o", "m")


def test_a_label_that_the_schema_does_not_describe() -> None:
    run(*SAVED)
    without = SCHEMA.replace('{"label": ["no", "yes"]}', '"ignore"')
    Path("schema.json").write_text(without)
    assert "the schema has no label" in refused(*FIT, "-o", "m")
    assert "give --classes A,B" in refused(*FIT, "--label", "died", "-o", "m")
    run(*FIT, "--label", "died", "--classes", "no,yes", "-o", "named.pairdp")
    np.testing.assert_array_equal(released(load("named.pairdp")), released(load("model.pairdp")))
    assert "is a feature" in refused(*FIT, "--label", "age", "--classes", "no,yes", "-o", "m")
    assert "did you mean 'died'" in refused(
        *FIT, "--label", "dies", "--classes", "no,yes", "-o", "m"
    )


def test_all_records_of_a_patient_are_protected_together() -> None:
    several = [(f"P{i // 2}", *row[1:]) for i, row in enumerate(ROWS)]
    write_csv("patients.csv", several)
    run(*SAVED, "--unit", "patient_id", "--max-records", "2")
    unit = load("model.pairdp").certificate_.unit
    assert (unit.name, unit.max_records) == ("patient_id", 2)
    assert "holds" in run("verify", "model.pairdp").stdout
    assert "does not declare 'remarks' as an id" in refused(
        *FIT, "--unit", "remarks", "--max-records", "2", "-o", "m"
    )


BAD: dict[str, tuple[list[str], str]] = {
    "bounds": (["--bounds", "b.json"], "the schema describes the features: leave out --bounds"),
    "unscaled": (["--unscaled"], "leave out --unscaled"),
    "drop": (["--drop", "age"], "leave out --drop"),
    "data norm": (["--data-norm", "2"], "leave out --data-norm"),
    "classes": (["--classes", "no,yes"], "leave out --classes"),
    "other label": (["--label", "sex"], "'died' is the label"),
    "no schema": (["--schema", "no.json"], "no.json cannot be read"),
}


@pytest.mark.parametrize("kind", BAD)
def test_options_that_contradict_the_schema_are_refused(kind: str) -> None:
    more, reason = BAD[kind]
    before = there()
    assert reason in refused(*SAVED, *more)
    assert there() == before


def test_a_ledger_pays_for_a_fit_by_a_schema() -> None:
    run("ledger", "new", "ledger.json", "--epsilon", "1.2")
    secret = ["fit", "patients.csv", "--schema", "schema.json", "--ledger", "ledger.json"]
    run(*secret, "-o", "model.pairdp")
    assert "exceeds what is left" in refused(*secret, "-o", "second.pairdp", code=3)
    Path("patients.csv").write_text(text_of([*ROWS, ("", "x", *ROWS[0][2:])]))
    run("ledger", "new", "other.json", "--epsilon", "1.5")
    before = Path("other.json").read_bytes()
    error = refused(*secret[:-1], "other.json", "-o", "second.pairdp")
    assert "'age'" in error
    assert Path("other.json").read_bytes() == before
