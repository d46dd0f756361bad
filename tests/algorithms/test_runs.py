"""Certificates and runs: verified, reproducible, interrupted, and without data."""

from __future__ import annotations

import math
import pickle
import re

import numpy as np
import pytest

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms import (
    Algorithm,
    GradientDescent,
    MomentRelease,
    NoisyGradientDescent,
    find_algorithm,
)
from pairdp.algorithms.registry import algorithms
from pairdp.constraints import L2Ball, Unconstrained
from pairdp.losses import (
    LogisticRanking,
)
from pairdp.pairs.risk import RankingRisk
from pairdp.privacy import GaussianMechanism, KNormMechanism, NoiseReuseError
from pairdp.problem import Problem
from pairdp.records import Records
from tests.algorithms.cases import (
    BUDGET,
    GRADIENT_NOISE,
    METRIC,
    PLANNED,
    PURE,
    RIDGE,
    SQUARES,
    D,
    N,
    plan,
    printed,
    records,
    scales,
)

# Certificates


@pytest.mark.parametrize("budget", [BUDGET, PURE, Budget(6.0, 1e-9)], ids=str)
@pytest.mark.parametrize("name", PLANNED)
def test_certificates_verify_before_and_after_a_run(name: str, budget: Budget) -> None:
    if budget.is_pure and name in GRADIENT_NOISE:
        pytest.skip("gradient noise is refused")
    made = plan(name, budget)
    assert made.claim_is_proved
    # Nearly the whole budget is used, too. The ε of sampled steps is read off a grid, upwards.
    slack = 1e-5 if name == "mini-batches" else 1e-9
    assert 0.99 * budget.epsilon <= made.true_epsilon <= budget.epsilon * (1 + slack)
    assert verify(made.certificate)
    fit = made.run(records(made.problem), NoiseSource(5))
    assert verify(fit.certificate.to_json())
    assert fit.certificate.budget == budget
    assert fit.certificate.noise_source == NoiseSource(5).description


@pytest.mark.parametrize("name", [name for name in PLANNED if name not in GRADIENT_NOISE])
def test_pure_plans_have_k_norm_noise_that_adds_up(name: str) -> None:
    releases = plan(name, PURE).certificate.releases
    assert all(isinstance(release.mechanism, KNormMechanism) for release in releases)
    spent = [r.mechanism.sensitivity / r.mechanism.scale for r in releases]
    # Parts are disjoint, so each may cost the whole ε; all else adds up.
    total = max(spent) if releases[0].part is not None else math.fsum(spent)
    assert total == pytest.approx(1.0)


@pytest.mark.parametrize("name", PLANNED)
def test_baselines_say_that_they_are_not_private(name: str) -> None:
    made = plan(name, None)
    assert made.certificate.calibration == "none"
    assert made.certificate.budget is None
    assert made.true_epsilon == math.inf
    assert not made.claim_is_proved
    assert verify(made.certificate)
    fit = made.run(records(made.problem), NoiseSource(0))
    assert "NOT PRIVATE" in fit.certificate.statement()
    assert "no privacy" in str(made)
    assert all("without noise" in release.describe() for release in fit.certificate.releases)


@pytest.mark.parametrize("name", PLANNED)
def test_a_baseline_has_no_randomness_but_its_batches(name: str) -> None:
    made = plan(name, None)
    runs = [made.run(records(made.problem), NoiseSource(s)).parameters for s in (0, 1)]
    assert np.array_equal(*runs) == (name != "mini-batches")


# Runs


@pytest.mark.parametrize("name", PLANNED)
def test_runs_are_of_the_seed_and_use_a_source_once(name: str) -> None:
    made = plan(name)
    data, source = records(made.problem), NoiseSource(1)
    first = made.run(data, source).parameters
    with pytest.raises(NoiseReuseError):
        made.run(data, source)
    np.testing.assert_array_equal(first, made.run(data, NoiseSource(1)).parameters)
    assert not np.array_equal(first, made.run(data, NoiseSource(2)).parameters)
    assert not np.array_equal(made.run(data).parameters, made.run(data).parameters)


