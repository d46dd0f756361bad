"""What was tried: a record that is replaced by *nothing*, in every algorithm and stream.

A null record (absent, or unreadable) counts in the public n and must contribute zero to every sum.
The guarantee covers replacing any record by a null one, and a null one by any record. So, for every
algorithm, two data sets that differ in that way are run with the mechanisms tapped, and nothing
that reaches the noise may move further than the certificate says. The others are the worst
partners that are known, random records, and null records among these. Ways this could fail:

- a null record that is centred, gets an intercept or a label by its zeros, and so contributes;
- a private number of records (not null ones) in the place of the public n;
- a loss whose pairs hardly move when a record is replaced by another, but much when by none;
- other records that are rounded, drawn or paired differently once one is null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pairdp import Budget, NoiseSource
from pairdp.algorithms import (
    Algorithm,
    FisherMetric,
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    PairwiseSGD,
    PhasedSGD,
    Plan,
    ScatterMetric,
    WithThreshold,
)
from pairdp.algorithms.descent import step_divergence
from pairdp.algorithms.kernels import Steps, _gradient, compiled_steps, plain_steps
from pairdp.algorithms.plan import Progress
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import (
    Domain,
    HingeMetric,
    HingePointwise,
    HingeRanking,
    LeastSquaresPointwise,
    LeastSquaresRanking,
    LogisticMetric,
    LogisticPointwise,
    LogisticRanking,
    PairwiseLoss,
    PointwiseLoss,
)
from pairdp.online import OnlineDescent, OnlineMoments, OnlineSession
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import GaussianMechanism
from pairdp.problem import Problem
from tests.algorithms.attacks import Neighbours, moved, places, transcript, with_null
from tests.algorithms.test_pairwise_sgd import allowed
from tests.algorithms.test_sensitivity import CASES, is_slow, planned

BUDGET = Budget(1.0, 1e-5)
RANKING = Problem(LogisticRanking(), L2Ball(1.0), 0.5)
SQUARES = Problem(LeastSquaresRanking(), L2Ball(1.0), 0.3)
METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(1.0), 0.2)


def worst(plan: Plan) -> float:
    """Return the largest share of a stated sensitivity that a null record moves a release by."""
    rng, n = np.random.default_rng(1), plan.task.n
    # Noise moves where later releases start from.
    kick = 0.5 if len(plan.certificate.releases) > 1 else 0.0
    return max(
        max(moved(plan, pair, kick * (i % 4 < 2)))
        for place in places(plan)[::2]
        for i, pair in enumerate(with_null(n, plan.problem.data_norm, place, rng, 1))
        if i % 3 < 2
    )


@pytest.mark.parametrize(
    ("algorithm", "problem"),
    [pytest.param(*case, marks=[pytest.mark.slow] * is_slow(*case)) for case in CASES],
)
def test_no_null_record_moves_a_release_further(algorithm: str, problem: str) -> None:
    plan = planned(algorithm, problem, {"metric": 5, "least squares": 7}.get(problem, 9))
    assert 0.05 < worst(plan) <= 1


MORE: dict[str, tuple[Algorithm, Problem, int]] = {
    "scatter of means": (ScatterMetric(), METRIC, 9),
    "scatter of pairs": (ScatterMetric("pairs"), METRIC, 9),
    "fisher": (FisherMetric(buckets=3), METRIC, 9),
    "fisher, full": (FisherMetric("full"), METRIC, 9),
    "threshold of moments": (WithThreshold(MomentRelease()), SQUARES, 8),
    "threshold of a minimiser": (WithThreshold(MinimizerRelease()), RANKING, 8),
    "threshold of descent": (WithThreshold(GradientDescent(steps=4)), RANKING, 8),
    "phases": (PhasedSGD(0.1), RANKING, 9),
    "phases, hinge": (PhasedSGD(0.1), Problem(HingeRanking(), L2Ball(1.0)), 9),
    "phases, metric hinge": (PhasedSGD(0.1), Problem(HingeMetric(), PSDFrobeniusBall(1.0)), 9),
    "one pair a step": (NoisyGradientDescent(steps=9, step_size=0.1, batch_size=2), RANKING, 6),
    "disjoint pairs": (
        NoisyGradientDescent(steps=5, step_size=0.1, batch_size=4, pairing="disjoint"),
        METRIC,
        6,
    ),
    "hinge, all pairs": (
        NoisyGradientDescent(steps=3, step_size=0.3),
        Problem(HingeRanking("one-sided"), L2Ball(2.0)),
        8,
    ),
    "hinge metric, all pairs": (
        NoisyGradientDescent(steps=3, step_size=0.3),
        Problem(HingeMetric(), PSDFrobeniusBall(2.0)),
        6,
    ),
}


@pytest.mark.parametrize("name", MORE)
def test_nor_in_algorithms_of_other_kinds(name: str) -> None:
    algorithm, problem, n = MORE[name]
    assert 0.05 < worst(algorithm.plan(problem, n, 2, BUDGET)) <= 1


@pytest.mark.parametrize("statistics", ["means", "pairs"])
@pytest.mark.slow
def test_nor_among_many_classes(statistics: str) -> None:
    rng, n = np.random.default_rng(0), 12
    plan = ScatterMetric(statistics).plan(METRIC, n, 2, BUDGET)  # type: ignore[arg-type]
    for i in range(20):
        for pair in with_null(n, 1.0, i % n, rng, 1):
            y = rng.integers(1 + i % n, size=n).astype(float)
            again = Neighbours(pair.x, y, pair.place, pair.other_x, float(rng.integers(n)))
            assert max(moved(plan, again, kick=(i % 2) / 5)) <= 1


@pytest.mark.parametrize("loss", ["hinge", "logistic", "metric", "metric hinge", "user"])
@pytest.mark.parametrize("order", ["replacement", "permutation"])
def test_nor_pairwise_sgd_given_its_draws(loss: str, order: str) -> None:
    losses: dict[str, tuple[PairwiseLoss, Any]] = {
        "hinge": (HingeRanking(), L2Ball(1.0)),
        "logistic": (LogisticRanking("one-sided"), L2Ball(1.0)),
        "metric": (LogisticMetric(), PSDFrobeniusBall(1.0)),
        "metric hinge": (HingeMetric(), PSDFrobeniusBall(1.0)),
        "user": (Steady(), L2Ball(1.0)),
    }
    problem, n = Problem(*losses[loss]), 6
    plan = PairwiseSGD(2 * n, 0.05, order).plan(problem, n, 2, BUDGET)  # type: ignore[arg-type]
    bare = plan.algorithm.plan(problem, n, 2)
    rng = np.random.default_rng(0)
    for seed, pair in enumerate(with_null(n, 1.0, 2, rng, 3)):
        ends = [
            bare.run(problem.records(x, y, invalid="null"), NoiseSource(seed % 3)).parameters
            for x, y in pair.both()
        ]
        limit = allowed(plan, pair.place, seed % 3)
        assert np.linalg.norm(ends[0] - ends[1]) <= limit * (1 + 1e-9) + 1e-12


POINTWISE: dict[str, PointwiseLoss] = {
    "logistic": LogisticPointwise(),
    "hinge": HingePointwise(),
    "least squares": LeastSquaresPointwise(0.7),
}
ALGORITHMS: dict[str, Callable[[Problem], Algorithm]] = {
    "descent": lambda p: GradientDescent(steps=4, step_size=0.1),
    "minimiser": lambda p: MinimizerRelease(),
    "gradients": lambda p: NoisyGradientDescent(steps=4, step_size=0.1),
    "batches": lambda p: NoisyGradientDescent(steps=6, step_size=0.1, batch_size=2),
    "one record a step": lambda p: NoisyGradientDescent(steps=9, step_size=0.1, batch_size=1),
}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("loss", POINTWISE)
def test_nor_losses_of_one_record(algorithm: str, loss: str) -> None:
    if loss == "hinge" and algorithm in ("descent", "minimiser"):
        pytest.skip("needs a smooth loss")
    problem = PointwiseProblem(POINTWISE[loss], L2Ball(1.0), 0.3)
    plan = ALGORITHMS[algorithm](problem).plan(problem, 6, 2, BUDGET)
    assert 0.05 < worst(plan) <= 1


@dataclass(frozen=True)
class Steady(PairwiseLoss):
    """A user's loss that hardly depends on the records: D_h is far below 2G, and truly so."""

    convex = True

    symmetric = False

    def value(self, parameters, x, y, other_x, other_y):
        return self.gradient(parameters, x, y, other_x, other_y) @ parameters

    def gradient(self, parameters, x, y, other_x, other_y):
        assert np.all(np.abs(y) == 1)
        assert np.all(np.abs(other_y) == 1)
        return 0.01 * (x + other_x) + np.eye(len(parameters))[0]

    def lipschitz(self, domain: Domain) -> float:
        return 1 + 0.02 * domain.data_norm

    def smoothness(self, domain: Domain) -> float:
        return 0.0

    def pair_diameter(self, domain: Domain) -> float:
        return 0.02 * domain.data_norm


