"""The table by which a kind of model is chosen."""

from __future__ import annotations

import pytest

from pairdp import PrivateRanker, PrivateScorecard
from pairdp.algorithms.choice.models import (
    RULES,
    TableTask,
    choose_scores,
    reason_for,
    rule_for,
)
from pairdp.algorithms.score_models import model_of
from pairdp.algorithms.scorecard.cells import CategoryCells, NumberCells
from pairdp.privacy import Budget, Unit

COLUMNS = (*(NumberCells(i, -1, 1) for i in range(4)), *(CategoryCells((i,)) for i in range(4, 8)))
NO_SCHEMA = "there is no schema and"
WITH_DELTA, PURE = Budget(1.0, 1e-6), Budget(1.0)  # µ = 0.237, and ε


def task(n: int, budget: Budget | None = WITH_DELTA, schema: bool = True, k: int = 1) -> TableTask:
    unit = None if k == 1 else Unit("patient", k)
    return TableTask(n, 8, budget, COLUMNS if schema else (), unit=unit)


@pytest.mark.parametrize(
    ("facts", "model", "when"),
    [
        (task(10**6, None), "linear", "there is no noise"),
        (task(10**6, PURE, schema=False), "linear", "ε is pure, and there is no schema"),
        (task(799, PURE), "linear", "ε is pure, and there is no schema or nµ < 100·d"),
        (task(801, PURE), "additive", "ε is pure"),
        (task(160, schema=False), "linear", f"{NO_SCHEMA} nµ < 20·d"),
        (task(160), "additive", "nµ < 5·d"),
        (task(180, schema=False), "linear", f"{NO_SCHEMA} nµ < 20·d"),
        (task(660, schema=False), "linear", f"{NO_SCHEMA} nµ < 20·d"),
        (task(180), "additive", "nµ < 30·d"),
        (task(690, schema=False), "additive", "nµ < 30·d"),
        (task(1000), "additive", "nµ < 30·d"),
        (task(1020), "additive", "nµ < 16·d²"),
        (task(1020, schema=False), "additive", "nµ < 16·d²"),
        (task(4200), "additive", "nµ < 16·d²"),
        (task(4400), "quadratic", "nµ ≥ 16·d²"),
        (task(4400, k=2), "additive", "nµ < 16·d²"),
        (task(4400, schema=False), "quadratic", "nµ ≥ 16·d²"),
        (task(600, Budget(1e4, 1e-6)), "quadratic", "nµ ≥ 16·d²"),
        (task(500, Budget(1e4, 1e-6)), "additive", "nµ < 16·d²"),
    ],
)
def test_the_first_rule_that_applies(facts: TableTask, model: str, when: str) -> None:
    rule = rule_for(facts)
    assert rule.model == model
    assert rule.when.startswith(when)
    assert f"{rule.model}, as {rule.when}" in reason_for(rule, facts)


def test_expected_ranges_are_ranges() -> None:
    for rule in RULES:
        for found in (rule.auc, rule.difference):
            assert found is None or found.low < found.high


def test_no_model_of_many_columns_is_quadratic() -> None:
    for columns, model in ((30, "quadratic"), (31, "additive")):
        plan = PrivateRanker(2.0, data_norm=1.0).plan(10**6, columns)
        assert plan.reasons[0].startswith(f"auto: the model is {model}")
        assert model_of(plan) == model


def test_a_table_with_a_huge_category_has_a_linear_ranker() -> None:
    schema = {
        "age": [0, 100],
        "postcode": [f"P{place}" for place in range(5000)],
        "died": {"label": ["no", "yes"]},
    }
    plan = PrivateRanker(schema=schema).plan(10_000)
    assert model_of(plan) == "linear"
    assert "as a column has more than 4095 categories" in plan.reasons[0]
    assert model_of(PrivateRanker(schema=schema, model="linear").plan(10_000)) == "linear"
    for estimator in (PrivateRanker(schema=schema, model="additive"), PrivateScorecard()):
        with pytest.raises(ValueError, match="5000 categories, and a scorecard takes at most 4095"):
            estimator.set_params(schema=schema).plan(10_000)


def test_a_model_has_an_algorithm_for_the_columns() -> None:
    for model in ("additive", "quadratic"):
        plan = choose_scores(task(2000), model).plan()
        assert plan.algorithm.columns == COLUMNS  # type: ignore[attr-defined]
        assert plan.algorithm.interactions == (model == "quadratic")  # type: ignore[attr-defined]
        assert plan.certificate.holds


def test_the_documentation_has_the_table() -> None:
    from pathlib import Path

    page = (Path(__file__).parents[3] / "docs" / "estimators.md").read_text()
    lines = page.splitlines()
    places = [next(i for i, line in enumerate(lines) if line.startswith(f"| {rule.when} |"))
              for rule in RULES]  # fmt: skip
    assert places == list(range(places[0], places[0] + len(RULES)))
    assert not lines[places[-1] + 1]
    for rule, place in zip(RULES, places, strict=True):
        row = lines[place]
        assert rule.model in row
        if rule.auc is not None:
            assert f"{rule.auc.low:.2f} to {rule.auc.high:.2f}" in row
        if rule.difference is not None:
            assert f"{rule.difference.low:+.2f} to {rule.difference.high:+.2f}" in row
