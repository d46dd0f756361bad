"""`evaluate` for rankers of graded responses: the concordance over matched pairs."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.pipeline import make_pipeline

from pairdp import (
    BoundsScaler,
    Budget,
    Evaluation,
    PrivateRanker,
    Unit,
    evaluate,
    load,
    plan_evaluation,
    verify,
)
from pairdp.estimators.graded import concordance
from pairdp.evaluation import ConcordanceEvaluation
from pairdp.evaluation.concordance import ConcordancePlan
from pairdp.evaluation.pair_distances import matching, ordered_pairs
from pairdp.evaluation.plan import noise_of
from pairdp.evaluation.score_result import ScoreResult

Array = NDArray[np.float64]
RNG = np.random.default_rng(0)
N = 1200
X = RNG.uniform(-0.5, 0.5, (N, 3))
Y = np.clip(np.round(2 * X @ [2, -1, 0.5] + RNG.normal(size=N) / 2), -3, 3)
FRAME = pd.DataFrame(X, columns=list("abc")).assign(cost=Y)
SCHEMA = {"a": [-1, 1], "b": [-1, 1], "c": [-1, 1], "cost": {"target": [-2, 2]}}
OPTIONS: dict[str, Any] = {"algorithm": "DPGDSC", "response_levels": 5, "random_state": 0}
BOUNDED: dict[str, Any] = {"data_norm": 1.0, "response_bounds": (-2, 2), **OPTIONS}


@cache
def model(kind: str) -> Any:
    match kind:
        case "schema":
            return PrivateRanker(20.0, schema=SCHEMA, **OPTIONS).fit(FRAME)
        case "pipeline":
            scaler = BoundsScaler([-1.0] * 3, [1.0] * 3)
            return make_pipeline(scaler, PrivateRanker(20.0, **BOUNDED)).fit(X, Y)
    return PrivateRanker(20.0, **BOUNDED).fit(X, Y)


def counted(scores: Array, responses: Array) -> tuple[float, int]:
    """Return the sum over matched pairs of 1, ½ or 0, and how many have different responses."""
    total, number = 0.0, 0
    for one, other in zip(*matching(len(scores)), strict=True):
        low, high = sorted((one, other), key=lambda place: float(responses[place]))
        if np.isnan(responses[[one, other]]).any() or np.isnan(scores[[one, other]]).any():
            continue
        if responses[low] != responses[high]:
            number += 1
            total += 0.5 if scores[low] == scores[high] else float(scores[low] < scores[high])
    return total, number


@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_pairs_are_those_of_brute_force(levels: int) -> None:
    rng = np.random.default_rng(levels)
    for n in (2, 3, 50, 51):
        scores, responses = rng.integers(0, levels, (2, n)).astype(float)
        scores[rng.random(n) < 0.1] = np.nan
        responses[rng.random(n) < 0.1] = np.nan
        right = ordered_pairs(scores, responses)
        known = right[~np.isnan(right)]
        assert right.shape == (n // 2,)
        assert (known.sum(), known.size) == counted(scores, responses)
        plan = ConcordanceEvaluation().plan(n, Budget(1.0))
        ((centred, weighted),) = plan.exact(right)
        assert (centred, weighted) == (known.sum() - known.size / 2, known.size / 2)


@pytest.mark.parametrize("kind", ["ranker", "pipeline", "schema"])
def test_the_concordance_is_released(kind: str) -> None:
    fitted = model(kind)
    x, y = (FRAME, None) if kind == "schema" else (X, Y)
    found = evaluate(fitted, x, y, 20.0, random_state=0)
    responses = np.clip(Y, -2, 2)  # those beyond the bounds are equal
    scores = fitted.decision_function(FRAME[list("abc")] if kind == "schema" else X)
    total, number = counted(scores, responses)
    assert found.concordance == pytest.approx(total / number, abs=0.01)
    assert found.null_pairs == pytest.approx(N // 2 - number, abs=4)
    interval = found.concordance_interval
    assert interval.lower < concordance(responses, scores) < interval.upper
    assert interval.width < 0.1
    assert verify(found.certificate).holds
    assert Evaluation.from_json(found.to_json()) == found
    assert "concordance" in str(found)
    with pytest.raises(TypeError, match="has no auc"):
        evaluate(fitted, x, y, 1.0, measure="auc")
    with pytest.raises(ValueError, match="another measure"):
        evaluate(fitted, x, y, 1.0, roc=True)


def test_records_that_cannot_be_read_are_in_no_pair() -> None:
    rows, responses = X.astype(object), Y.astype(object)
    rows[:100, 0], responses[100:200] = None, "high"
    with pytest.raises(ValueError, match="cannot be read"):
        evaluate(model("ranker"), rows, Y, 1.0)
    with pytest.raises(ValueError, match="finite numbers"):
        evaluate(model("ranker"), X, responses, 1.0)
    found = evaluate(model("ranker"), rows, responses, 20.0, invalid="null", random_state=0)
    known = np.r_[np.full(200, np.nan), np.clip(Y[200:], -2, 2)]
    total, number = counted(model("ranker").decision_function(X), known)
    assert found.concordance == pytest.approx(total / number, abs=0.01)


def test_a_public_range_of_the_model_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="leave out target_range"):
        evaluate(model("ranker"), X, Y, 1.0, target_range=(-3, 3))
    with pytest.raises(TypeError, match="needs a fitted model"):
        evaluate(PrivateRanker(20.0, **BOUNDED), X, Y, 1.0)


def test_plans_say_what_is_hopeless() -> None:
    plan = plan_evaluation(1000, 0.5, measure="concordance")
    assert isinstance(plan, ConcordancePlan)
    assert (plan.items, plan.together, plan.is_hopeless()) == (500, 1, False)
    assert 0.7 < plan.expected_interval().lower < 0.8 < plan.expected_interval().upper < 0.9
    assert "interval of a concordance of 0.8" in str(plan)
    of_units = plan_evaluation(1000, 0.5, measure="concordance", max_records=3)
    assert of_units.together == 5
    assert of_units.expected_interval().width > 2 * plan.expected_interval().width
    assert plan_evaluation(30, 0.5, measure="concordance").is_hopeless()
    with pytest.raises(ValueError, match="15 pairs and this budget, nothing can be said"):
        evaluate(model("ranker"), X[:30], Y[:30], 0.5)
    with pytest.raises(ValueError, match="at least 2"):
        plan_evaluation(1, 0.5, measure="concordance")


@pytest.mark.parametrize("kind", ["bounds", "schema"])
def test_records_are_held_out(kind: str, tmp_path: Path) -> None:
    """The evaluation is that of `evaluate` on the rows that were held out."""
    schema = kind == "schema"
    ranker = (
        PrivateRanker(20.0, schema=SCHEMA, **OPTIONS) if schema else PrivateRanker(20.0, **BOUNDED)
    )
    given = (FRAME,) if schema else (X, Y)
    ranker.fit(*given, evaluation_share=0.5)
    found: Any = ranker.evaluation_
    rows = ranker.plan_with_evaluation(N, 3, evaluation_share=0.5).split.places(N)
    scores = ranker.decision_function(FRAME[list("abc")] if schema else X)
    total, number = counted(scores[rows], np.clip(Y[rows], -2, 2))
    assert found.concordance == pytest.approx(total / number, abs=0.02)
    assert (found.plan.n, found.plan.items) == (N // 2, N // 4)
    assert verify(ranker.certificate_).holds
    ranker.save(tmp_path / "model.pairdp")
    assert load(tmp_path / "model.pairdp").evaluation_ == found


def test_units_are_held_out() -> None:
    of_units = PrivateRanker(20.0, unit="person", max_records=2, **BOUNDED)
    of_units.fit(X, Y, groups=np.arange(N) // 2, evaluation_share=0.5)
    assert of_units.evaluation_.plan.together == 3
    assert not isinstance(of_units.evaluation_, ScoreResult)
    assert verify(of_units.certificate_).holds


DRAWS, CELLS = 1000, 20
# For cells that cover 0.95, the chance that any of them is below this is 1e-7.
FEWEST = int(binom.ppf(1e-7 / CELLS, DRAWS, 0.95))


def kept(plan: ConcordancePlan, right: Array, p: float, rng: np.random.Generator) -> bool:
    (release,), (exact,) = plan.certificate.releases, plan.exact(right)
    scale, gaussian = noise_of(release)
    draw = rng.normal if gaussian else rng.laplace
    return plan.read((exact + draw(scale=scale, size=exact.size)).tolist()).is_kept(p)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("records", [1, 3])
def test_intervals_cover(records: int, noise: Any) -> None:
    """Scores of a share p of persons are their responses, and minus these for the others.

    For responses that are symmetric about 0, a pair of two kinds of persons is in the right order
    with probability ½, so the concordance is p² + p(1 - p) = p.
    """
    rng, n = np.random.default_rng(records), 600
    unit = Unit("person", records) if records > 1 else None
    for p, epsilon in itertools.product((0.5, 0.95), (0.2, 2.0)):
        budget = Budget(epsilon, 1e-6 if noise == "gaussian" else 0.0)
        plan = ConcordanceEvaluation(noise).plan(n, budget, unit)
        found = 0
        for _ in range(DRAWS):
            sign = np.where(rng.random(n // records) < p, 1.0, -1.0)
            responses = rng.integers(-20, 21, n) / 20 if records == 1 else rng.uniform(-1, 1, n)
            scores = np.repeat(sign, records) * (responses + rng.uniform(0, 1e-9, n))
            found += kept(plan, ordered_pairs(scores, responses), p, rng)
        assert found >= FEWEST, (p, epsilon, found / DRAWS)


@pytest.mark.slow
@pytest.mark.parametrize("tied", [0.1, 0.6])
def test_intervals_cover_with_equal_scores(tied: float) -> None:
    """Pairs that are tied, wrong, null or right."""
    rng = np.random.default_rng(0)
    for epsilon, wrong in itertools.product((0.2, 2.0), (0.0, 0.2)):
        plan = ConcordanceEvaluation().plan(600, Budget(epsilon))
        found = 0
        for _ in range(DRAWS):
            chances = [tied, wrong, 1 - tied - wrong]
            right = rng.choice([0.5, 0.0, 1.0], p=chances, size=300)
            right[rng.random(300) < 0.2] = np.nan
            found += kept(plan, right, 1 - wrong - tied / 2, rng)
        assert found >= FEWEST, (epsilon, wrong, found / DRAWS)


@pytest.mark.slow
def test_intervals_that_are_too_narrow_are_found() -> None:
    """Noise that is thrice what the plan says."""
    rng = np.random.default_rng(0)
    little, much = (ConcordanceEvaluation().plan(600, Budget(e)) for e in (0.3, 0.1))
    found = 0
    for _ in range(DRAWS):
        right = (rng.random(300) < 0.8).astype(float)
        numbers = much.exact(right)[0] + rng.laplace(scale=10.0, size=2)
        found += little.read(numbers.tolist()).is_kept(0.8)
    assert found < FEWEST