@dataclass(frozen=True)
class SteadyRecord(PointwiseLoss):
    """The same for one record: D is far below G."""

    convex = True

    def value(self, parameters, x, y):
        return self.gradient(parameters, x, y) @ parameters

    def gradient(self, parameters, x, y):
        assert np.all(np.abs(y) == 1)
        return 0.01 * x + np.eye(len(parameters))[0]

    def lipschitz(self, domain: Domain) -> float:
        return 1 + 0.01 * domain.data_norm

    def smoothness(self, domain: Domain) -> float:
        return 0.0

    def record_diameter(self, domain: Domain) -> float:
        return 0.02 * domain.data_norm


STEADY: dict[str, Callable[[Problem], Algorithm]] = {
    **ALGORITHMS,
    "phases": lambda p: PhasedSGD(0.1),
    "average": lambda p: GradientDescent("average", steps=4, step_size=0.1),
    "one pair a step": lambda p: NoisyGradientDescent(steps=9, step_size=0.1, batch_size=2),
    "disjoint": lambda p: NoisyGradientDescent(
        steps=5, step_size=0.1, batch_size=4, pairing="disjoint"
    ),
}


def steady_plans() -> Iterator[tuple[str, Callable[[], Plan]]]:
    pairs = Problem(Steady(), L2Ball(9.0), 0.4)
    records = PointwiseProblem(SteadyRecord(), L2Ball(9.0), 0.4)
    for name, algorithm in STEADY.items():
        if name != "one record a step":
            yield f"pairs: {name}", lambda a=algorithm: a(pairs).plan(pairs, 8, 2, BUDGET)
        if name in ALGORITHMS:
            yield f"records: {name}", lambda a=algorithm: a(records).plan(records, 8, 2, BUDGET)


