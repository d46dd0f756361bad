"""Centred moments: what a record moves in each part, the parts, models, states, and refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from pairdp import Budget, NoiseSource, OnlinePrivateRanker, verify
from pairdp.algorithms import Plan
from pairdp.constraints import L2Ball
from pairdp.losses import LeastSquaresRanking
from pairdp.online import CenteredMoments, OnlineMoments, OnlineSession
from pairdp.online.centered_learner import RADII
from pairdp.privacy import GaussianMechanism
from pairdp.privacy.mechanisms import repeated_release
from pairdp.privacy.mechanisms.lattice import to_grid
from pairdp.problem import Problem
from pairdp.verification.files import verify_file
from tests.algorithms.attacks import Neighbours, drawn, staged, with_null

BUDGET = Budget(1.0, 1e-5)
NORM = 2.0
PROBLEM = Problem(LeastSquaresRanking(), L2Ball(1.0), data_norm=NORM)
N, CENTER, RADIUS = 18, 6, 4
PLACES = {"centre": 2, "radius": 7, "running": 10}


@pytest.fixture(autouse=True)
def _little_noise_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw noise for one step at a time: it is not saved, and short streams need little."""
    monkeypatch.setattr(repeated_release, "_DRAWN", 1)


def prepared(size: int = 1, **settings: Any) -> CenteredMoments:
    return CenteredMoments(size, **settings, center_records=CENTER, radius_records=RADIUS)


def entered(
    plan: Plan, x: np.ndarray, y: np.ndarray, where: Path, stops: tuple[int, ...], secrets: bool
) -> list[np.ndarray]:
    """Return what entered the noise of each release; every answer is the same whatever it was."""
    mechanisms = [release.mechanism for release in plan.certificate.releases]
    rows: list[list[np.ndarray]] = [[] for _ in mechanisms]

    def add_to(mechanism: GaussianMechanism, value: np.ndarray, noise: object) -> np.ndarray:
        rows[mechanisms.index(mechanism)].append(np.array(value))
        return 3 * np.random.default_rng(sum(map(len, rows))).normal(size=np.shape(value))

    with patch.object(GaussianMechanism, "add_to", add_to):
        session = OnlineSession(plan, NoiseSource(0))
        for start, stop in zip((0, *stops), (*stops, N), strict=True):
            session.learn(x[start:stop], y[start:stop], invalid="null")
            if stop < N:
                session.save(where / "stream", secrets=secrets)
                session = OnlineSession.resume(where / "stream", NoiseSource(0))
    return [np.array(kind) for kind in rows]


def shares(
    plan: Plan,
    pair: Neighbours,
    where: Path,
    stops: tuple[int, ...] = (),
    secrets: bool = True,
) -> np.ndarray:
    """Return how far each release moves, as a share of its stated sensitivity."""
    one, other = (entered(plan, x, y, where, stops, secrets) for x, y in pair.both())
    found = []
    for release, first, second in zip(plan.certificate.releases, one, other, strict=True):
        assert release.sensitivity is not None
        found.append(float(np.linalg.norm(first - second)) / release.sensitivity.value)
        grid = release.mechanism.grid
        apart = np.linalg.norm(to_grid(first, grid) - to_grid(second, grid)) * grid
        assert apart <= release.mechanism.rounded_sensitivity
    return np.array(found)


def far_apart(place: int) -> list[Neighbours]:
    """Return neighbours on opposite sides of every centre, and one whose label flips."""
    x, y = np.zeros((N, 2)), np.where(np.arange(N) % 3 == 0, 1.0, -1.0)
    e = np.array([NORM, 0.0])
    x[place] = e
    return [
        Neighbours(x, y, place, other, label * y[place])
        for other, label in ((-e, 1.0), (e, -1.0), (np.zeros(2), 1.0))
    ]


