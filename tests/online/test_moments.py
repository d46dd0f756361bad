"""Online moments: what a record moves, the noise of running sums, states, and models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import toeplitz

from pairdp import Budget, ModelFileError, NoiseSource, verify
from pairdp.algorithms import MomentRelease, Plan
from pairdp.constraints import L2Ball
from pairdp.losses import LeastSquaresRanking, LogisticRanking
from pairdp.online import OnlineMoments, OnlineSession
from pairdp.online.state_file import _STREAM
from pairdp.privacy import GaussianMechanism
from pairdp.privacy.mechanisms import repeated_release
from pairdp.privacy.mechanisms.lattice import to_grid
from pairdp.privacy.mechanisms.matrix_mechanism import PrefixFactor
from pairdp.problem import Problem
from pairdp.records import Records
from tests.algorithms.attacks import Neighbours, drawn, staged, with_null

BUDGET = Budget(1.0, 1e-5)
PROBLEM = Problem(LeastSquaresRanking(), L2Ball(1.0))


def batches(records: Records, size: int) -> list[Records]:
    return [records.part(slice(i, i + size)) for i in range(0, records.n, size)]


def encoded(
    algorithm: OnlineMoments, plan: Plan, records: Records, lost: int | None = None
) -> list[np.ndarray]:
    """Return what enters the noise of each kind, of shape (steps, size).

    Before step ``lost`` the stream goes on from its public state alone.
    """
    learner = algorithm.learner(plan, np.random.default_rng(0))
    mechanisms = [release.mechanism for release in plan.certificate.releases]
    rows: list[list[np.ndarray]] = [[] for _ in mechanisms]

    def add_to(self: GaussianMechanism, vector: np.ndarray, noise: np.ndarray) -> np.ndarray:
        rows[mechanisms.index(self)].append(vector.copy())
        return noise * self.grid

    with patch.object(GaussianMechanism, "add_to", add_to):
        for step, batch in enumerate(batches(records, plan.settings.batch_size)):
            if step == lost:
                public = learner.public_state()
                learner = algorithm.learner(plan, np.random.default_rng(1))
                learner.restore(public, None)
            learner.learn(batch)
    return [np.array(kind) for kind in rows]


def shares(algorithm: OnlineMoments, pair: Neighbours, lost: int | None = None) -> list[float]:
    """Return how far what is released moves, as a share of each stated sensitivity."""
    one, other = (PROBLEM.records(x, y, invalid="null") for x, y in pair.both())
    plan = algorithm.plan(PROBLEM, one.n, one.features, BUDGET)
    found = []
    for release, first, second in zip(
        plan.certificate.releases,
        encoded(algorithm, plan, one, lost),
        encoded(algorithm, plan, other, lost),
        strict=True,
    ):
        assert release.dimension == release.mechanism.dimension == first.size
        assert np.all((first == second)[: pair.place // plan.settings.batch_size])
        found.append(float(np.linalg.norm(first - second)) / release.sensitivity.value)
        grid = release.mechanism.grid
        moved = np.linalg.norm(to_grid(first, grid) - to_grid(second, grid)) * grid
        assert moved <= release.mechanism.rounded_sensitivity
    return found


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("place", range(7))
def test_no_neighbour_moves_the_stream_further(size: int, place: int) -> None:
    n, algorithm = 7, OnlineMoments(size)
    rng = np.random.default_rng(place)
    pairs = [*staged(n, 1.0, place), *(drawn(n, 1.0, place, rng) for _ in range(20))]
    worst = np.max([shares(algorithm, pair) for pair in pairs], axis=0)
    assert np.all(worst <= 1)
    if place < size:  # a record of the first step is in all of the column
        assert np.all(worst > 0.999)


@given(
    n=st.integers(2, 30),
    place=st.integers(0, 29),
    size=st.integers(1, 8),
    weight=st.floats(0.05, 1.0),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_no_random_neighbour_moves_it_further(
    n: int, place: int, size: int, weight: float, seed: int
) -> None:
    pair = drawn(n, 1.0, place % n, np.random.default_rng(seed))
    assert max(shares(OnlineMoments(size, weight=weight), pair)) <= 1


@pytest.mark.parametrize("lost", [1, 4, 6])
@pytest.mark.parametrize("place", [0, 3, 6])
def test_no_neighbour_moves_a_stream_that_lost_its_secrets_further(lost: int, place: int) -> None:
    rng = np.random.default_rng(place)
    for pair in (*staged(7, 1.0, place), *(drawn(7, 1.0, place, rng) for _ in range(5))):
        assert max(shares(OnlineMoments(1), pair, lost)) <= 1


@pytest.mark.parametrize("place", [0, 5])
def test_null_records_move_the_stream_no_further(place: int) -> None:
    pairs = with_null(7, 1.0, place, np.random.default_rng(0))
    worst = np.max([shares(OnlineMoments(2), pair) for pair in pairs], axis=0)
    assert np.all((worst > 0.3) & (worst <= 1))


@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("size", [1, 4, 100])
def test_the_certificate_holds(second: bool, size: int) -> None:
    plan = OnlineMoments(size, second).plan(PROBLEM, 50, 3, BUDGET)
    assert plan.claim_is_proved
    assert plan.true_epsilon == pytest.approx(1.0, rel=1e-6)
    verify(plan.certificate)
    assert [r.dimension for r in plan.certificate.releases] == [
        dimension * -(-50 // size) for dimension in ((7, 12) if second else (7,))
    ]


@pytest.mark.parametrize("used", [0, 1, 2, 9, 50])
def test_a_shorter_stream_is_moved_by_its_part_of_the_column(used: int) -> None:
    algorithm = OnlineMoments(3)
    plan = algorithm.plan(PROBLEM, 50, 3, BUDGET)
    c = np.tril(toeplitz(PrefixFactor.of(17).coefficients()))
    steps = -(-used // 3)
    share = np.linalg.norm(c[:steps, :1]) / np.linalg.norm(c[:, 0])
    for release in plan.certificate.releases:
        expected = release.sensitivity.value * share
        assert algorithm.moved_by(release, used) == pytest.approx(expected, rel=1e-12)
    baseline = algorithm.plan(PROBLEM, 50, 3)
    assert algorithm.moved_by(baseline.certificate.releases[0], used) == 0


def test_a_session_feeds_it_and_tells_what_was_spent() -> None:
    x, y = synthetic(20)
    plan = OnlineMoments(4).plan(PROBLEM, 20, 3, BUDGET)
    models = plan.run(PROBLEM.records(x, y), NoiseSource(0)).statistics["models"]
    session = OnlineSession(plan, NoiseSource(0))
    assert session.spent is None
    session.learn(x[:7], y[:7])
    np.testing.assert_array_equal(session.parameters, models[0])
    first = session.spent
    assert first is not None
    assert 0 < first.epsilon < 1
    session.learn(x[7:], y[7:])
    np.testing.assert_array_equal(session.parameters, models[-1])
    assert session.spent is not None
    assert first.epsilon < session.spent.epsilon <= 1


@pytest.mark.parametrize("secrets", [True, False])
def test_a_stream_goes_on_from_its_file(secrets: bool, tmp_path: Path) -> None:
    x, y = synthetic(20)
    plan = OnlineMoments(4).plan(PROBLEM, 20, 3, BUDGET)
    session = OnlineSession(plan, NoiseSource(0))
    session.learn(x[:10], y[:10])
    model = session.parameters
    session.save(tmp_path / "stream", secrets=secrets)
    again = OnlineSession.resume(tmp_path / "stream", NoiseSource(1))
    np.testing.assert_array_equal(again.parameters, model)
    again.learn(x[10:], y[10:])
    assert again.left == 0
    assert not np.array_equal(again.parameters, model)


def test_a_file_of_an_older_format_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    OnlineSession(OnlineMoments().plan(PROBLEM, 20, 3, BUDGET)).save(path)
    header, arrays = _STREAM.read(path)
    path.unlink()
    older = replace(_STREAM, version=_STREAM.version - 1)
    older.write(path, {name: header[name] for name in _STREAM.fields}, arrays)
    with pytest.raises(ModelFileError, match="is unknown to this pairdp"):
        OnlineSession.resume(path)
    assert [p.name for p in tmp_path.iterdir()] == ["stream"]


@pytest.mark.parametrize("second", [True, False])
def test_without_noise_every_model_is_that_of_the_records_so_far(second: bool) -> None:
    x, y = synthetic(40)
    fit = OnlineMoments(1, second, ridge=0.01).plan(PROBLEM, 40, 3).run(PROBLEM.records(x, y))
    models = fit.statistics["models"]
    assert models.shape == (40, 3)
    np.testing.assert_array_equal(models[0], 0)
    for t in range(2, 41):
        plan = MomentRelease(second_moments=second, ridge=0.01).plan(PROBLEM, t, 3)
        expected = plan.run(PROBLEM.records(x[:t], y[:t])).parameters
        np.testing.assert_allclose(models[t - 1], expected, atol=1e-9)


def synthetic(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    return (rng.normal(size=(n, 3)) + np.outer(y, [1.0, 0, 0])) / 4, y


def noise_only(
    steps: int, features: int, lost: int | None = None
) -> tuple[Plan, np.ndarray, np.ndarray]:
    """Return a plan, the noise of its first sums, and the deviation that models are shrunk by."""
    algorithm = OnlineMoments(2, second_moments=False)
    plan = algorithm.plan(PROBLEM, 2 * steps, features, BUDGET)
    nothing = PROBLEM.records(np.zeros((2, features)), [1, -1])
    generator = np.random.default_rng(0)
    learner = algorithm.learner(plan, generator)
    sums, deviations = [], []
    for step in range(steps):
        if step == lost:
            public = learner.public_state()
            learner = algorithm.learner(plan, generator)
            learner.restore(public, None)
        learner.learn(nothing)
        sums.append(learner.public_state()["sums_0"])
        deviations.append(learner._sums._unit_deviation())
    return plan, np.array(sums), np.array(deviations)


@pytest.mark.parametrize("lost", [None, 5])
def test_the_noise_of_running_sums_has_the_stated_size(lost: int | None) -> None:
    # A mean of 2501 squares of normals is off by 25 % with probability below
    # 2 exp(-2501·0.25²/8) < 1e-8, at each of 20 steps.
    steps = 20
    plan, sums, deviations = noise_only(steps, 1250, lost)
    scale = plan.certificate.releases[0].mechanism.scale
    np.testing.assert_allclose(np.mean(sums**2, axis=1), (scale * deviations) ** 2, rtol=0.25)
    full = PrefixFactor.of(steps).deviations()
    if lost is None:
        np.testing.assert_allclose(deviations, full, rtol=1e-10)
    else:
        after = np.hypot(full[lost - 1], full[: steps - lost])
        np.testing.assert_allclose(deviations[lost:], after, rtol=1e-10)


def test_noise_is_that_of_dense_matrices() -> None:
    _, sums, _ = noise_only(12, 2)
    plan = OnlineMoments(2, second_moments=False).plan(PROBLEM, 24, 2, BUDGET)
    scale = plan.certificate.releases[0].mechanism.scale
    z = plan.certificate.releases[0].mechanism.noise(60, np.random.default_rng(0))
    z = z.reshape(12, 5)[::-1]  # drawn for all steps, and taken from the end
    c = np.tril(toeplitz(PrefixFactor.of(12).coefficients()))
    expected = np.tril(np.ones((12, 12))) @ np.linalg.inv(c) @ z
    np.testing.assert_allclose(sums, expected, atol=1e-9 * scale)


@pytest.mark.parametrize("place", [0, 9, 19])
def test_a_changed_record_changes_nothing_before_it_arrives(place: int) -> None:
    x, y = synthetic(20)
    other_x, other_y = x.copy(), y.copy()
    other_x[place], other_y[place] = -x[place], -y[place]
    plan = OnlineMoments().plan(PROBLEM, 20, 3, BUDGET)
    one, other = (
        plan.run(PROBLEM.records(*data), NoiseSource(0)).statistics["models"]
        for data in ((x, y), (other_x, other_y))
    )
    np.testing.assert_array_equal(one[:place], other[:place])
    if place:
        assert not np.array_equal(one[place], other[place])


@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("cut", [0, 1, 4, 7])
def test_a_saved_stream_goes_on_as_if_never_stopped(
    second: bool, cut: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated_release, "_DRAWN", 1)  # noise drawn ahead is not saved
    records = PROBLEM.records(*synthetic(20))
    algorithm = OnlineMoments(3, second)
    plan = algorithm.plan(PROBLEM, 20, 3, BUDGET)
    learner = algorithm.learner(plan, np.random.default_rng(0))
    models = []
    for batch in batches(records, 3):
        learner.learn(batch)
        models.append(learner.parameters)
    generator = np.random.default_rng(0)
    first, second_half = (algorithm.learner(plan, generator) for _ in range(2))
    for batch in batches(records, 3)[:cut]:
        first.learn(batch)
    second_half.restore(first.public_state(), first.secret_state())
    if cut:
        np.testing.assert_array_equal(second_half.parameters, models[cut - 1])
    for i, batch in enumerate(batches(records, 3)[cut:]):
        second_half.learn(batch)
        np.testing.assert_array_equal(second_half.parameters, models[cut + i])
    with pytest.raises(ValueError, match="plan a longer horizon"):
        second_half.learn(records.part(slice(0, 1)))


def test_a_saved_state_is_a_copy_and_public_goes_without_the_secret() -> None:
    records = PROBLEM.records(*synthetic(20))
    algorithm = OnlineMoments(5)
    plan = algorithm.plan(PROBLEM, 20, 3, BUDGET)
    learner = algorithm.learner(plan, np.random.default_rng(0))
    learner.learn(records.part(slice(0, 5)))
    public, model = learner.public_state(), learner.parameters
    again = algorithm.learner(plan, np.random.default_rng(1))
    again.restore(public, None)
    np.testing.assert_array_equal(again.parameters, model)
    kept = {name: value.copy() for name, value in public.items()}
    again.learn(records.part(slice(5, 10)))
    learner.learn(records.part(slice(5, 10)))
    for name, value in public.items():
        np.testing.assert_array_equal(value, kept[name])
    assert learner.holds_raw_records  # the encoder's buffers are multiples of the first batch
    assert learner.parameters is not learner.parameters


def test_public_state_is_a_function_of_what_was_released() -> None:
    # The same noisy batches give the same public state, whatever the records behind them.
    algorithm = OnlineMoments(4, second_moments=False)
    plan = algorithm.plan(PROBLEM, 8, 3, BUDGET)
    learner = algorithm.learner(plan, np.random.default_rng(0))
    learner.learn(PROBLEM.records(*synthetic(4)))
    public = learner.public_state()
    assert set(public) == {"counts", "earlier_variance", "sums_0", "decoder_0"}
    np.testing.assert_array_equal(public["counts"], [4, 1, 1])
    assert set(learner.secret_state()) == {"encoder_0"}
    # The first step's sums are what was released, and the buffers are multiples of it.
    steps = public["sums_0"] / plan.certificate.releases[0].mechanism.grid
    np.testing.assert_array_equal(steps, np.rint(steps))
    weights = PrefixFactor.of(2).weights[:, None]
    np.testing.assert_array_equal(public["decoder_0"][0], weights * public["sums_0"])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"counts": np.array([5.0, 9, 1])}, "does not belong to a stream of this plan"),
        ({"counts": np.array([5.0, 1, 2])}, "does not belong to a stream of this plan"),
        ({"counts": np.array([50.0, 2, 2])}, "does not belong to a stream of this plan"),
        ({"counts": np.array([5.0, 1])}, "counts must be finite and of shape"),
        ({"earlier_variance": np.array([-1.0])}, "does not belong to a stream of this plan"),
        ({"sums_0": np.full(7, np.nan)}, "sums_0 must be finite"),
    ],
)
def test_a_wrong_state_is_refused(change: dict[str, np.ndarray], reason: str) -> None:
    algorithm = OnlineMoments(5)
    learner = algorithm.learner(algorithm.plan(PROBLEM, 20, 3, BUDGET), np.random.default_rng(0))
    state = learner.public_state()
    with pytest.raises(ValueError, match=reason):
        learner.restore({**state, **change}, None)
    with pytest.raises(ValueError, match="the state lacks sums_1"):
        learner.restore({k: v for k, v in state.items() if k != "sums_1"}, None)
    with pytest.raises(ValueError, match="the state lacks encoder_0"):
        learner.restore(state, {})


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(ValueError, match="use LeastSquaresRanking"):
        OnlineMoments().plan(Problem(LogisticRanking(), L2Ball(1.0)), 10, 2, BUDGET)
    with pytest.raises(ValueError, match="no paper prints the noise"):
        OnlineMoments().plan(PROBLEM, 10, 2, BUDGET, calibration="printed")
    with pytest.raises(ValueError, match="delta > 0"):
        OnlineMoments().plan(PROBLEM, 10, 2, Budget(1.0, 0.0))
    for wrong in ({"share": 1.0}, {"weight": 1.1}, {"weight": 0.0}, {"ridge": -1.0}):
        with pytest.raises(ValueError, match="must be"):
            OnlineMoments(**wrong)
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        OnlineMoments(0)
    algorithm = OnlineMoments(2)
    learner = algorithm.learner(algorithm.plan(PROBLEM, 10, 3, BUDGET), np.random.default_rng(0))
    with pytest.raises(ValueError, match="up to 2 records"):
        learner.learn(PROBLEM.records(*synthetic(3)))
    with pytest.raises(ValueError, match="3 features"):
        learner.learn(PROBLEM.records([[1.0]], [1]))
    with pytest.raises(ValueError, match="clipped"):
        learner.learn(Records([[1.0, 2.0, 3.0]], [1], data_norm=5.0))


@pytest.mark.parametrize("second", [True, False])
def test_it_learns(second: bool) -> None:
    n = 4000
    x, y = synthetic(n)
    plan = OnlineMoments(20, second).plan(PROBLEM, n, 3, Budget(1.0, 1e-6))
    models = plan.run(PROBLEM.records(x, y), NoiseSource(0)).statistics["models"]
    assert models.shape == (200, 3)
    directions = models / np.maximum(np.linalg.norm(models, axis=1, keepdims=True), 1e-300)
    assert np.all(directions[100:, 0] > 0.9)