@pytest.mark.parametrize(("name", "plan"), list(steady_plans()), ids=lambda v: str(v)[:40])
def test_a_declared_constant_that_forgets_null_records_does_not_count(
    name: str, plan: Callable[[], Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 0.05 < worst(plan()) <= 1
    # Had the loss's own constant been taken, the attack would have succeeded.
    monkeypatch.setattr(
        Problem, "exact_record_diameter", lambda self, domain: self.loss.record_diameter(domain)
    )
    assert worst(plan()) > 5


def test_one_slot_covers_them_too() -> None:
    problem = Problem(Steady(), L2Ball(1.0))
    constants = problem.constants(10)
    assert constants.pair_diameter >= constants.lipschitz
    assert constants.record_diameter >= 2 * constants.lipschitz
    assert step_divergence(problem, 0.1).replaced >= constants.lipschitz


STREAMS: dict[str, tuple[OnlineDescent, Problem]] = {
    "gradients": (OnlineDescent(noise="gradients"), RANKING),
    "short buffer": (OnlineDescent(buffer=2, batch_size=2), RANKING),
    "reservoir": (OnlineDescent(buffer=3, replacement="reservoir"), METRIC),
    "batches": (OnlineDescent(batch_size=3), METRIC),
    "models": (OnlineDescent(noise="models", buffer=3), RANKING),
    "models of metrics": (OnlineDescent(noise="models", batch_size=2), METRIC),
    "user": (OnlineDescent(batch_size=2, step_size=0.1), Problem(Steady(), L2Ball(1.0), 0.4)),
}


@pytest.mark.parametrize("name", STREAMS)
def test_nor_any_step_of_a_stream(name: str) -> None:
    algorithm, problem = STREAMS[name]
    n = 7
    plan = algorithm.plan(problem, n, 2, BUDGET)
    (release,) = plan.certificate.releases
    units: Any = 1.0
    if algorithm.noise == "models":
        learner: Any = algorithm.learner(plan, np.random.default_rng(0))
        units = learner._units[int(algorithm.batch_size == 1) :]
    rng, best = np.random.default_rng(0), 0.0
    for place in (0, 1, 3, 6):
        for pair in with_null(n, 1.0, place, rng, 2):
            one, other = (problem.records(x, y, invalid="null") for x, y in pair.both())
            first, answers, _ = transcript(plan, one, kick=0.3)
            second, _, _ = transcript(plan, other, answers=answers)
            steps = np.array([np.linalg.norm(a - b) for a, b in zip(first, second, strict=True)])
            best = max(best, float(np.linalg.norm(steps / units)))
    assert 0.05 < best / release.mechanism.sensitivity <= 1


@pytest.mark.parametrize("size", [1, 3])
def test_nor_running_moments(size: int) -> None:
    n, algorithm = 7, OnlineMoments(size)
    plan = algorithm.plan(SQUARES, n, 2, BUDGET)
    for pair in with_null(n, 1.0, 0, np.random.default_rng(0)):
        values = []
        for x, y in pair.both():
            learner = algorithm.learner(algorithm.plan(SQUARES, n, 2), np.random.default_rng(0))
            records = SQUARES.records(x, y, invalid="null")
            learner.learn(records.part(slice(0, size)))
            values.append(learner.public_state())
        for i, release in enumerate(plan.certificate.releases):
            moves = np.linalg.norm(values[0][f"sums_{i}"] - values[1][f"sums_{i}"])
            factor = algorithm.moved_by(release, 1) / release.sensitivity.value
            assert moves <= release.sensitivity.value * factor * (1 + 1e-12)


def test_a_stream_of_words_reads_as_one_of_records() -> None:
    # One call with an unreadable record, and the same stream with a null record known by NaN.
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 2)), rng.choice(["a", "b", "c"], 12).astype(object)
    for unreadable in ("secret", 10**400, None, np.inf):
        sessions = []
        for entry in (unreadable, np.nan):
            rows = x.astype(object)
            rows[5, 1] = entry
            plan = OnlineDescent(buffer=3, batch_size=2).plan(METRIC, 12, 2, BUDGET)
            session = OnlineSession(plan, NoiseSource(0))
            session.learn(rows[:7].tolist(), y[:7].tolist(), invalid="null")
            session.learn(rows[7:], [*y[7:11], None], invalid="null")
            assert session.seen == 12
            sessions.append(session.parameters)
        np.testing.assert_array_equal(*sessions)


