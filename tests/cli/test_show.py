"""``pairdp show``: what a model file contains."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairdp import PrivateRanker, PrivateScorecard, load
from tests.cli.helpers import (
    BOUNDED,
    BOUNDS,
    FIT,
    N,
    coefficients,
    refused,
    run,
    run_json,
    table,
    write,
)

HOSTILE = "age\x1b[2J\nε = 0"


def test_a_model_is_shown_with_its_weights() -> None:
    run(*BOUNDED, "--data-set", "admissions")
    shown = run("show", "model.pairdp").stdout
    first = shown.splitlines()[0]
    assert first == "PrivateRanker, a linear ranker: label 1 has higher scores than label 0"
    for words in (
        "ε = 1, δ = 1e-06",
        f"n = {N}",
        "each record",
        "admissions",
        "0 to 100",
        "holds:",
    ):
        assert words in shown
    (line,) = [row for row in shown.splitlines() if row.strip().startswith("age") and "±" in row]
    (weight, noise) = line.split()[1], line.split()[3]
    assert float(weight) == pytest.approx(coefficients()[0, 0], rel=1e-3)
    scale = load("model.pairdp")[-1].certificate_.releases[0].mechanism.scale
    assert float(noise) == pytest.approx(scale, rel=0.05)
    assert "can only reduce it" in shown


def test_json_has_the_same_in_the_order_of_columns() -> None:
    run(*BOUNDED)
    found = run_json("show", "model.pairdp")
    assert [weight["name"] for weight in found["weights"]] == ["age", "bmi"]
    np.testing.assert_array_equal([w["value"] for w in found["weights"]], coefficients()[0])
    assert (found["ranked_high"], found["ranked_low"], found["n"]) == ("1", "0", N)
    assert (found["epsilon"], found["delta"], found["unit"]) == (1.0, 1e-6, None)
    assert found["columns"] == {name: f"{low} to {high}" for name, (low, high) in BOUNDS.items()}
    assert found["noise"]["kind"] == "exact"
    assert "holds" in found["verification"]
    assert not found["refused"]


def test_verification_can_be_skipped() -> None:
    run(*BOUNDED)
    assert run_json("show", "model.pairdp", "--no-verify")["verification"] == "skipped"


def test_a_metric_is_shown_with_its_axes() -> None:
    run(
        *[*FIT[:4], "--task", "metric", "--algorithm", "scatter", "--epsilon", "20", "--seed", "1"],
        *BOUNDED[len(FIT) :],
    )
    shown = run("show", "model.pairdp").stdout
    assert "Diagonal of the matrix" in shown
    assert "Axis 1 (eigenvalue" in shown
    assert "± unknown" in shown
    assert "not available" in shown


def test_only_the_largest_of_many_weights_are_shown() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    model = PrivateRanker(1.0, data_norm=1.0, random_state=0, threshold=0.0)
    model.fit(rng.normal(size=(100, 40)), y).save("wide.pairdp")
    shown = run("show", "wide.pairdp", "--no-verify").stdout
    assert "10 more: use --all" in shown
    assert run("show", "wide.pairdp", "--no-verify", "--all").stdout.count(" ± ") > 40


def test_bins_stay_in_order_and_columns_are_listed_by_importance() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(2000, 3))
    y = x[:, 1] + 0.2 * x[:, 0] > 0.6
    schema = {"weak": [0, 1], "strong": [0, 1], "none": [0, 1]}
    frame = pd.DataFrame(x, columns=list(schema))
    model = PrivateScorecard(5.0, schema=schema, random_state=0).fit(frame, y.astype(int))
    model.save("card.pairdp")
    table = model.table()
    named = {name: rows["column"] + " " + rows["bin"] for name, rows in table.groupby("column")}
    expected = [bins for name in ("strong", "weak", "none") for bins in named[name]]
    found = run_json("show", "card.pairdp", "--no-verify")["weights"]
    assert [weight["name"] for weight in found] == expected
    for args, count in ((("--all",), len(expected)), ((), 30)):
        lines = run("show", "card.pairdp", "--no-verify", *args).stdout.splitlines()
        start = lines.index("Points of bins, ± the standard deviation of the noise:") + 1
        rows = [line.partition("  +")[0].partition("  -")[0] for line in lines[start:]]
        assert [row.strip() for row in rows[:count]] == expected[:count]


def test_hostile_names_stay_on_their_line() -> None:
    frame = table().rename(columns={"age": HOSTILE})
    model = PrivateRanker(1.0, data_norm=1.0, random_state=0, data_set=HOSTILE)
    model.fit(frame[[HOSTILE, "bmi"]] / 100, frame["outcome"]).save("model.pairdp")
    shown = run("show", "model.pairdp").stdout
    assert "\x1b" not in shown
    assert r"age\x1b[2J\nε = 0" in shown


def test_a_model_without_noise_claims_nothing() -> None:
    frame = table()
    model = PrivateRanker(None, data_norm=1.0)
    model.fit(frame[["age", "bmi"]] / 100, frame["outcome"]).save("model.pairdp")
    shown = run("show", "model.pairdp").stdout
    assert "none: fitted without noise, and not private" in shown
    assert "no privacy" in shown


def test_a_forged_claim_is_refused_and_the_rest_is_shown() -> None:
    run(*BOUNDED)
    model = load("model.pairdp")
    model[-1].set_params(epsilon=0.5).save("forged.pairdp")
    shown = run("show", "forged.pairdp", code=1).stdout
    assert "REFUSED: it does not follow from the model's parameters" in shown
    assert "Weights" in shown
    assert run_json("show", "forged.pairdp", code=1)["refused"]


def test_what_is_not_a_model_is_refused() -> None:
    write(table())
    assert "data.csv" in refused("show", "data.csv")
    assert "none.pairdp" in refused("show", "none.pairdp")
    Path("c.json").write_text(json.dumps({"format": "pairdp certificate"}))
    assert "c.json" in refused("show", "c.json")


def test_a_model_with_a_schema_and_a_unit_names_what_was_encoded() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    frame = pd.DataFrame(
        {
            "patient": np.arange(N) // 2,
            "age": rng.normal(50 + 15 * y, 10),
            "sex": rng.choice(["F", "M"], N),
            "systolic": np.where(rng.random(N) < 0.2, np.nan, 130.0),
            "ward": rng.choice(["ICU", "Medicine, general", "Day clinic"], N),
            "died": np.where(y, "yes", "no"),
        }
    )
    schema = {
        "patient": "id",
        "age": [0, 120],
        "sex": ["F", "M"],
        "systolic": {"range": [60, 260], "missing": "indicator"},
        "ward": {"categories": ["ICU", "Medicine, general"], "other": True},
        "died": {"label": ["no", "yes"]},
    }
    shared = {"schema": schema, "unit": "patient", "max_records": 2, "random_state": 0}
    model = PrivateRanker(2.0, model="linear", **shared)
    model.fit(frame).save("model.pairdp")
    found = run_json("show", "model.pairdp")
    names = ["age", "sex=F", "sex=M", "systolic", "systolic (missing)"]
    assert [weight["name"] for weight in found["weights"]][:5] == names
    assert found["unit"] == {"name": "patient", "max_records": 2}
    assert found["columns"]["systolic"] == "60 to 260; missing indicator"
    assert found["columns"]["ward"] == 'ICU, "Medicine, general"; other yes'
    shown = run("show", "model.pairdp").stdout
    assert "label yes has higher scores than label no" in shown
    assert "all records of each unit (patient), of which at most 2 records are used" in shown
    PrivateRanker(2.0, model="additive", **shared).fit(frame).save("points.pairdp")
    assert run_json("show", "points.pairdp")["weights_are"] == "points of bins"
    shown = run("show", "points.pairdp", "--all").stdout
    assert "PrivateRanker, an additive ranker: label yes" in shown
    assert "Points of bins, ± the standard deviation of the noise:" in shown
    assert "systolic missing" in shown
