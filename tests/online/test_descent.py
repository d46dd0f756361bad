"""Online descent: sensitivities over a stream, buffers, horizons, models as they come."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp import Budget, NoiseSource, verify
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import HingeRanking, LogisticMetric, LogisticRanking
from pairdp.online import OnlineDescent, OnlineSession
from pairdp.privacy import Sensitivity
from pairdp.privacy.sensitivity import find_bound
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


@given(
    one_record=st.floats(0.1, 10),
    n=st.integers(2, 300),
    buffer=st.one_of(st.none(), st.integers(1, 400)),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_both_routes_agree(one_record: float, n: int, buffer: int | None) -> None:
    inputs = {"one_record": one_record, "n": n, **({} if buffer is None else {"buffer": buffer})}
    bound = find_bound(BOUND)
    assert bound.second_route is not None
    assert bound.formula(**inputs) == pytest.approx(bound.second_route(**inputs), rel=1e-9)


def test_the_whole_stream_costs_little_more_than_one_query() -> None:
    for n, buffer, ratio in ((10**6, None, 1.2826), (10**6, 1, 2**0.5), (3, None, 1.25**0.5)):
        inputs = {"one_record": 2.0, "n": n, **({} if buffer is None else {"buffer": buffer})}
        assert Sensitivity.of(BOUND, **inputs).value == pytest.approx(ratio, rel=1e-4)


def distance(plan: object, pair: Neighbours) -> np.ndarray:
    """How far each gradient moves, given everything that was released before."""
    (one, other) = pair.both()
    problem = plan.problem  # type: ignore[attr-defined]
    first, answers, _ = transcript(plan, problem.records(*one), kick=0.3)  # type: ignore[arg-type]
    second, _, _ = transcript(plan, problem.records(*other), answers=answers)  # type: ignore[arg-type]
    return np.array([np.linalg.norm(a - b) for a, b in zip(first, second, strict=True)])


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("buffer", [None, 1, 3])
def test_no_neighbour_moves_the_stream_further(name: str, buffer: int | None) -> None:
    n = 7
    plan = OnlineDescent(buffer).plan(PROBLEMS[name], n, 2, BUDGET)
    (release,) = plan.certificate.releases
    limit, best = release.mechanism.sensitivity, 0.0
    rng = np.random.default_rng(0)
    pairs = [*staged(n, 1.0, 2), *(drawn(n, 1.0, 2, rng) for _ in range(20))]
    for pair in pairs:
        moved = distance(plan, pair)
        # A changed record changes nothing before it arrives; step t is at place t - 2.
        assert np.all(moved[: max(0, pair.place - 1)] == 0)
        best = max(best, float(np.linalg.norm(moved)) / limit)
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


def test_models_are_those_of_a_session_fed_in_any_batches() -> None:
    problem = PROBLEMS["ridge"]
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 3)) / 2, rng.choice([-1, 1], 30)
    plan = OnlineDescent(4).plan(problem, 30, 3, BUDGET)
    fit = plan.run(problem.records(x, y), NoiseSource(0))
    verify(fit.certificate)
    for cuts in ([30], [1] * 30, [7, 11, 12]):
        session = OnlineSession(plan, NoiseSource(0))
        for start, size in zip(itertools.accumulate([0, *cuts]), cuts, strict=False):
            released = session.learn(x[start : start + size], y[start : start + size])
            np.testing.assert_array_equal(released, fit.statistics["models"][start + size - 1])
        np.testing.assert_array_equal(session.parameters, fit.parameters)
        assert session.left == 0


@pytest.mark.parametrize("size", [1, 2, 5, 19, 20])
def test_the_buffer_holds_the_latest(size: int) -> None:
    problem = PROBLEMS["logistic"]
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 2)) / 3, rng.choice([-1.0, 1.0], 20)
    session = OnlineSession(OnlineDescent(size).plan(problem, 20, 2, BUDGET), NoiseSource(0))
    records = problem.records(x, y)
    for t in range(20):
        session.learn(x[t : t + 1], y[t : t + 1])
        held = session._x[session._start : session._end]
        np.testing.assert_array_equal(held, records.x[max(0, t + 1 - size) : t + 1])


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