def test_streams_of_null_records_are_paused_and_resumed(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(9, 2))
    x[[1, 4, 6]] = np.nan
    for problem, y in ((RANKING, np.where(np.arange(9) % 2, 1, -1)), (METRIC, list("abcabcabc"))):
        plan = OnlineDescent(batch_size=2).plan(problem, 9, 2, BUDGET)
        session = OnlineSession(plan, NoiseSource(0))
        session.learn(x[:5], y[:5], invalid="null")
        session.save(tmp_path / "stream")
        resumed = OnlineSession.resume(tmp_path / "stream", NoiseSource(0))
        assert resumed.learn(x[5:], y[5:], invalid="null").shape == session.parameters.shape


@pytest.mark.parametrize(
    "loss", [LogisticRanking(), HingeRanking("one-sided"), *POINTWISE.values()]
)
def test_compiled_steps_equal_plain_ones(loss: Any) -> None:
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    paired = isinstance(loss, PairwiseLoss)
    problem = (Problem if paired else PointwiseProblem)(loss, L2Ball(0.8), 0.1)
    x = rng.normal(size=(20, 3))
    x[[0, 3, 4, 11]] = np.nan
    records = problem.records(x, rng.choice([-1.0, 1.0], 20), invalid="null")
    for batch in (2, 6):
        steps = Steps(problem, records, GaussianMechanism(1.0, 0.1, 3), 0.1, 60, batch, paired)
        ways = [
            way(steps, NoiseSource(3), Progress(False)) for way in (compiled_steps, plain_steps)
        ]
        np.testing.assert_allclose(ways[0], ways[1], rtol=1e-10, atol=1e-12)
    if paired:
        w, rows = np.array([0.1, -0.2, 0.3]), np.array([0, 1, 2, 5, 6, 3])
        x, y = records.x, records.y
        one = loss.gradient(w, x[[2, 5]], y[[2, 5]], x[[5, 2]], y[[5, 2]]).sum(axis=0) / 2
        np.testing.assert_allclose(_gradient(steps)(rows, w), one / 3, atol=1e-14)
