"""Tables, JSON and SQL of scorecards with missing values, dates and single records."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from pairdp import Budget, BudgetLedger, PrivateLinearClassifier, PrivateScorecard, load
from pairdp.algorithms import Algorithm, ConditionedDescent, Scorecard
from pairdp.cli.main import main
from tests.estimators.data import FEW_RECORDS

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)

SCHEMA = {
    "age": {"range": [0, 120], "missing": "indicator", "missing_values": [-9]},
    "ward": {"categories": ["ICU", "Surgery"], "missing": "indicator", "missing_values": ["NA"]},
    "smoker": {"flag": ["never", "yes"], "missing": "indicator", "missing_values": ["?"]},
    "died": {"label": ["no", "yes"]},
}
DATE = {"date": ["2023-01-01", "2025-01-01"], "unit": "month", "parts": ["weekday"]}


def hospital(n: int = 1000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 100, n)
    died = np.where(age + rng.normal(0, 15, n) > 70, "yes", "no")
    days = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.2, -9, age),
            "ward": rng.choice(["ICU", "Surgery", "NA"], n),
            "smoker": rng.choice(["never", "yes", "?"], n),
            "admitted": days.strftime("%Y-%m-%d"),
            "died": died,
        }
    )


def test_sql_knows_values_that_mean_missing() -> None:
    table = hospital()
    model = PrivateScorecard(4.0, schema=SCHEMA, random_state=0).fit(table)
    with sqlite3.connect(":memory:") as database:
        table.to_sql("patients", database, index=False)
        rows = database.execute(f"SELECT {model.to_sql()} FROM patients")  # noqa: S608
        found = [row[0] for row in rows]
    np.testing.assert_allclose(found, model.decision_function(table), rtol=1e-9)


HOSTILE = {
    "age": [50.0, None, -9.0, np.inf, -np.inf, 1e308, -1e308, 45.0],
    "ward": ["ICU", " O'Hara ", "", "  ", None, "icu", "NA", "ICU "],
    "floor": [1, 2.0, "1", " 2", "1.0", "", None, 7],
    "smoker": [1, "Yes", " no", "", None, 0.0, "maybe", " "],
}


@pytest.mark.parametrize("place", range(8))
def test_sql_reads_cells_as_the_schema_does(place: int) -> None:
    """Outer spaces, empty texts, numbers in texts, and cells that are refused."""
    schema = {
        "age": {"range": [0, 120], "missing": "indicator", "missing_values": [-9]},
        "ward": {"categories": ["ICU", "O'Hara"], "other": True, "missing": "indicator"},
        "floor": {"categories": [1, 2], "missing": "indicator"},
        "smoker": {"flag": None, "missing": "indicator"},
        "died": {"label": ["no", "yes"]},
    }
    table = hospital().assign(floor=1, smoker="no")
    model = PrivateScorecard(4.0, schema=schema, invalid="null", random_state=0).fit(table)
    # The cells of each column beside all cells of another one.
    rows = [
        {name: cells[i if name == varied else place] for name, cells in HOSTILE.items()}
        for varied in HOSTILE
        for i in range(8)
    ]
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE patients (age REAL, ward TEXT, floor, smoker)")
        database.executemany(
            "INSERT INTO patients VALUES (?, ?, ?, ?)", [tuple(row.values()) for row in rows]
        )
        found = database.execute(f"SELECT {model.to_sql()} FROM patients")  # noqa: S608
        scores = [np.nan if row[0] is None else row[0] for row in found]
    np.testing.assert_allclose(scores, model.decision_function(rows), rtol=1e-9)


def test_bins_of_dates_hold_dates_and_parts_are_named() -> None:
    model = PrivateScorecard(20.0, schema={**SCHEMA, "admitted": DATE}, random_state=0)
    card = model.fit(hospital(4000)).scorecard_
    months = card[card["column"] == "admitted"]["bin"]
    ends = [name.strip("[])").split(", ") for name in months]
    assert len(ends) > 2
    assert all(low < high for low, high in ends[:-1])
    assert "Monday" in set(card[card["column"] == "admitted (weekday)"]["bin"])
    with pytest.raises(ValueError, match="'admitted' has no expression"):
        model.to_sql()


def test_json_is_enough_for_scores() -> None:
    table = hospital()
    model = PrivateScorecard(4.0, schema=SCHEMA, random_state=0).fit(table)
    bins = json.loads(model.to_json())["columns"]["age"]
    numbers, points = [b for b in bins if "lower" in b], model.explain(table)["age"]
    assert [b["upper"] for b in numbers[:-1]] == [b["lower"] for b in numbers[1:]]
    for age, expected in zip(table["age"][:50], points, strict=False):
        inside = [b for b in numbers if b["lower"] <= age < b["upper"]] or bins[-1:]
        assert inside[0]["points"] == pytest.approx(expected)


def test_one_record_is_explained() -> None:
    table = hospital()
    model = PrivateScorecard(schema=SCHEMA, random_state=0).fit(table)
    expected = model.explain(table[:1])
    for one in (table.iloc[0], table.iloc[0].to_dict()):
        pd.testing.assert_frame_equal(model.explain(one), expected)


@pytest.mark.parametrize(
    ("scaling", "message"),
    [({"base_points": 600}, "points_to_double"), ({"base_points": np.inf}, "finite")],
)
def test_wrong_points_are_refused(scaling: dict[str, float], message: str) -> None:
    model = PrivateScorecard(schema=SCHEMA, random_state=0).fit(hospital(200))
    with pytest.raises(ValueError, match=message):
        model.table(**scaling)


@pytest.mark.parametrize("wrong", [[1], "age"])
def test_monotone_must_be_a_mapping(wrong: object) -> None:
    with pytest.raises(ValueError, match="must be a mapping"):
        PrivateScorecard(schema=SCHEMA, monotone=wrong).plan(100)


@pytest.mark.parametrize(
    "algorithm", [ConditionedDescent("additive"), ConditionedDescent("auto"), Scorecard()]
)
def test_linear_models_refuse_other_scores_before_they_spend(algorithm: Algorithm) -> None:
    model = PrivateLinearClassifier(1.0, data_norm=1.0, algorithm=algorithm)
    with pytest.raises(ValueError, match="PrivateLinearClassifier is linear"):
        model.plan(1000, 3)


def test_a_wrong_name_costs_nothing() -> None:
    ledger = BudgetLedger(Budget(1.0, 1e-6))
    x = np.random.default_rng(0).normal(size=(100, 2)) / 3
    model = PrivateScorecard(1.0, 1e-6, data_norm=1.0, monotone={"x9": 1}, ledger=ledger)
    with pytest.raises(ValueError, match="these are x0, x1"):
        model.fit(x, x[:, 0] > 0)
    assert ledger.spends == ()


def test_columns_may_be_named_as_parts_of_an_explanation() -> None:
    names = ["a", "b", "a x b", "intercept"]
    rows = np.random.default_rng(0).random((3000, 4))
    table = pd.DataFrame(rows, columns=names).assign(y=(rows[:, 0] > rows[:, 1]).astype(int))
    schema = {name: [0, 1] for name in names} | {"y": {"label": [0, 1]}}
    model = PrivateScorecard(4.0, schema=schema, interactions=[("a", "b")], random_state=0)
    model.fit(table)
    np.testing.assert_allclose(
        model.explain(table[:9]).sum(axis=1), model.decision_function(table[:9])
    )


def test_the_command_line_has_its_parameters(tmp_path: Path) -> None:
    table, schema, path = tmp_path / "t.csv", tmp_path / "s.json", tmp_path / "m.pairdp"
    hospital(500).to_csv(table, index=False)
    schema.write_text(json.dumps(SCHEMA))
    command = ["fit", str(table), "--schema", str(schema), "-o", str(path)]
    given = ["--scorecard", "--increasing", "age", "--pair", "age", "ward"]
    done = CliRunner().invoke(main, [*command, *given])
    assert done.exit_code == 0, done.output
    model = load(path)
    assert (model.monotone, list(map(tuple, model.interactions))) == ({"age": 1}, [("age", "ward")])
    card = model.scorecard_
    points = card[(card["column"] == "age") & (card["bin"] != "missing")]["points"]
    assert (np.diff(points) >= 0).all()
    for wrong, message in (
        (["--increasing", "age"], "--increasing is an option of a scorecard: add --scorecard"),
        (["--scorecard", "--increasing", "ward"], "not a number of the table"),
        (["--scorecard", "--increasing", "age", "--decreasing", "age"], "both"),
        (["--scorecard", "--interactions", "some"], "a number"),
        (["--scorecard", "--interactions", "2", "--pair", "age", "ward"], "one of"),
    ):
        found = CliRunner().invoke(main, [*command[:-1], str(tmp_path / "other"), *wrong])
        assert found.exit_code == 1
        assert message in found.output


def test_axes_of_dates_count_years_or_days() -> None:
    rng = np.random.default_rng(0)
    days = rng.integers(0, 600, 800)
    start = np.datetime64("2023-01-01")
    table = {
        "admitted": (start + days).astype(str).tolist(),
        "seen": (start + days % 20).astype(str).tolist(),
        "died": np.where(days > 300, "yes", "no").tolist(),
    }
    schema = {
        "admitted": {"date": ["2023-01-01", "2025-01-01"]},
        "seen": {"date": ["2023-01-01", "2023-02-01"]},
        "died": {"label": ["no", "yes"]},
    }
    model = PrivateScorecard(4.0, schema=schema, random_state=0).fit(table)
    years, seen = model.figures()
    assert years.x.name == "admitted (year)"
    assert all(2023 <= x <= 2025.01 for x in years.xs)
    assert seen.x.name == "seen (days since 2023-01-01)"
    assert all(0 <= x <= 31 for x in seen.xs)


def test_a_column_with_the_name_of_a_part_of_a_date_is_refused() -> None:
    schema = {
        "admitted": DATE,
        "admitted (weekday)": [0, 6],
        "died": {"label": ["no", "yes"]},
    }
    with pytest.raises(ValueError, match=r"both called 'admitted \(weekday\)'"):
        PrivateScorecard(schema=schema, monotone={"admitted (weekday)": 1}).plan(100)


def test_figures_have_the_scale_of_the_schema() -> None:
    rng = np.random.default_rng(0)
    income = rng.lognormal(10, 1, 2000)
    table = {"income": income, "died": np.where(income > 2e4, "yes", "no")}
    schema = {"income": {"range": [1, 1e6], "scale": "log"}, "died": {"label": ["no", "yes"]}}
    model = PrivateScorecard(8.0, schema=schema, random_state=0).fit(table)
    (figure,) = model.figures()
    assert figure.x.scale == "log"
    ends = json.loads(model.to_json())["columns"]["income"]
    middles = [np.sqrt(one["lower"] * one["upper"]) for one in ends]
    np.testing.assert_allclose(figure.xs, middles)


def test_bins_between_two_dates_are_not_drawn() -> None:
    """Fine bins of a month hold parts of a day, which no date lies in."""
    rng = np.random.default_rng(0)
    days = rng.integers(0, 30, 800)
    table = {
        "seen": (np.datetime64("2023-01-01") + days).astype(str).tolist(),
        "died": np.where(days > 15, "yes", "no").tolist(),
    }
    schema = {"seen": {"date": ["2023-01-01", "2023-02-01"]}, "died": {"label": ["no", "yes"]}}
    for seed in range(3):
        model = PrivateScorecard(4.0, schema=schema, resolution=128, random_state=seed).fit(table)
        (figure,) = model.figures()
        assert len(figure.xs) == len(model.table()) <= 31
