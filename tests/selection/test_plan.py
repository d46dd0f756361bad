"""What a search costs and what it is expected to lose, from public facts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pairdp import (
    Budget,
    PrivateLinearClassifier,
    PrivateMetric,
    PrivateRanker,
    PrivateScorecard,
    PrivateSearch,
)
from pairdp.algorithms import MomentRelease, Scorecard
from pairdp.evaluation.selection import ModelSelection
from pairdp.privacy import NoiseSource, Unit
from pairdp.selection import SearchPlan

RANKER = PrivateRanker(1.0, 1e-6, algorithm="moments", data_norm=1.0)
LINEAR = PrivateRanker(1.0, 1e-6, model="linear", algorithm="moments", data_norm=1.0)
RIDGES = [{"algorithm": MomentRelease(ridge=ridge)} for ridge in (0.0, 0.01, 0.1, 1.0)]


def plan(candidates: object, n: int = 20_000, **options: object) -> SearchPlan:
    return PrivateSearch(RANKER, candidates, **options).plan(n, 5)


@pytest.mark.parametrize(
    "free",
    [
        {"regularization": [0.0, 0.1, 1.0]},
        {"radius": [0.5, 1.0], "regularization": [0.0, 0.1]},
        {"threshold": ["midpoint", 0.0]},
        RIDGES,
    ],
)
def test_what_is_computed_from_one_release_is_paid_for_once(free: object) -> None:
    found = plan(free)
    assert found.method == "free"
    for each in found.candidates:
        assert each.plan.task.budget == Budget(1.0, 1e-6)
        assert each.plan.certificate.releases == found.candidates[0].plan.certificate.releases


@pytest.mark.parametrize(
    "free",
    [
        {"monotone": [None, {"x0": 1}, {"x0": -1}]},
        {"smoothing": [0.0, 1.0, 10.0], "shrinkage": [0.0, 0.5, 1.0]},
        {"smoothing": [0.0, 1.0], "monotone": [None, {"x0": 1}]},
    ],
)
def test_scorecards_from_the_same_histograms_are_free(free: object) -> None:
    found = PrivateSearch(PrivateScorecard(1.0, 1e-6, data_norm=1.0), free).plan(5000, 3)
    assert found.method == "free"
    for each in found.candidates:
        assert each.plan.task.budget == Budget(1.0, 1e-6)
        assert each.plan.certificate.releases == found.candidates[0].plan.certificate.releases


def test_an_additive_ranker_has_the_same_free_candidates() -> None:
    schema = {"x": [0, 1], "z": ["a", "b"], "y": {"label": ["no", "yes"]}}
    ranker = PrivateRanker(1.0, 1e-6, schema=schema)
    grid = {"algorithm": [Scorecard(smoothing=strength) for strength in (0.0, 1.0)]}
    assert PrivateSearch(ranker, grid).plan(5000).method == "free"


@pytest.mark.parametrize(
    "values",
    [
        {"interactions": [False, True]},
        {"interactions": [[(0, 1)], [(0, 2)]]},
        {"resolution": [0, 64]},
    ],
)
def test_scorecards_with_other_products_or_bins_are_paid_for(values: dict[str, Any]) -> None:
    card = PrivateScorecard(1.0, 1e-6, data_norm=1.0)
    search = PrivateSearch(card, {**values, "smoothing": [0.0, 1.0]})
    assert search.plan(50_000, 3).groups == 2


@pytest.mark.parametrize(
    "paid",
    [
        [{"algorithm": MomentRelease(share=0.1)}, {"algorithm": MomentRelease(share=0.3)}],
        [{"algorithm": "moments"}, {"algorithm": "DPGDC2"}],
        [{"features": [0, 1]}, {"features": [2, 3]}],
        [{"data_norm": 1.0}, {"data_norm": 2.0}],
        [("a", RANKER), ("b", PrivateLinearClassifier(1.0, 1e-6, data_norm=1.0))],
        [{"algorithm": "DPGDC2", "radius": 1.0}, {"algorithm": "DPGDC2", "radius": 0.5}],
    ],
)
def test_other_candidates_share_the_budget(paid: object) -> None:
    found = plan(paid)
    assert (found.method, found.groups) == ("split", 2)
    part = found.candidates[0].plan.task.budget
    assert part is not None
    assert 0.6 < part.epsilon < 0.75  # 1/√2, as Gaussian releases compose
    assert found.certificate.budget == Budget(1.0, 1e-6)
    assert found.certificate.holds


def test_groups_of_free_candidates_share_the_budget() -> None:
    found = plan([*RIDGES, {"algorithm": "DPGDC2"}])
    assert [each.group for each in found.candidates] == [0, 0, 0, 0, 1]
    assert found.groups == 2


def test_a_pure_budget_is_split_by_addition() -> None:
    search = PrivateSearch(
        RANKER, [{"algorithm": MomentRelease(share=s)} for s in (0.1, 0.3)], Budget(1.0)
    )
    found = search.plan(20_000, 5)
    assert {each.plan.task.budget for each in found.candidates} == {Budget(0.5)}
    assert found.certificate.epsilon(0.0) <= 1.0


def test_both_parts_get_the_whole_budget_and_a_record_is_in_one() -> None:
    found = plan(RIDGES)
    assert found.selection.mechanism.event().epsilon == pytest.approx(1.0, rel=1e-6)  # type: ignore[union-attr]
    assert found.certificate.epsilon() <= 1.0 + 1e-9
    assert found.certificate.n == 20_000
    sizes = {r.part.name: r.part.size for r in found.certificate.releases if r.part is not None}
    assert sizes == {"training": 16_000, "selection": 4000}


def test_the_loss_of_a_choice_is_that_of_the_mechanism() -> None:
    chosen = ModelSelection(4).plan(1000, Budget(1.0))
    size = 0.4375 * 1000
    assert chosen.expected_loss() == pytest.approx(2 * (1 / 2 + 1 / 3 + 1 / 4) / size, rel=1e-2)
    assert chosen.likely_loss() == pytest.approx(2 * math.log(15) / size, rel=1e-2)
    assert chosen.expected_loss() < 2 * math.log(4) / size
    with pytest.raises(ValueError, match="share"):
        chosen.expected_loss(0.0)


def test_units_cost_as_many_times_as_they_have_records() -> None:
    one = ModelSelection(4).plan(1000, Budget(1.0))
    three = ModelSelection(4).plan(1000, Budget(1.0), Unit("person", 3))
    assert three.expected_loss() == pytest.approx(3 * one.expected_loss(), rel=1e-5)


def test_the_choice_is_among_models_with_scores_for_every_record() -> None:
    chosen = ModelSelection(2).plan(6, Budget(50.0))
    signs = [np.array([1.0, -1.0] * 3)] * 2
    scores = [np.array([0.0, 1.0] * 3), np.array([1.0, 0.0] * 3)]
    assert chosen.run(scores, signs, NoiseSource(0)) == 1
    with pytest.raises(ValueError, match="6 numbers"):
        chosen.run([scores[0][:5], scores[1]], signs, NoiseSource(0))
    with pytest.raises(ValueError, match="2 models"):
        chosen.run(scores[:1], signs, NoiseSource(0))


def test_a_plan_says_beforehand_when_records_are_too_few() -> None:
    assert PrivateSearch(LINEAR, RIDGES, share=0.3).plan(20_000, 5).warnings == ()
    few = plan(RIDGES, n=500)
    assert "too few to tell candidates apart" in few.warnings[0]
    assert "searching is expected to cost" in few.warnings[1]
    assert "too few" in str(few)
    assert few.cost > 0.01


def test_a_plan_says_when_auto_would_learn_another_kind_of_model() -> None:
    schema = {f"x{i}": [0, 1] for i in range(8)} | {"y": {"label": ["no", "yes"]}}
    ranker = PrivateRanker(1.0, 1e-6, schema=schema)
    linear = PrivateSearch(ranker, RIDGES).plan(50_000)
    assert linear.auto in ("additive", "quadratic")
    assert f"a model that is {linear.auto}, and all candidates are linear" in linear.warnings[-1]
    models = [{"model": model} for model in ("linear", "additive", "quadratic")]
    among = PrivateSearch(ranker, models).plan(50_000)
    assert not any("a model that is" in sentence for sentence in among.warnings)


def test_the_cost_grows_with_the_number_of_paid_candidates() -> None:
    shares = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
    costs = [
        plan([{"algorithm": MomentRelease(share=s)} for s in shares[:count]], n=5000).cost
        for count in (2, 4, 6)
    ]
    assert costs == sorted(costs)
    assert costs[0] > plan(RIDGES[:2], n=5000).cost


def test_a_plan_needs_no_data_and_is_printed() -> None:
    text = str(plan(RIDGES))
    for words in ("Private search for n = 20000", "paid for once", '"auto"', "candidate 3"):
        assert words in text


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ({}, "at least two candidates"),
        ([{"radius": 1.0}], "at least two candidates"),
        ("radius", "candidates must be a grid"),
        ([1, 2], "candidates must be a grid"),
        ([{"epsilon": 1.0}, {"epsilon": 2.0}], "epsilon is that of the search"),
        ([{"features": [0, 0]}, {}], "different columns"),
        ([("a", 3), ("b", 4)], "private estimators with scores"),
        ([{"max_records": 2}, {}], "same unit"),
        ([{"response_bounds": (0, 1)}, {}], "graded response"),
        ([{"schema": {"a": [0, 1]}, "data_norm": None}, {}], "all candidates must have a schema"),
        ([("a", PrivateMetric()), ("b", RANKER)], "private estimators with scores"),
    ],
)
def test_wrong_candidates_are_refused(candidates: object, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        plan(candidates)


def test_a_search_needs_a_budget() -> None:
    with pytest.raises(ValueError, match="needs a budget"):
        PrivateSearch(PrivateRanker(None), RIDGES).plan(1000, 3)
    with pytest.raises(TypeError, match="must be a Budget"):
        PrivateSearch(RANKER, RIDGES, 1.0).plan(1000, 3)  # type: ignore[arg-type]
