"""PrivateScorecard: tables of points, exports, files and the contract of scikit-learn."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.utils.estimator_checks import parametrize_with_checks

from pairdp import NoSignalWarning, PrivateScorecard, load, verify
from pairdp.cli.main import main
from pairdp.model_file import ModelFileError
from pairdp.verification import verify_model
from tests.estimators.data import FEW_RECORDS

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)

SCHEMA = {
    "age": [0, 120],
    "sex": ["F", "M"],
    "pressure": {"range": [60, 260], "missing": "indicator"},
    "crp": {"range": [0.1, 500], "scale": "log", "missing": 5.0},
    "ward": {"categories": ["ICU", "Surgery"], "other": True},
    "smoker": {"flag": ["never", "yes"], "missing": "indicator"},
    "died": {"label": ["no", "yes"]},
}


def hospital(n: int = 3000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 100, n)
    ward = rng.choice(["ICU", "Surgery", "Medicine"], n)
    logit = (age - 60) / 10 + 1.5 * (ward == "ICU")
    return pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["F", "M"], n),
            "pressure": np.where(rng.random(n) < 0.1, np.nan, rng.normal(130, 20, n).round(1)),
            "crp": np.where(rng.random(n) < 0.1, np.nan, np.exp(rng.normal(1, 1, n)).round(2)),
            "ward": ward,
            "smoker": rng.choice(np.array(["never", "yes", None], dtype=object), n),
            "died": np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return hospital()


@pytest.fixture(scope="module")
def model(table: pd.DataFrame) -> PrivateScorecard:
    return PrivateScorecard(2.0, schema=SCHEMA, random_state=0).fit(table)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([PrivateScorecard(1e3, data_norm=8.0, random_state=0)])
def test_checks_of_scikit_learn(estimator: PrivateScorecard, check: object) -> None:
    check(estimator)  # type: ignore[operator]


def test_it_learns_and_its_certificate_holds(model: PrivateScorecard) -> None:
    assert model.score(hospital(seed=1)) > 0.8
    report = verify(model.certificate_)
    assert report.holds
    assert "schema" in model.privacy_statement()


def test_the_same_seed_gives_the_same_model(model: PrivateScorecard, table: pd.DataFrame) -> None:
    again = PrivateScorecard(2.0, schema=SCHEMA, random_state=0).fit(table)
    np.testing.assert_array_equal(again.points_, model.points_)
    other = PrivateScorecard(2.0, schema=SCHEMA, random_state=1).fit(table)
    assert not np.array_equal(other.points_[:5], model.points_[:5])


def test_points_of_records_add_up_to_their_scores(model: PrivateScorecard) -> None:
    some = hospital(50, seed=2)
    np.testing.assert_allclose(model.explain(some).sum(axis=1), model.decision_function(some))


def test_the_table_names_every_bin(model: PrivateScorecard) -> None:
    card = model.scorecard_
    assert list(card.columns) == ["column", "bin", "points", "noise", "share"]
    assert set(card["column"]) == set(SCHEMA) - {"died"}
    names = card.groupby("column")["bin"].agg(list)
    assert names["sex"] == ["F", "M"]
    assert names["ward"] == ["ICU", "Surgery", "other"]
    assert names["smoker"] == ["yes", "missing", "never"]
    assert names["pressure"][-1] == "missing"
    assert names["age"][0].startswith("[0, ")
    assert names["age"][-1].endswith("120]")
    assert names["crp"][0].startswith("[0.1, ")
    assert (card["noise"] > 0).all()
    age = card[card["column"] == "age"]
    assert age["points"].iloc[-1] > age["points"].iloc[0]


def test_bins_of_integers_are_named_by_them(table: pd.DataFrame) -> None:
    schema = {**SCHEMA, "age": {"range": [18, 100], "integer": True}}
    model = PrivateScorecard(8.0, schema=schema, random_state=0).fit(table)
    names = model.scorecard_.query("column == 'age'")["bin"].tolist()
    ends = [[int(end) for end in name.split(" to ")] for name in names]
    assert [age for one in ends for age in range(one[0], one[-1] + 1)] == list(range(18, 101))
    scores = model.explain(table.assign(age=table["age"].clip(18, 30)))["age"].to_numpy()
    points = model.scorecard_.query("column == 'age'")["points"].to_numpy()
    for age, score in zip(table["age"].clip(18, 30), scores, strict=True):
        place = next(i for i, one in enumerate(ends) if one[0] <= age <= one[-1])
        assert points[place] == pytest.approx(score)


def test_points_double_the_odds(model: PrivateScorecard) -> None:
    some = hospital(20, seed=3)
    card = model.table(points_to_double=20, base_points=600)
    plain = model.scorecard_
    ratio = np.diff(card["points"]) / np.diff(plain["points"])
    inside = plain["column"].to_numpy()[1:] == plain["column"].to_numpy()[:-1]
    np.testing.assert_allclose(ratio[inside & (np.diff(plain["points"]) != 0)], 20 / np.log(2))
    scores = model.decision_function(some)
    shift = (20 / np.log(2) * model.intercept_[0] + 600) / 6
    by_column = model.explain(some).drop(columns="intercept") * 20 / np.log(2) + shift
    np.testing.assert_allclose(by_column.sum(axis=1), 600 + 20 / np.log(2) * scores)


def test_monotone_points(table: pd.DataFrame) -> None:
    for direction in (1, -1):
        model = PrivateScorecard(
            2.0, schema=SCHEMA, monotone={"age": direction}, random_state=0
        ).fit(table)
        card = model.scorecard_
        steps = np.diff(card[card["column"] == "age"]["points"])
        assert np.all(direction * steps >= -1e-12)
    with pytest.raises(ValueError, match="not a number of the table"):
        PrivateScorecard(schema=SCHEMA, monotone={"sex": 1}).fit(table)
    with pytest.raises(ValueError, match="-1 or 1"):
        PrivateScorecard(schema=SCHEMA, monotone={"age": 2}).fit(table)


def test_bins_that_a_monotone_column_pools_have_the_noise_of_their_mean(
    table: pd.DataFrame, model: PrivateScorecard, tmp_path: Path
) -> None:
    given = dict(model.get_params(), monotone={"age": -1})
    pooled = PrivateScorecard(**given).fit(table)
    bins = slice(0, int(model.bins_[0]))
    plain, found = (one.deviations_[bins] for one in (model, pooled))
    blocks = np.cumsum(np.diff(pooled.points_[bins], prepend=np.nan) != 0)
    assert blocks[-1] < plain.size  # age increases
    for block in np.unique(blocks):
        (inside,) = np.nonzero(blocks == block)
        expected = np.average(plain[inside], weights=model.counts_[bins][inside])
        np.testing.assert_allclose(found[inside], expected)
    others = slice(int(model.bins_[0]), None)
    np.testing.assert_array_equal(model.deviations_[others], pooled.deviations_[others])
    np.testing.assert_array_equal(pooled.parameter_noise_.deviation, pooled.deviations_)
    pooled.save(tmp_path / "pooled")
    assert load(tmp_path / "pooled").named_points() == pooled.named_points()


def test_smoothing_pulls_the_points_of_neighbours_together(
    table: pd.DataFrame, model: PrivateScorecard
) -> None:
    smooth = PrivateScorecard(2.0, schema=SCHEMA, smoothing=5.0, random_state=0).fit(table)
    np.testing.assert_array_equal(smooth.edges_, model.edges_)
    for column in ("age", "ward"):
        rough, even = (
            np.abs(np.diff(one.scorecard_.query(f"column == {column!r}")["points"])).sum()
            for one in (model, smooth)
        )
        assert even < 0.9 * rough
    assert smooth.score(hospital(seed=1)) > 0.8
    assert all(report.holds for report in verify_model(smooth))
    with pytest.raises(ValueError, match="smoothing must be"):
        PrivateScorecard(schema=SCHEMA, smoothing=-1.0).fit(table)
    with pytest.raises(ValueError, match="shrinkage must be from 0 to 1"):
        PrivateScorecard(schema=SCHEMA, shrinkage=2.0).fit(table)


def test_sql_gives_the_same_scores(model: PrivateScorecard) -> None:
    some = hospital(300, seed=4)
    with sqlite3.connect(":memory:") as database:
        some.to_sql("patients", database, index=False)
        found = [
            row[0]
            for row in database.execute(f"SELECT {model.to_sql()} FROM patients")  # noqa: S608
        ]
    np.testing.assert_allclose(found, model.decision_function(some), rtol=1e-9)


def test_figures_show_every_column(model: PrivateScorecard, tmp_path: Path) -> None:
    figures = model.figures()
    assert [figure.title for figure in figures] == model.column_names()
    assert all(figure.has_intervals for figure in figures)
    page = tmp_path / "card.html"
    model.write_figures(page)
    assert "log-odds of yes" in page.read_text()


def test_the_command_line_shows_and_predicts(model: PrivateScorecard, tmp_path: Path) -> None:
    path, data = tmp_path / "card.pairdp", tmp_path / "patients.csv"
    model.save(path)
    some = hospital(20, seed=6)
    some.to_csv(data, index=False)
    shown = CliRunner().invoke(main, ["show", str(path)])
    assert "a scorecard: label yes has higher scores than label no" in shown.output
    assert "ward ICU" in shown.output
    found = CliRunner().invoke(main, ["predict", str(path), str(data)])
    scores = [float(line.split(",")[0]) for line in found.output.splitlines()[1:]]
    np.testing.assert_allclose(scores, model.decision_function(some))


def test_the_command_line_fits(table: pd.DataFrame, tmp_path: Path) -> None:
    schema, data, path = (tmp_path / name for name in ("s.json", "p.csv", "card.pairdp"))
    schema.write_text(json.dumps(SCHEMA))
    table.to_csv(data, index=False)
    command = ["fit", str(data), "--schema", str(schema), "--scorecard", "--epsilon", "2"]
    done = CliRunner().invoke(main, [*command, "--seed", "0", "-o", str(path)])
    assert done.exit_code == 0, done.output
    expected = PrivateScorecard(2.0, schema=SCHEMA, random_state=0).fit(table)
    np.testing.assert_allclose(load(path).points_, expected.points_)
    refused = CliRunner().invoke(main, [*command, "--radius", "2", "-o", str(tmp_path / "x")])
    assert refused.exit_code == 1
    assert "leave out --radius" in refused.output
    without = ["fit", str(data), "--label", "died", "--unscaled", "--scorecard", "-o", "x"]
    assert "--schema" in CliRunner().invoke(main, [*without, "--drop", "sex"]).output


def test_json_lists_the_points(model: PrivateScorecard) -> None:
    found = json.loads(model.to_json())
    assert found["high"] == "yes"
    assert [entry["bin"] for entry in found["columns"]["sex"]] == ["F", "M"]


def test_files(model: PrivateScorecard, tmp_path: Path) -> None:
    path = tmp_path / "card.pairdp"
    model.save(path)
    loaded = load(path)
    some = hospital(50, seed=5)
    np.testing.assert_array_equal(loaded.decision_function(some), model.decision_function(some))
    pd.testing.assert_frame_equal(loaded.scorecard_, model.scorecard_)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("points_", lambda a: a[:-1]),
        ("edges_", lambda a: a[::-1]),
        ("bins_", lambda a: a + 1),
        ("deviations_", lambda a: -a),
        ("counts_", lambda a: a[1:]),
        ("factors_", lambda a: np.ones(3)),
        ("interactions_", lambda a: np.ones((2, 2))),
        ("product_deviations_", lambda a: np.ones((2, 2))),
    ],
)
def test_inconsistent_files_are_refused(
    table: pd.DataFrame, tmp_path: Path, name: str, change: object
) -> None:
    model = PrivateScorecard(2.0, schema=SCHEMA, random_state=0).fit(table[:200])
    setattr(model, name, change(getattr(model, name)))  # type: ignore[operator]
    path = tmp_path / "card.pairdp"
    model.save(path)
    with pytest.raises(ModelFileError):
        load(path)


def test_interactions_help_where_columns_interact() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    x = rng.uniform(-1, 1, (n, 3)) / np.sqrt(3)
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    additive = PrivateScorecard(4.0, data_norm=1.0, random_state=0).fit(x, y)
    products = PrivateScorecard(4.0, interactions=True, data_norm=1.0, random_state=0).fit(x, y)
    assert additive.score(x, y) < 0.6
    assert products.score(x, y) > 0.9
    np.testing.assert_allclose(
        products.explain(x[:5]).sum(axis=1), products.decision_function(x[:5])
    )


def test_pure_budgets_and_small_ones(table: pd.DataFrame) -> None:
    pure = PrivateScorecard(2.0, 0.0, schema=SCHEMA, random_state=0).fit(table)
    assert pure.certificate_.budget.is_pure
    assert verify(pure.certificate_).holds
    assert pure.score(hospital(seed=1)) > 0.75
    plan = PrivateScorecard(2.0, 0.0, schema=SCHEMA).plan(10_000)
    assert plan.settings.steps is not None
    assert verify(plan.certificate).holds
    with pytest.warns(NoSignalWarning):
        PrivateScorecard(1e-4, schema=SCHEMA, random_state=0).fit(table[:50])


def test_a_fit_warns_of_products_that_its_budget_does_not_buy(table: pd.DataFrame) -> None:
    card = PrivateScorecard(1.0, schema=SCHEMA, interactions=[("age", "ward")], random_state=0)
    with pytest.warns(NoSignalWarning, match="the product of columns that you asked for"):
        card.fit(table[:300])


def test_units(table: pd.DataFrame) -> None:
    groups = np.arange(len(table)) // 3
    model = PrivateScorecard(2.0, schema=SCHEMA, max_records=2, unit="patient", random_state=0)
    model.fit(table, groups=groups)
    assert "patient" in model.privacy_statement()
    assert verify(model.certificate_).holds


def test_there_is_one_algorithm() -> None:
    with pytest.raises(ValueError, match="one algorithm"):
        PrivateScorecard(schema=SCHEMA).choices(100)
    plan = PrivateScorecard(schema=SCHEMA).plan(10_000)
    assert plan.settings.steps == 6
    assert "clipped gradients" in str(plan)


def test_arrays_have_no_sql(table: pd.DataFrame) -> None:
    x = np.random.default_rng(0).normal(size=(100, 2)) / 3
    model = PrivateScorecard(data_norm=1.0, random_state=0).fit(x, x[:, 0] > 0)
    assert set(model.scorecard_["column"]) == {"x0", "x1"}
    with pytest.raises(ValueError, match="schema"):
        model.to_sql()