@pytest.mark.parametrize("name", PLANNED)
def test_results_lie_in_the_constraint_set(name: str) -> None:
    made = plan(name)
    found = made.run(records(made.problem), NoiseSource(3)).parameters
    assert np.linalg.norm(found) <= made.problem.constraint.radius * (1 + 1e-12)
    nearest = made.problem.constraint.project(found)
    np.testing.assert_allclose(nearest, found, rtol=0, atol=1e-12)


def test_records_must_be_those_that_were_planned_for() -> None:
    made, rng = plan("last"), np.random.default_rng(0)
    x, y = rng.normal(size=(N, D)), rng.choice([-1, 1], N)
    with pytest.raises(ValueError, match="plan is for 60 records of 3 features, got 59 of 3"):
        made.run(RIDGE.records(x[1:], y[1:]))
    with pytest.raises(ValueError, match="got 60 of 2: plan again"):
        made.run(RIDGE.records(x[:, 1:], y))
    with pytest.raises(ValueError, match=re.escape("problem.records(x, y), which clips them")):
        made.run(Records(x, y, data_norm=1.5))


@pytest.mark.parametrize("name", PLANNED)
def test_a_fit_holds_no_data(name: str) -> None:
    made = plan(name)
    data = records(made.problem)
    stored = pickle.dumps(made.run(data, NoiseSource(0)))
    assert not any(number.tobytes() in stored for number in data.x.ravel())
    assert pickle.loads(stored).certificate.budget == BUDGET


@pytest.mark.parametrize(
    "name", ["last", "average", "epochs", "noisy average", "noisy last", "mini-batches"]
)
def test_an_interrupted_run_returns_nothing_and_changes_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = plan(name)
    data, left = records(made.problem), [1]
    x, y = data.x.copy(), data.y.copy()
    gradient = RankingRisk.gradient

    def interrupted(risk: RankingRisk, parameters: np.ndarray) -> np.ndarray:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return gradient(risk, parameters)

    before = made.run(data, NoiseSource(0)).parameters
    with monkeypatch.context() as patched:
        patched.setattr(RankingRisk, "gradient", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made.run(data, NoiseSource(0), progress=True)
    np.testing.assert_array_equal(data.x, x)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(made.run(data, NoiseSource(0)).parameters, before)


def test_an_interrupted_output_algorithm_has_drawn_no_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = []
    monkeypatch.setattr(GaussianMechanism, "release", lambda *_: drawn.append(1))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RankingRisk, "gradient", stop)
    monkeypatch.setattr(RankingRisk, "value_and_gradient", stop)
    monkeypatch.setattr(LogisticRanking, "slope", stop)
    for name in ("last", "average", "epochs", "minimiser", "stream"):
        with pytest.raises(KeyboardInterrupt):
            plan(name).run(records(RIDGE), NoiseSource(0))
    assert not drawn


