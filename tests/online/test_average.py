"""The online-to-batch average of a stream: equation 6 of Huai 2020, and its guarantee."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pairdp import Budget, NoiseSource, OnlinePrivateRanker
from pairdp.constraints import L2Ball
from pairdp.losses import LogisticRanking
from pairdp.online import OnlineDescent, OnlineMoments, OnlineSession
from pairdp.online.state_file import _STREAM
from pairdp.problem import Problem
from pairdp.storage import ModelFileError
from pairdp.studies.regret import generalized_regret

PROBLEM = Problem(LogisticRanking(), L2Ball(1.0), 0.1)
BUDGET = Budget(5.0, 1e-5)
N = 41


def data(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    return rng.normal(size=(n, 2)) / 3 + y[:, None] / 4, y


def served(models: np.ndarray, batch: int) -> np.ndarray:
    """Return the model before each of the records 2 … n, zero before the first batch."""
    path = [np.zeros(2), *models]
    return np.array([path[t // batch] for t in range(1, N)])


@pytest.mark.parametrize("batch", [1, 4, N])
@pytest.mark.parametrize("noise", ["gradients", "models"])
def test_it_is_the_mean_of_the_models_that_served_each_record(batch: int, noise: str) -> None:
    algorithm = OnlineDescent(batch_size=batch, noise=noise)  # type: ignore[arg-type]
    plan = algorithm.plan(PROBLEM, N, 2, BUDGET)
    x, y = data()
    found = plan.run(PROBLEM.records(x, y), NoiseSource(0)).statistics
    expected = served(found["models"], batch).mean(axis=0)
    np.testing.assert_allclose(found["average"], expected, atol=1e-12)
    session = OnlineSession(plan, NoiseSource(0))
    np.testing.assert_array_equal(session.average, np.zeros(2))
    for start in range(0, N, 7):
        session.learn(x[start : start + 7], y[start : start + 7])
    np.testing.assert_array_equal(session.average, found["average"])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("batch", [1, 5])
def test_its_risk_is_bounded_by_the_average_regret(seed: int, batch: int) -> None:
    plan = OnlineDescent(batch_size=batch).plan(PROBLEM, N, 2, BUDGET)
    found = plan.run(PROBLEM.records(*data(seed=seed)), NoiseSource(seed)).statistics
    held_out = PROBLEM.records(*data(60, 9))
    regret = generalized_regret(PROBLEM, held_out, found["models"], batch_size=batch, n=N)
    excess = PROBLEM.value(found["average"], held_out) - PROBLEM.value(regret.best, held_out)
    assert excess <= regret.average + 1e-12


@pytest.mark.parametrize("secrets", [True, False])
def test_a_saved_average_continues_and_is_checked(secrets: bool, tmp_path: Path) -> None:
    plan = OnlineDescent(batch_size=4).plan(PROBLEM, N, 2, BUDGET)
    x, y = data()
    session, path = OnlineSession(plan, NoiseSource(0)), tmp_path / "stream"
    session.learn(x[:10], y[:10])
    before = session.average
    session.save(path, secrets=secrets)
    header, arrays = _STREAM.read(path)
    for name, wrong in (
        ("average.mean", np.zeros(3)),
        ("average.records", np.array([11.0])),
        ("average.records", np.array([0.5])),
    ):
        draft = _STREAM.draft(tmp_path / "other", header, {**arrays, name: wrong}, secret=True)
        _STREAM.publish(draft, tmp_path / "other", secret=True)
        with pytest.raises(ModelFileError, match="average of its models"):
            OnlineSession.resume(tmp_path / "other")
        (tmp_path / "other").unlink()
    session = OnlineSession.resume(path, NoiseSource(1))
    np.testing.assert_array_equal(session.average, before)


def test_an_estimator_shows_it(tmp_path: Path) -> None:
    x, y = data()
    params = {"horizon": N, "algorithm": "OnPairGradient", "random_state": 0, "data_norm": 1.0}
    model = OnlinePrivateRanker(5.0, 1e-5, average="uniform", **params)
    model.partial_fit(x[:20], y[:20], classes=[-1, 1])
    np.testing.assert_array_equal(model.coef_[0], model._session.average)
    model.pause(tmp_path / "stream")
    again = OnlinePrivateRanker.resume(tmp_path / "stream")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    again.partial_fit(x[20:], y[20:])
    fitted = OnlinePrivateRanker(5.0, 1e-5, average="uniform", **params).fit(x, y)
    last = OnlinePrivateRanker(5.0, 1e-5, average=False, **params).fit(x, y)
    assert not np.array_equal(fitted.coef_, last.coef_)


def test_moments_have_one_too() -> None:
    from pairdp.losses import LeastSquaresRanking

    problem = Problem(LeastSquaresRanking(), L2Ball(1.0))
    plan = OnlineMoments().plan(problem, N, 2, BUDGET)
    found = plan.run(problem.records(*data()), NoiseSource(0)).statistics
    np.testing.assert_allclose(found["average"], served(found["models"], 1).mean(axis=0))
