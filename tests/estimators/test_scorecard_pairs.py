"""Pairs of columns in a PrivateScorecard: named, chosen privately, or all of them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairdp import PrivateScorecard, load, verify
from tests.estimators.data import FEW_RECORDS

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)

SCHEMA = {
    "age": [18, 90],
    "hours": {"range": [0, 80], "missing": "indicator"},
    "sex": ["F", "M"],
    "ward": {"categories": ["ICU", "Surgery"], "other": True},
    "died": {"label": ["no", "yes"]},
}


def people(n: int = 8000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, hours = rng.integers(18, 90, n), rng.uniform(0, 80, n).round(1)
    sex, ward = rng.choice(["F", "M"], n), rng.choice(["ICU", "Surgery", "Medicine"], n)
    score = (age - 54) * (hours - 40) / 250 + 0.8 * (sex == "M") - 0.7 * (ward == "ICU")
    died = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")
    hours = np.where(rng.random(n) < 0.05, np.nan, hours)
    return pd.DataFrame({"age": age, "hours": hours, "sex": sex, "ward": ward, "died": died})


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return people()


def fitted(table: pd.DataFrame, interactions: object, epsilon: float = 2.0) -> PrivateScorecard:
    model = PrivateScorecard(
        epsilon,
        schema=SCHEMA,
        interactions=interactions,  # type: ignore[arg-type]
        random_state=0,
    )
    return model.fit(table)


@pytest.fixture(scope="module")
def named(table: pd.DataFrame) -> PrivateScorecard:
    return fitted(table, [("hours", "age"), ("sex", "ward")])


@pytest.fixture(scope="module")
def chosen(table: pd.DataFrame) -> PrivateScorecard:
    return fitted(table, 1)


def test_named_and_chosen_pairs_are_learned(
    table: pd.DataFrame, named: PrivateScorecard, chosen: PrivateScorecard
) -> None:
    test = people(seed=1)
    additive = fitted(table, False)
    assert additive.score(test) < 0.72
    assert named.score(test) > additive.score(test) + 0.1
    assert chosen.score(test) > additive.score(test) + 0.1
    assert np.argwhere(chosen.interactions_ != 0).tolist() == [[0, 1]]
    assert verify(chosen.certificate_).holds
    names = [release.name for release in chosen.certificate_.releases]
    assert "gradient of products" in names
    assert "gradient of products" not in [r.name for r in named.certificate_.releases]


def test_points_of_pairs_add_up_with_those_of_columns(
    named: PrivateScorecard, chosen: PrivateScorecard, table: pd.DataFrame
) -> None:
    some = people(60, seed=2)
    for model in (named, chosen, fitted(table, "all")):
        explained = model.explain(some)
        np.testing.assert_allclose(explained.sum(axis=1), model.decision_function(some))
    assert "age x hours" in chosen.explain(some).columns
    assert list(named.explain(some).columns)[-2:] == ["age x hours", "sex x ward"]


def test_the_table_and_figures_have_pairs(named: PrivateScorecard, tmp_path: Path) -> None:
    card = named.table()
    pairs = card[card["column"] == "sex x ward"]
    assert pairs["bin"].tolist() == [
        f"{sex} x {ward}" for sex in "FM" for ward in ("ICU", "Surgery", "other")
    ]
    explained = named.explain(pd.DataFrame({**people(1), "sex": ["M"], "ward": ["ICU"]}))
    found = pairs.set_index("bin")["points"]["M x ICU"]
    assert found == pytest.approx(explained["sex x ward"].iloc[0])
    assert (card["noise"] >= 0).all()
    doubled = named.table(points_to_double=20)
    both = doubled[doubled["column"] == "sex x ward"]["points"] / pairs["points"]
    np.testing.assert_allclose(both, 20 / np.log(2))
    titles = [figure.title for figure in named.figures()]
    assert titles == ["age", "hours", "sex", "ward", "age x hours", "sex x ward"]
    named.write_figures(tmp_path / "card.html")
    assert "age x hours" in (tmp_path / "card.html").read_text()


@pytest.mark.parametrize("interactions", [[("age", "hours"), ("sex", "ward")], 2, True])
def test_sql_and_json_have_products(table: pd.DataFrame, interactions: object) -> None:
    model = fitted(table, interactions, 8.0)
    some = people(200, seed=4)
    with sqlite3.connect(":memory:") as database:
        some.to_sql("people", database, index=False)
        query = f"SELECT {model.to_sql()} FROM people"  # noqa: S608
        found = [row[0] for row in database.execute(query)]
    np.testing.assert_allclose(found, model.decision_function(some), rtol=1e-9)
    document = json.loads(model.to_json())
    assert len(document["interactions"]) == (10 if interactions is True else 2)
    if interactions is not True:
        assert set(document["factors"]) >= {"age", "hours"}


def test_files(chosen: PrivateScorecard, tmp_path: Path) -> None:
    chosen.save(tmp_path / "card.pairdp")
    loaded = load(tmp_path / "card.pairdp")
    some = people(50, seed=5)
    np.testing.assert_array_equal(loaded.decision_function(some), chosen.decision_function(some))
    pd.testing.assert_frame_equal(loaded.table(), chosen.table())


def test_small_budgets_leave_products_out(table: pd.DataFrame) -> None:
    plan = PrivateScorecard(0.05, schema=SCHEMA, interactions=3).plan(2000)
    assert [r.name for r in plan.certificate.releases].count("gradient of products") == 0
    assert "too small" in " ".join(plan.reasons)
    model = fitted(table[:400], 3, 0.5)
    assert model.explain(people(5)).shape[1] == 5


def test_arrays_name_pairs_by_place() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.5, 0.5, (3000, 3))
    y = (x[:, 0] * x[:, 2] > 0).astype(int)
    model = PrivateScorecard(4.0, data_norm=1.0, interactions=[(0, 2)], random_state=0).fit(x, y)
    assert model.score(x, y) > 0.85
    assert "x0 x x2" in model.explain(x[:3]).columns


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([("age", "income")], "not a column of the schema"),
        ([("age", "age")], "different"),
        ([("age", "sex"), ("sex", "age")], "twice"),
        ("some", "interactions"),
        (7, "cannot be chosen"),
        (-1, "at least 0"),
        (2.5, "a list of pairs"),
        (("amount", "term"), "a list of pairs"),
        ([("amount", "term", "purpose")], "a list of pairs"),
    ],
)
def test_wrong_pairs_are_refused(table: pd.DataFrame, wrong: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fitted(table[:100], wrong)