@pytest.mark.parametrize("name", ["last", "average", "epochs", "noisy last", "minimiser", "stream"])
def test_progress_is_shown_when_asked_for(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = plan(name)
    shown = {}
    for progress in (True, False, None):  # None: not on a terminal here
        fit = made.run(records(made.problem), NoiseSource(0), progress=progress)
        captured = capsys.readouterr()
        assert captured.out == ""
        shown[progress] = captured.err
        np.testing.assert_array_equal(
            fit.parameters, made.run(records(made.problem), NoiseSource(0)).parameters
        )
    # How many steps the minimiser takes depends on the data: it shows the time alone.
    assert ("%" in shown[True]) == (name != "minimiser")
    if name == "minimiser":
        assert re.fullmatch(r"(\s|minimising: \d\d:\d\d)+", shown[True])
    assert shown[False] == shown[None] == ""


# The published names


@pytest.mark.parametrize("name", algorithms("pairs", published=True))
def test_published_names(name: str) -> None:
    made = find_algorithm(name).plan(RIDGE, N, D, BUDGET)
    fit = made.run(records(made.problem), NoiseSource(0))
    assert fit.parameters.shape == (D,)


def test_metrics_have_their_own_dimension() -> None:
    for name in ("DPGDSC", "DPEGD", "DPGDC2", "OffPairC", "Kang2021"):
        made = find_algorithm(name).plan(METRIC, N, D, BUDGET)
        assert {release.dimension for release in made.certificate.releases} == {D * (D + 1) // 2}
        fit = made.run(records(made.problem), NoiseSource(0))
        np.testing.assert_array_equal(fit.parameters, fit.parameters.T)
        assert np.linalg.eigvalsh(fit.parameters).min() >= -1e-12


def test_the_last_iterate_is_released_as_such_when_that_takes_less_noise() -> None:
    last, average = (
        NoisyGradientDescent(output, 200, 0.4).plan(RIDGE, 1000, D, BUDGET)
        for output in ("last", "average")
    )
    assert last.certificate.releases[0].count == 1
    assert average.certificate.releases[0].count == 200
    assert scales(last)[0] < scales(average)[0] / 1.5
    assert any("last iterate" in reason for reason in last.reasons)


# Faults that were found once


def test_steps_that_are_given_need_no_bounded_set() -> None:
    free = Problem(LogisticRanking(), Unconstrained())
    made = GradientDescent("average", 10, 0.1).plan(free, N, D, BUDGET)
    assert verify(made.certificate)


@pytest.mark.parametrize(
    "algorithm", [GradientDescent(), NoisyGradientDescent("last", 5, 0.1, projected=False)]
)
def test_printed_noise_on_unbounded_sets_is_refused_with_a_remedy(algorithm: Algorithm) -> None:
    free = Problem(LogisticRanking(), Unconstrained(), 0.1)
    with pytest.raises(ValueError, match=r"L2Ball|printed_lipschitz"):
        printed(algorithm, free, N, BUDGET)


@pytest.mark.parametrize("regularization", [0.0, 1e-4])
def test_many_noisy_steps_verify(regularization: float) -> None:
    problem = Problem(LogisticRanking(), L2Ball(1.0), regularization)
    made = NoisyGradientDescent("last", 5000, 0.4).plan(problem, 1000, D, BUDGET)
    assert verify(made.certificate)


def test_many_steps_on_an_unbounded_set() -> None:
    free = Problem(LogisticRanking(), Unconstrained(), 1.0)
    NoisyGradientDescent("last", 5000, 0.3).plan(free, N, D, BUDGET)


def test_plans_pickle() -> None:
    made = plan("last")
    assert pickle.loads(pickle.dumps(made)) == made


def test_moments_of_very_many_records_verify() -> None:
    assert verify(MomentRelease().plan(SQUARES, 10**8, D, Budget(1.0, 1e-10)).certificate)


@pytest.mark.parametrize("name", ["class moments", "stream", "last", "epochs", "minimiser"])
def test_records_of_many_classes_are_refused_by_losses_of_two(name: str) -> None:
    made = plan(name)
    x = records(made.problem).x
    many = Records(x, np.arange(len(x)), binary=False)
    with pytest.raises(ValueError, match="two classes"):
        made.run(many)


def test_what_is_no_record_and_no_noise_is_refused() -> None:
    made = plan("last")
    with pytest.raises(TypeError, match=r"problem\.records"):
        made.run(records(made.problem).x)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="NoiseSource"):
        made.run(records(made.problem), np.random.default_rng(0))  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [7, 20, 1000])
def test_moments_of_batches_are_those_of_the_table(size: int) -> None:
    made = plan("class moments")
    data = records(made.problem)
    batches = [(data.x[i : i + size], data.y[i : i + size]) for i in range(0, data.n, size)]
    whole, parts = made.run(data, NoiseSource(0)), made.run(made.read(batches), NoiseSource(0))
    np.testing.assert_allclose(parts.parameters, whole.parameters, rtol=1e-9)
    with pytest.raises(ValueError, match="plan again"):
        made.read(batches[:-1] if len(batches) > 1 else [])
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(made.read(batches))


def test_batches_are_gathered_where_all_records_are_needed() -> None:
    made = plan("last")
    data = records(made.problem)
    batches = [(data.x[:9], data.y[:9]), (data.x[9:], data.y[9:])]
    gathered = made.read(batches)
    assert isinstance(gathered, Records)
    np.testing.assert_allclose(gathered.x, data.x, rtol=1e-15)  # clipped once more
    np.testing.assert_allclose(
        made.run(gathered, NoiseSource(0)).parameters, made.run(data, NoiseSource(0)).parameters
    )
    for wrong in (batches[:1], [*batches, batches[0]]):
        with pytest.raises(ValueError, match="records"):
            made.read(wrong)
    with pytest.raises(TypeError, match="not their sums"):
        made.run(plan("class moments").read(batches))
