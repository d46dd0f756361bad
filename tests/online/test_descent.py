"""Online descent: sensitivities over a stream, buffers, horizons, models as they come."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms import Plan
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import HingeRanking, LogisticMetric, LogisticRanking
from pairdp.online import OnlineDescent, OnlineSession
from pairdp.privacy import Sensitivity
from pairdp.privacy.bounds.sensitivity import find_bound
from pairdp.problem import Problem
from tests.algorithms.attacks import Neighbours, drawn, staged, transcript

BUDGET = Budget(1.0, 1e-5)
PROBLEMS = {
    "logistic": Problem(LogisticRanking(), L2Ball(1.0)),
    "ridge": Problem(LogisticRanking(), L2Ball(1.0), 0.5),
    "hinge": Problem(HingeRanking(), L2Ball(1.0)),
    "metric": Problem(LogisticMetric(), PSDFrobeniusBall(1.0), 0.1),
}
BOUND = "gradients on a stream of pairs"


@st.composite
def streams(draw: st.DrawFn, longest: int = 300) -> dict[str, float]:
    inputs: dict[str, float] = {"record_diameter": draw(st.floats(0.1, 10))}
    inputs["n"] = draw(st.integers(2, longest))
    if draw(st.booleans()):
        inputs["buffer"] = draw(st.integers(1, longest + 100))
        inputs["reservoir"] = draw(st.integers(0, 1))
    inputs["batch"] = draw(st.sampled_from([1, 1, 2, 3, 7, 50]))
    return inputs


@given(inputs=streams())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_both_routes_agree(inputs: dict[str, float]) -> None:
    bound = find_bound(BOUND)
    assert bound.second_route is not None
    assert bound.formula(**inputs) == pytest.approx(bound.second_route(**inputs), rel=1e-9)


@given(inputs=streams(60))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_bound_counts_every_pair_of_every_record(inputs: dict[str, float]) -> None:
    n, batch = int(inputs["n"]), min(int(inputs["batch"]), int(inputs["n"]))
    kept = int(inputs.get("buffer", n))
    moved = np.zeros(n)
    for start in range(0, n, batch):
        arriving = range(start, min(start + batch, n))
        # Of a reservoir, every record may be the one that stays.
        pool = range(start) if inputs.get("reservoir") else range(max(0, start - kept), start)
        met = min(kept, start)
        pairs = batch * met + batch * (batch - 1) / 2
        if pairs:
            moved[arriving] += ((met + len(arriving) - 1) / pairs) ** 2
            moved[pool] += (len(arriving) / pairs) ** 2
    expected = inputs["record_diameter"] / 2 * np.sqrt(moved.max())
    assert find_bound(BOUND).formula(**inputs) == pytest.approx(expected, rel=1e-9)


def test_the_whole_stream_costs_little_more_than_one_query() -> None:
    for n, buffer, ratio in ((10**6, None, 1.2826), (10**6, 1, 2**0.5), (3, None, 1.25**0.5)):
        inputs = {"record_diameter": 2.0, "n": n, **({} if buffer is None else {"buffer": buffer})}
        assert Sensitivity.of(BOUND, **inputs).value == pytest.approx(ratio, rel=1e-4)


def distance(plan: Plan, pair: Neighbours) -> np.ndarray:
    """How far each released value moves, given everything that was released before."""
    (one, other) = pair.both()
    problem = plan.problem
    first, answers, _ = transcript(plan, problem.records(*one), kick=0.3)
    second, _, _ = transcript(plan, problem.records(*other), answers=answers)
    return np.array([np.linalg.norm(a - b) for a, b in zip(first, second, strict=True)])


SHAPES = [
    {},
    {"buffer": 1},
    {"buffer": 3},
    {"buffer": 2, "replacement": "reservoir"},
    {"batch_size": 3},
    {"batch_size": 2, "buffer": 3},
    {"batch_size": 2, "buffer": 2, "replacement": "reservoir"},
]


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("noise", ["gradients", "models"])
@pytest.mark.slow
def test_no_neighbour_moves_the_stream_further(
    name: str, shape: dict[str, object], noise: str
) -> None:
    if noise == "models" and name == "hinge":
        pytest.skip("noise on models needs smoothness")
    n = 7
    algorithm = OnlineDescent(**shape, noise=noise)  # type: ignore[arg-type]
    plan = algorithm.plan(PROBLEMS[name], n, 2, BUDGET)
    verify(plan.certificate)
    (release,) = plan.certificate.releases
    limit, best = release.mechanism.sensitivity, 0.0
    batch = algorithm.batch_size
    idle = int(batch == 1)  # a lone first record makes no step
    units = np.ones(-(-n // batch))
    if noise == "models":
        units = algorithm.learner(plan, np.random.default_rng(0))._units  # type: ignore[attr-defined]
    rng = np.random.default_rng(0)
    for place in (0, 1, 3, 6):
        pairs = [*staged(n, 1.0, place), *(drawn(n, 1.0, place, rng) for _ in range(2))]
        for pair in pairs:
            moved = distance(plan, pair)
            # A changed record changes nothing before it arrives.
            assert np.all(moved[: max(0, place // batch - idle)] == 0)
            best = max(best, float(np.linalg.norm(moved / units[idle:])) / limit)
    assert best <= 1
    assert best > 0.3


@pytest.mark.parametrize("place", range(5))
def test_the_bound_is_attained_by_the_second_record_alone(place: int) -> None:
    # At zero the slope of the sharp hinge is the same for all pairs, whatever was released.
    problem = Problem(HingeRanking(temperature=1e-6), L2Ball(1e-9))
    plan = OnlineDescent(step_size=1e-12).plan(problem, 5, 2, BUDGET)
    x = np.tile([-1.0, 0.0], (5, 1))
    y = -np.ones(5)
    pair = Neighbours(x, y, place, np.array([1.0, 0.0]), 1.0)
    share = float(np.linalg.norm(distance(plan, pair)))
    share /= plan.certificate.releases[0].mechanism.sensitivity
    assert share <= 1
    assert (share > 0.999) == (place in (0, 1))


@pytest.mark.parametrize("noise", ["gradients", "models"])
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("replacement", ["latest", "reservoir"])
def test_models_are_those_of_a_session_fed_in_any_batches(
    noise: str, batch: int, replacement: str
) -> None:
    problem = PROBLEMS["ridge"]
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 3)) / 2, rng.choice([-1, 1], 30)
    algorithm = OnlineDescent(4, replacement, batch, noise)  # type: ignore[arg-type]
    plan = algorithm.plan(problem, 30, 3, BUDGET)
    fit = plan.run(problem.records(x, y), NoiseSource(0))
    verify(fit.certificate)
    for cuts in ([30], [1] * 30, [7, 11, 12]):
        session = OnlineSession(plan, NoiseSource(0))
        for start, size in zip(itertools.accumulate([0, *cuts]), cuts, strict=False):
            released = session.learn(x[start : start + size], y[start : start + size])
            done = (start + size) // batch if start + size < 30 else -(-30 // batch)
            if done:
                np.testing.assert_array_equal(released, fit.statistics["models"][done - 1])
        np.testing.assert_array_equal(session.parameters, fit.parameters)
        assert session.left == 0


def test_past_the_horizon_is_refused_and_learns_nothing() -> None:
    problem = PROBLEMS["logistic"]
    session = OnlineSession(OnlineDescent().plan(problem, 5, 2, BUDGET))
    session.learn(np.ones((4, 2)) / 2, [1, -1, 1, -1])
    before = session.parameters
    with pytest.raises(ValueError, match="of which 1 are left"):
        session.learn(np.ones((2, 2)), [1, -1])
    np.testing.assert_array_equal(session.parameters, before)
    session.learn(np.ones((1, 2)), [1])
    with pytest.raises(ValueError, match="plan a longer horizon"):
        session.learn(np.ones((1, 2)), [1])


def test_names_of_classes_last_over_batches() -> None:
    problem = PROBLEMS["metric"]
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 2)) / 3, np.array(list("abcbcabacbca"))
    plan = OnlineDescent().plan(problem, 12, 2, BUDGET)
    whole, parts = OnlineSession(plan, NoiseSource(0)), OnlineSession(plan, NoiseSource(0))
    whole.learn(x, y)
    for t in range(12):
        parts.learn(x[t : t + 1], y[t : t + 1])
    np.testing.assert_array_equal(parts.parameters, whole.parameters)


def test_a_session_is_not_pickled() -> None:
    session = OnlineSession(OnlineDescent().plan(PROBLEMS["logistic"], 5, 2, BUDGET))
    with pytest.raises(TypeError, match="raw records"):
        pickle.dumps(session)


def test_it_learns() -> None:
    rng = np.random.default_rng(0)
    n = 4000
    y = rng.choice([-1.0, 1.0], n)
    x = (rng.normal(size=(n, 3)) + np.outer(y, [1.0, 0, 0])) / 3
    plan = OnlineDescent(64).plan(PROBLEMS["hinge"], n, 3, Budget(2.0, 1e-6))
    found = plan.run(PROBLEMS["hinge"].records(x, y), NoiseSource(0)).statistics["models"]
    assert np.mean(found[-2000:], axis=0)[0] > 0.3


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_bound_of_models_is_attained(shape: dict[str, object]) -> None:
    # Slopes hardly change on a loss this flat, so that drifts are as large as they can be.
    problem = Problem(HingeRanking(temperature=1e6, width=0.5), L2Ball(1.0), 1.0)
    n = 9
    algorithm = OnlineDescent(**shape, noise="models")  # type: ignore[arg-type]
    plan = algorithm.plan(problem, n, 2, BUDGET)
    units = algorithm.learner(plan, np.random.default_rng(0))._units  # type: ignore[attr-defined]
    idle, shares = int(algorithm.batch_size == 1), []
    for place in range(n):
        x, y = np.tile([-1.0, 0.0], (n, 1)), -np.ones(n)
        pair = Neighbours(x, y, place, np.array([1.0, 0.0]), 1.0)
        moved = distance(plan, pair) / units[idle:]
        shares.append(np.linalg.norm(moved) / plan.certificate.releases[0].mechanism.sensitivity)
    assert max(shares) <= 1
    # Of a reservoir, the record that stays to the end need not be the worst one.
    assert max(shares) > (0.5 if "replacement" in shape else 0.999)