@pytest.mark.parametrize("size", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("part", PLACES)
def test_a_record_moves_the_release_of_its_own_part_and_no_further(
    size: int, part: str, tmp_path: Path
) -> None:
    place, rng = PLACES[part], np.random.default_rng(0)
    plan = prepared(size).plan(PROBLEM, N, 2, BUDGET)
    pairs = [
        *far_apart(place),
        *staged(N, NORM, place),
        *(drawn(N, NORM, place, rng) for _ in range(6)),
        *with_null(N, NORM, place, rng),
    ]
    found = np.array([shares(plan, pair, tmp_path) for pair in pairs])
    own = {"centre": [0], "radius": [1], "running": [2, 3]}[part]
    assert np.all(found <= 1)
    assert np.all(np.delete(found, own, axis=1) == 0)
    assert np.all(found[:, own].max(axis=0) > (0.95 if size == 1 or part != "running" else 0.9))


@pytest.mark.parametrize("secrets", [True, False])
@pytest.mark.parametrize(
    "stops",
    [pytest.param(s, marks=pytest.mark.slow) for s in [(3,), (8,), (11, 14)]] + [(1, 7, 12)],
)
def test_a_paused_stream_moves_no_further(
    secrets: bool, stops: tuple[int, ...], tmp_path: Path
) -> None:
    plan, rng = prepared(2).plan(PROBLEM, N, 2, BUDGET), np.random.default_rng(0)
    for place in (1, 5, 7, 13):
        for pair in (far_apart(place)[0], drawn(N, NORM, place, rng)):
            found = shares(plan, pair, tmp_path, stops, secrets)
            assert np.all(found <= 1)
            assert np.count_nonzero([found[0], found[1], found[2:].any()]) <= 1


@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("size", [1, 4])
def test_the_certificate_holds(second: bool, size: int) -> None:
    plan = prepared(size, second_moments=second).plan(PROBLEM, N, 2, BUDGET)
    assert plan.claim_is_proved
    assert plan.true_epsilon == pytest.approx(1.0, rel=1e-6)
    verify(plan.certificate)
    sizes = [release.part.size for release in plan.certificate.releases if release.part]
    assert sizes == [-(-6 // size) * size, 4, *[18 - -(-6 // size) * size - 4] * (1 + second)]
    assert plan.certificate.releases[1].dimension == RADII


def test_the_cost_is_that_of_the_most_expensive_part_so_far() -> None:
    x, y = synthetic(N)
    session = OnlineSession(prepared(2).plan(PROBLEM, N, 3, BUDGET), NoiseSource(0))
    spent = []
    for i in range(N):
        session.learn(x[i : i + 1], y[i : i + 1])
        spent.append(session.spent)
    assert spent[: CENTER - 1] == [None] * (CENTER - 1)
    for one in spent[CENTER - 1 :]:
        assert one is not None
        assert one.epsilon == pytest.approx(1.0, rel=1e-6)
        assert one.epsilon <= 1.0


def synthetic(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    x = 0.5 + (rng.normal(size=(n, 3)) + np.outer(y, [1.0, 0, 0])) / 16
    return NORM * x, y


def test_without_noise_models_are_those_of_centred_records() -> None:
    n, center, radius = 60, 10, 9
    x, y = synthetic(n)
    x[-3:] -= 1.0
    problem = replace(PROBLEM, constraint=L2Ball(1e3))
    algorithm = CenteredMoments(ridge=0.01, center_records=center, radius_records=radius)
    x = problem.records(x, y).x
    plan = algorithm.plan(problem, n, 3)
    models = plan.run(problem.records(x, y)).statistics["models"]
    assert plan.settings.factor == 2  # since there is little noise
    m = x[:center].mean(axis=0)
    distances = np.linalg.norm(x[center : center + radius] - m, axis=1)
    radii = 2 * NORM * 2.0 ** (-np.arange(RADII) / 2)
    r = 2 * min(some for some in radii if np.sum(distances > some) <= radius / 2)
    later, labels = x[center + radius :] - m, y[center + radius :]
    lengths = np.linalg.norm(later, axis=1)
    assert 0 < np.mean(lengths > r) < 1
    later *= (r / np.maximum(lengths, r))[:, None]
    first, (apart, count) = differences(x[:center], y[:center]), (differences(later, labels), 41)
    first_v = first.sum(axis=0) / (center * (center - 1))
    v = center * first_v + count * apart.sum(axis=0) / (count * (count - 1))
    s = apart.T @ apart / (count * (count - 1))
    loss = problem.loss
    assert isinstance(loss, LeastSquaresRanking)
    expected = np.linalg.solve(loss.scale * (s + 0.01 * np.eye(3)), v / (center + count))
    np.testing.assert_allclose(models[-1], expected, rtol=1e-9)
    np.testing.assert_array_equal(models[: center - 1], 0)
    for model in models[center - 1 : center + radius + 1]:
        np.testing.assert_allclose(model, first_v * 1e3 / np.linalg.norm(first_v), rtol=1e-9)


def differences(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.array([a - b for a in rows[labels > 0] for b in rows[labels < 0]])


@pytest.mark.parametrize("cut", range(0, 10, 2))
def test_a_saved_stream_goes_on_as_if_never_stopped(cut: int) -> None:
    records = PROBLEM.records(*synthetic(N))
    batches = [records.part(slice(i, i + 2)) for i in range(0, N, 2)]
    algorithm = prepared(2)
    plan = algorithm.plan(PROBLEM, N, 3, BUDGET)
    learner = algorithm.learner(plan, np.random.default_rng(0))
    models = []
    for batch in batches:
        learner.learn(batch)
        models.append(learner.parameters)
    generator = np.random.default_rng(0)
    before, after = (algorithm.learner(plan, generator) for _ in range(2))
    for batch in batches[:cut]:
        before.learn(batch)
    after.restore(before.public_state(), before.secret_state())
    for i, batch in enumerate(batches[cut:]):
        after.learn(batch)
        np.testing.assert_array_equal(after.parameters, models[cut + i])


def test_a_file_without_secrets_has_released_values_only(tmp_path: Path) -> None:
    x, y = synthetic(N)
    states = []
    for rows in (x, -x):
        algorithm = prepared()
        plan = algorithm.plan(PROBLEM, N, 3, BUDGET)
        learner = algorithm.learner(plan, np.random.default_rng(0))
        for i in range(3):
            learner.learn(PROBLEM.records(rows[i : i + 1], y[i : i + 1]))
        states.append(learner.public_state())
    for name, value in states[0].items():  # nothing was released yet
        np.testing.assert_array_equal(value, states[1][name])
    again = algorithm.learner(plan, np.random.default_rng(0))
    again.restore(states[0], None)
    np.testing.assert_array_equal(again.public_state()["prepared"], [3, 0, 0])


@pytest.mark.parametrize(
    "counts", [[5, 6, 0], [19, 6, 4], [8, 6, 4], [12, 0, 4], [12, 6, 0], [12, 6, 4], [5, -1, 0]]
)
def test_a_wrong_state_is_refused(counts: list[int]) -> None:
    algorithm = prepared()
    learner = algorithm.learner(algorithm.plan(PROBLEM, N, 3, BUDGET), np.random.default_rng(0))
    state = {**learner.public_state(), "prepared": np.array(counts, dtype=float)}
    with pytest.raises(ValueError, match="does not belong to a stream of this plan"):
        learner.restore(state, None)


def test_the_parts_follow_from_public_facts() -> None:
    long = CenteredMoments(7).plan(PROBLEM, 5000, 4, BUDGET)
    settings = long.settings
    assert settings.center_records % 7 == settings.radius_records % 7 == 0
    assert 0 < settings.radius_records < settings.center_records < 1000
    short = CenteredMoments().plan(PROBLEM, 60, 4, BUDGET)
    assert (short.settings.center_records, short.settings.radius_records) == (0, 0)
    plain = OnlineMoments().plan(PROBLEM, 60, 4, BUDGET)
    assert short.certificate.releases == plain.certificate.releases
    assert "too short" in short.reasons[0]
    records = PROBLEM.records(*synthetic(60)[:1], synthetic(60)[1])
    short, plain = (
        one.plan(PROBLEM, 60, 3, BUDGET) for one in (CenteredMoments(), OnlineMoments())
    )
    one, other = (plan.run(records, NoiseSource(0)).parameters for plan in (short, plain))
    np.testing.assert_array_equal(one, other)


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(ValueError, match="plan a longer horizon"):
        prepared(8).plan(PROBLEM, 17, 2, BUDGET)
    with pytest.raises(ValueError, match="center_records must be at least 1"):
        CenteredMoments(center_records=0)
    with pytest.raises(ValueError, match="delta > 0"):
        prepared().plan(PROBLEM, N, 2, Budget(1.0, 0.0))


def test_every_part_has_the_records_that_its_certificate_states() -> None:
    """Batches of what is left would not end where the first parts do."""
    for n in range(10, 40):
        for size in range(1, 12):
            algorithm = prepared(size)
            try:
                plan = algorithm.plan(PROBLEM, n, 2, BUDGET)
            except ValueError:
                continue
            first, second = (release.part for release in plan.certificate.releases[:2])
            assert first is not None
            assert second is not None
            assert first.size % plan.settings.batch_size == 0
            assert second.size % plan.settings.batch_size == 0
    with pytest.raises(ValueError, match="8 are needed"):
        prepared(8).plan(PROBLEM, 20, 2, BUDGET)


def test_it_learns_what_plain_moments_do_not() -> None:
    n, budget = 3000, Budget(0.3, 1e-6)
    records = PROBLEM.records(*synthetic(n))
    found = []
    for algorithm in (CenteredMoments(100), OnlineMoments(100)):
        plan = algorithm.plan(PROBLEM, n, 3, budget)
        models = [plan.run(records, NoiseSource(seed)).parameters for seed in range(8)]
        found.append(np.mean([model[0] / np.linalg.norm(model) for model in models]))
    assert found[0] > 0.9 > found[1] + 0.1


def test_the_default_of_the_ranker_for_streams() -> None:
    model = OnlinePrivateRanker(1.0, 1e-6, horizon=4000, data_norm=1.0, batch_size=10)
    plan = model.plan(4000, 3)
    assert isinstance(plan.algorithm, CenteredMoments)
    assert plan.algorithm.batch_size == 10
    assert plan.settings.center_records > 0


@pytest.mark.parametrize("secrets", [True, False])
@pytest.mark.parametrize("cut", [3, 7, 13])
def test_a_ranker_is_paused_in_every_part(secrets: bool, cut: int, tmp_path: Path) -> None:
    x, y = synthetic(N)
    model = OnlinePrivateRanker(
        5.0, 1e-6, horizon=N, algorithm=prepared(2), data_norm=NORM, classes=[-1, 1]
    )
    model.partial_fit(x[:cut], y[:cut])
    before, spent = model.coef_, model.spent_
    model.pause(tmp_path / "stream", secrets=secrets)
    verify_file(tmp_path / "stream")
    again = OnlinePrivateRanker.resume(tmp_path / "stream")
    np.testing.assert_array_equal(again.coef_, before)
    assert again.records_left_ == N - cut
    again.partial_fit(x[cut:], y[cut:])
    assert again.records_left_ == 0
    assert again.spent_ is not None
    assert (spent is None) == (cut < CENTER)
    assert np.all(np.isfinite(again.coef_))
    assert not np.array_equal(again.coef_, before)
