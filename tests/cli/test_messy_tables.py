"""Cells and columns that are not as they should be: each does what the schema says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from pairdp import PrivateRanker, SchemaEncoder, load, save
from tests.cli.helpers import refused, released, run, run_json, there

SCHEMA: dict[str, Any] = {
    "id": "id",
    "age": [0, 120],
    "crp": {"range": [0.1, 500], "scale": "log", "missing": 5.0},
    "bp": {"range": [60, 260], "missing": "indicator"},
    "dose": {"range": [0, 10], "missing": "null"},
    "sex": ["F", "M"],
    "ward": {"categories": ["ICU", "Surgery"], "other": True},
    "day": {"date": ["2023-01-01", "2025-01-01"], "missing": "2024-01-01"},
    "died": {"label": ["no", "yes"]},
}
COLUMNS = list(SCHEMA)
GOOD = {
    "id": "P1", "age": "50", "crp": "5", "bp": "120", "dose": "3", "sex": "F", "ward": "ICU",
    "day": "2024-01-01", "died": "no",
}  # fmt: skip


def line(**cells: str) -> dict[str, str]:
    return {**GOOD, **cells}


def write(rows: list[dict[str, str]], path: str = "new.csv", columns: list[str] = COLUMNS) -> None:
    lines = [columns, *([row[name] for name in columns] for row in rows)]
    Path(path).write_text("".join(",".join(cells) + "\n" for cells in lines))


def rows(n: int) -> list[dict[str, str]]:
    rng = np.random.default_rng(3)
    return [
        line(
            id=f"P{i}", age=str(rng.integers(20, 90)), sex="FM"[i % 2],
            died=("no", "yes")[int(rng.random() < 0.4)], bp=str(rng.integers(90, 160)),
        )
        for i in range(n)
    ]  # fmt: skip


FIT = ["fit", "train.csv", "--schema", "schema.json", "--seed", "1", "-o", "model.pairdp"]


@pytest.fixture(autouse=True)
def _model(_folder: None) -> None:
    Path("data.csv").unlink()
    Path("bounds.json").unlink()
    Path("schema.json").write_text(json.dumps(SCHEMA))
    write(rows(60), "train.csv")
    run(*FIT)


def scores(*more: str) -> list[float | None]:
    return [row["score"] for row in run_json("predict", "model.pairdp", "new.csv", *more)]


# Cells: two that the schema reads as the same.
SAME: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "number above its range": ({"age": "5317"}, {"age": "120"}),
    "number below its range": ({"age": "-3"}, {"age": "0"}),
    "number of a log scale below its range": ({"crp": "0"}, {"crp": "0.1"}),
    "missing with a fixed value": ({"crp": ""}, {"crp": "5.0"}),
    "unknown category": ({"ward": "Maternity"}, {"ward": "Oncology"}),
    "missing category": ({"ward": ""}, {"ward": "Oncology"}),
    "date after its range": ({"day": "2031-05-05"}, {"day": "2025-01-01"}),
    "date before its range": ({"day": "1999-12-31"}, {"day": "2023-01-01"}),
    "missing date": ({"day": ""}, {"day": "2024-01-01"}),
    "spaces": ({"age": " 50 ", "ward": " ICU"}, {}),
    "other ways to write a number": ({"age": "5e1", "bp": "+120.0"}, {}),
    "ids": ({"id": ""}, {"id": "5317"}),
    "labels": ({"died": ""}, {"died": "unknown"}),
}


@pytest.mark.parametrize("kind", SAME)
def test_cells_that_the_schema_reads_as_the_same(kind: str) -> None:
    one, other = SAME[kind]
    write([line(**one), line(**other), line()])
    first, second, _ = scores()
    assert first is not None
    assert first == second


def test_an_indicator_is_a_feature() -> None:
    write([line(bp=""), line(bp="160")])
    missing, middle = scores()
    assert missing != middle
    names = load("model.pairdp").schema_.feature_names_out
    assert "bp (missing)" in names


# Cells that the schema has no place for: an error, or an empty prediction.
REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "no number": ({"age": "fifty"}, "'age'"),
    "missing number": ({"age": ""}, "'age'"),
    "infinite number": ({"age": "inf"}, "'age'"),
    "decimal comma": ({"bp": '"120,5"'}, "'bp'"),
    "unknown category": ({"sex": "X"}, "'sex'"),
    "missing category": ({"sex": ""}, "'sex'"),
    "wrong date": ({"day": "2024-02-30"}, "'day'"),
    "date in another form": ({"day": "30.02.2024"}, "'day'"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_cells_that_the_schema_has_no_place_for(kind: str) -> None:
    cells, reason = REFUSED[kind]
    write([line(), line(**cells)])
    error = refused("predict", "model.pairdp", "new.csv", "-o", "scores.csv")
    assert reason in error
    assert "row 1" in error
    assert "--invalid null" in error
    (value,) = cells.values()
    assert not value or value.strip('"') not in error
    assert ('list it in "missing_values"' in error) == bool(value)
    assert not Path("scores.csv").exists()
    good, bad = scores("--invalid", "null")
    assert good is not None
    assert bad is None
    printed = run("predict", "model.pairdp", "new.csv", "--invalid", "null", "--keep", "id").stdout
    assert printed.splitlines()[2] == "P1,,"


def test_a_null_record_by_the_schema_has_no_prediction() -> None:
    write([line(dose=""), line(id="P2")])
    null, score = scores()
    assert null is None
    assert score is not None
    assert scores("--invalid", "null") == [null, score]


@pytest.mark.parametrize("kind", [*REFUSED, "missing dose", "other label", "missing label"])
def test_at_fit_one_cell_is_an_error_or_a_null_record_that_reveals_nothing(kind: str) -> None:
    more = {
        "missing dose": {"dose": ""},
        "other label": {"died": "perhaps"},
        "missing label": {"died": ""},
    }
    cells = more[kind] if kind in more else REFUSED[kind][0]
    records = rows(60)
    write([*records[:-1], line(**cells)], "train.csv")
    again = [*FIT, "--force"]
    if kind == "missing dose":  # the schema says that this is a null record
        shown = run(*again).stdout
    else:
        before = Path("model.pairdp").read_bytes()
        assert next(iter(cells)) in refused(*again)
        assert Path("model.pairdp").read_bytes() == before
        shown = run(*again, "--invalid", "null").stdout
    found = load("model.pairdp")
    assert found.certificate_.n == 60
    write(records, "train.csv")
    null = [*FIT, "--force", *([] if kind == "missing dose" else ["--invalid", "null"])]
    assert run(*null).stdout == shown
    # The other records are read as before: only the last one is another.
    write([*records[:-1], line(dose="")], "train.csv")
    run(*again)
    np.testing.assert_array_equal(released(load("model.pairdp")), released(found))


def test_rows_of_errors_are_counted_across_batches() -> None:
    for cells, name in (({"died": "perhaps"}, "died"), ({"age": "old"}, "age")):
        write([*(rows(60) * 280), line(**cells)], "train.csv")
        error = refused(*FIT, "--force")
        assert f"column '{name}' in row 16800" in error


# Columns


def test_columns_in_another_order_without_label_and_id() -> None:
    write(rows(5))
    right = scores()
    some = [name for name in reversed(COLUMNS) if name not in ("died", "id")]
    write(rows(5), columns=some)
    assert scores() == right


def test_extra_columns_are_ignored_or_refused_as_the_schema_says() -> None:
    write(rows(5))
    right = scores()
    content = Path("new.csv").read_text().splitlines()
    Path("new.csv").write_text("".join(f"{text},note,note,\n" for text in content))
    assert scores() == right
    Path("schema.json").write_text(json.dumps({**SCHEMA, "$extra": "refuse"}))
    run(*FIT, "--force")
    assert "the schema does not name: note" in refused("predict", "model.pairdp", "new.csv")
    content = Path("train.csv").read_text().splitlines()
    Path("train.csv").write_text("".join(f"{text},note\n" for text in content))
    assert "the schema does not name: note" in refused(*FIT, "--force")


def test_missing_and_duplicated_columns_are_refused_by_name() -> None:
    write(rows(5), columns=[name for name in COLUMNS if name != "bp"])
    assert "has no column 'bp'" in refused("predict", "model.pairdp", "new.csv")
    Path("new.csv").write_text("age,age,crp,bp,dose,sex,ward,day\n")
    assert "has the column 'age' twice" in refused("predict", "model.pairdp", "new.csv")
    Path("train.csv").write_text(Path("train.csv").read_text().replace("died", "Died", 1))
    error = refused(*FIT, "--force")
    assert "has no column 'died'" in error
    assert "did you mean 'Died'?" in error


def test_columns_to_keep() -> None:
    write([line(id="P1", ward="ICU"), line(id="", ward=" x ")])
    shown = run("predict", "model.pairdp", "new.csv", "--keep", "id", "--keep", "ward").stdout
    head, first, second = shown.splitlines()
    assert head == "id,ward,score,label"
    assert first.startswith("P1,ICU,")
    assert second.startswith(",x,")
    error = refused("predict", "model.pairdp", "new.csv", "--keep", "wrad")
    assert "no column 'wrad'; it has id, age" in error
    assert "did you mean 'ward'?" in error
    write([line()], columns=[*COLUMNS])
    Path("new.csv").write_text(Path("new.csv").read_text().replace("id,", "score,", 1))
    error = refused("predict", "model.pairdp", "new.csv", "--keep", "score")
    assert "another column of this name" in error


def test_predictions_are_csv_and_are_not_named_otherwise() -> None:
    write([line()])
    error = refused("predict", "model.pairdp", "new.csv", "-o", "scores.parquet")
    assert "written as CSV" in error
    assert not Path("scores.parquet").exists()


# Percentiles and probabilities


def test_percentiles_are_those_among_the_scores_of_a_public_table() -> None:
    write(rows(20), "public.csv")
    write([*rows(20)[:3], line(dose="")])
    found = run_json("predict", "model.pairdp", "new.csv", "--reference", "public.csv")
    write(rows(20))
    known = np.array(scores())
    for row in found[:3]:
        below, same = np.sum(known < row["score"]), np.sum(known == row["score"])
        assert row["percentile"] == pytest.approx(100 * (below + same / 2) / 20)
    assert found[3]["percentile"] is None
    write([line(dose="")], "public.csv")
    error = refused("predict", "model.pairdp", "new.csv", "--reference", "public.csv")
    assert "no records that can be scored" in error


def test_a_probability_is_refused_with_the_reason() -> None:
    write(rows(2))
    before = there()
    error = refused("predict", "model.pairdp", "new.csv", "--probability", "-o", "scores.csv")
    assert "pairdp calibrate" in error
    assert there() == before


def test_a_model_with_a_schema_is_audited_on_a_messy_table() -> None:
    found = run_json("audit", "model.pairdp", "--data", "train.csv", "--runs", "200")
    assert found["verdict"] == "consistent"
    error = refused("audit", "model.pairdp", "--data", "train.csv", "--label", "sex")
    assert "'died' is the label" in error


def test_a_plan_takes_the_number_of_features_from_a_schema() -> None:
    planned = run_json("plan", "--n", "60", "--schema", "schema.json")
    assert planned["features"] == load("model.pairdp").schema_.width
    assert planned["chosen"]["algorithm"] == load("model.pairdp").certificate_.algorithm
    assert "leave out --features" in refused(
        "plan", "--n", "60", "--schema", "schema.json", "--features", "3"
    )
    assert "give --features, or --schema FILE" in refused("plan", "--n", "60")


def test_a_schema_encoder_before_a_model_reads_tables_too() -> None:
    table = {name: [row[name] for row in rows(60)] for name in COLUMNS}
    ranker = PrivateRanker(1.0, data_norm=1.0, random_state=1, classes=("no", "yes"))
    model = make_pipeline(SchemaEncoder(SCHEMA), ranker).fit(table, table["died"])
    save(model, "pipeline.pairdp")
    write(rows(60))
    found = [row["score"] for row in run_json("predict", "pipeline.pairdp", "new.csv")]
    np.testing.assert_allclose(found, model.decision_function(table), rtol=1e-12)
    audited = run_json("audit", "pipeline.pairdp", "--data", "train.csv", "--runs", "200")
    assert audited["verdict"] == "consistent"
    save(model[0], "encoder.pairdp")
    assert "without a model" in refused("predict", "encoder.pairdp", "new.csv")
