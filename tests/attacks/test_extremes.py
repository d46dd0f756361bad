"""Public numbers of any accepted size must give noise and models of the right size.

Tried: public numbers so large or small that squares of them overflow or vanish. At a radius of
1e-161 the norm of a model underflowed in `WithThreshold`, so that scores were up to 4.5 R where
R was certified. Rows of mixed magnitudes, up to the largest floats and down to the smallest, were
clipped to bounds of any accepted size.

What must hold: numbers beyond a stated range are refused with a sentence. Within it, plans and
runs do not depend on units: records in units 2^k times smaller, with radius, regulariser and step
size changed accordingly, have the same noise and the same model in the new units. Scaling by a
power of two is exact in floats, so any overflow, underflow or number that should have had a unit
shows. Clipped rows have the certified norm in exact arithmetic.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pairdp import Budget
from pairdp.algorithms import (
    Algorithm,
    EpochGradientDescent,
    FisherMetric,
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    PairwiseSGD,
    PhasedSGD,
    ScatterMetric,
    StreamGradientDescent,
    WithThreshold,
)
from pairdp.algorithms.threshold import _direction, _score_sums
from pairdp.clipping import clip_rows
from pairdp.constraints import L2Ball, PSDFrobeniusBall, Unconstrained
from pairdp.losses import (
    HingeMetric,
    HingePointwise,
    HingeRanking,
    LeastSquaresPointwise,
    LeastSquaresRanking,
    LogisticMetric,
    LogisticPointwise,
    LogisticRanking,
    SquaredHingeRanking,
)
from pairdp.online import CenteredMoments, OnlineDescent, OnlineMoments
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import NoiseSource, Sensitivity
from pairdp.privacy.bounds.sensitivity import ROUNDING_SLACK
from pairdp.problem import Problem
from pairdp.records import Records

pytestmark = pytest.mark.slow

Array = NDArray[Any]
_N, _D = 30, 3
_UNITS = st.integers(-98, 98)


@dataclass(frozen=True)
class _Case:
    """An algorithm and a problem in units of 2^k; a parameter has the unit 2^(-k·power)."""

    algorithm: Algorithm
    problem: Callable[[int], Problem]
    power: int = 1
    near: float = 1e-6
    """How far models may differ: a solver's tolerance."""


def _ranking(loss: Any, weight: float = 0.0) -> Callable[[int], Problem]:
    return lambda k: Problem(loss, L2Ball(2.0**-k), weight * 4.0**k, data_norm=2.0**k)


def _unbounded(loss: Any, weight: float) -> Callable[[int], Problem]:
    return lambda k: Problem(loss, Unconstrained(), weight * 4.0**k, data_norm=2.0**k)


def _centred(loss: Any, weight: float) -> Callable[[int], Problem]:
    def problem(k: int) -> Problem:
        center = np.array([0.5, -0.1, 0.3]) * 2.0**-k
        return Problem(loss, L2Ball(2.0**-k), weight * 4.0**k, center, data_norm=2.0**k)

    return problem


def _metric(loss: Any, weight: float = 0.0) -> Callable[[int], Problem]:
    return lambda k: Problem(loss, PSDFrobeniusBall(4.0**-k), weight * 16.0**k, data_norm=2.0**k)


def _record(loss: Any, weight: float = 0.0) -> Callable[[int], Problem]:
    return lambda k: PointwiseProblem(loss, L2Ball(2.0**-k), weight * 4.0**k, data_norm=2.0**k)


_CASES: dict[str, _Case] = {
    "last": _Case(GradientDescent(), _ranking(LogisticRanking(), 0.1)),
    "average": _Case(GradientDescent("average", steps=30), _ranking(LogisticRanking())),
    "unbounded": _Case(GradientDescent(), _unbounded(LogisticRanking(), 0.1)),
    "centred": _Case(GradientDescent(), _centred(LogisticRanking(), 0.1)),
    "metric": _Case(GradientDescent(steps=5), _metric(LogisticMetric(), 0.1), 2),
    "epochs": _Case(EpochGradientDescent(), _ranking(LogisticRanking())),
    "noisy": _Case(NoisyGradientDescent(steps=20), _ranking(LogisticRanking())),
    "noisy rounded hinge": _Case(NoisyGradientDescent(steps=20), _ranking(HingeRanking(width=0.1))),
    "noisy last": _Case(NoisyGradientDescent("last"), _ranking(LogisticRanking(), 0.1)),
    "minimiser": _Case(MinimizerRelease(), _ranking(LogisticRanking(), 0.1), near=0.02),
    "free minimiser": _Case(MinimizerRelease(), _unbounded(LogisticRanking(), 0.1), near=0.02),
    "minimiser of a metric": _Case(
        MinimizerRelease(), _metric(LogisticMetric(), 0.1), 2, near=0.02
    ),
    "squared hinge": _Case(MinimizerRelease(), _ranking(SquaredHingeRanking(), 0.1), near=0.02),
    "stream": _Case(StreamGradientDescent(), _ranking(LogisticRanking(), 0.1)),
    "class moments": _Case(MomentRelease(), _ranking(LeastSquaresRanking())),
    "pair moments": _Case(MomentRelease("pair"), _ranking(LeastSquaresRanking())),
    "first moments": _Case(MomentRelease(second_moments=False), _ranking(LeastSquaresRanking())),
    "SGD": _Case(PairwiseSGD(), _ranking(HingeRanking())),
    "smooth SGD": _Case(PairwiseSGD(), _ranking(LogisticRanking(), 0.1)),
    "SGD of a metric": _Case(PairwiseSGD(), _metric(HingeMetric()), 2),
    "phases": _Case(PhasedSGD(), _ranking(LogisticRanking())),
    "scatter": _Case(ScatterMetric(), _metric(LogisticMetric()), 2),
    "scatter of pairs": _Case(ScatterMetric("pairs"), _metric(LogisticMetric()), 2),
    "fisher": _Case(FisherMetric(), _metric(LogisticMetric()), 2),
    "fisher, full": _Case(FisherMetric("full"), _metric(LogisticMetric()), 2),
    "threshold": _Case(WithThreshold(GradientDescent()), _ranking(LogisticRanking(), 0.1)),
    "free threshold": _Case(WithThreshold(MomentRelease()), _ranking(LeastSquaresRanking())),
    "records": _Case(GradientDescent("average", steps=30), _record(LogisticPointwise())),
    "targets": _Case(MinimizerRelease(), _record(LeastSquaresPointwise(), 0.1), near=0.02),
    "noisy records": _Case(NoisyGradientDescent(steps=10), _record(HingePointwise(width=0.1))),
    "online": _Case(OnlineDescent(), _ranking(LogisticRanking(), 0.1)),
    "online moments": _Case(OnlineMoments(), _ranking(LeastSquaresRanking())),
    "centred moments": _Case(
        CenteredMoments(center_records=4, radius_records=2), _ranking(LeastSquaresRanking())
    ),
}


def _run(case: _Case, k: int, budget: Budget) -> tuple[list[float], Array, Array]:
    """Return sensitivities over scales, noise scales and the model of a run in units of 2^k."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(_N, _D)), rng.choice([-1.0, 1.0], _N)
    x[0], x[1] = 1e3, -1e3  # well above the bound
    problem = case.problem(k)
    plan = case.algorithm.plan(problem, _N, _D, budget)
    mechanisms: list[Any] = [release.mechanism for release in plan.certificate.releases]
    ratios = [m.sensitivity / m.scale for m in mechanisms]
    fit = plan.run(problem.records(x * 2.0**k, y), NoiseSource(3), progress=False)
    return ratios, np.array([m.scale for m in mechanisms]), fit.parameters


@pytest.mark.parametrize("name", _CASES)
@given(k=_UNITS, pure=st.booleans())
@example(k=98, pure=False)
@example(k=-98, pure=False)
@settings(max_examples=3, deadline=None, derandomize=True)
def test_nothing_depends_on_the_unit_of_records(name: str, k: int, pure: bool) -> None:
    case = _CASES[name]
    budget = Budget(1.0) if pure and not case.algorithm.needs_delta else Budget(1.0, 1e-6)
    ratios, scales, model = _run(case, 0, budget)
    new_ratios, new_scales, new_model = _run(case, k, budget)
    np.testing.assert_allclose(new_ratios, ratios, rtol=1e-8)
    # A scale has some integer power of the unit.
    powers = np.log2(new_scales / scales)
    if k:
        np.testing.assert_allclose(powers, k * np.rint(powers / k), rtol=0, atol=1e-8)
    size = float(np.abs(model).max())
    np.testing.assert_allclose(
        new_model * 2.0 ** (k * case.power), model, rtol=0, atol=case.near * size
    )


_NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([5e-324, -5e-324, 1.7e308, -1.7e308, 1e150, 1e149, 1e-162, 0.0]),
)


@given(
    rows=st.lists(st.lists(_NUMBERS, min_size=4, max_size=4), min_size=1, max_size=4),
    log_norm=st.floats(-30, 30),
)
@settings(max_examples=400, deadline=None, derandomize=True)
def test_clipped_rows_have_the_norm_in_exact_arithmetic(
    rows: list[list[float]], log_norm: float
) -> None:
    data_norm = min(max(10.0**log_norm, 1e-30), 1e30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clipped = clip_rows(rows, data_norm)
    for row, given_row in zip(clipped, rows, strict=True):
        square = sum((Fraction(float(v)) ** 2 for v in row), Fraction(0))
        few_units = Fraction(1) + 12 * Fraction(1, 2**53)
        assert square <= Fraction(data_norm) ** 2 * few_units
        exact = sum((Fraction(v) ** 2 for v in given_row), Fraction(0))
        if exact <= Fraction(data_norm) ** 2 * (1 - Fraction(1, 2**40)):
            np.testing.assert_array_equal(row, given_row)
        else:  # and not shrunk to less
            assert square >= Fraction(data_norm) ** 2 * (1 - Fraction(1, 2**40))
    # A sensitivity in proportion to the norm pays for the excess.
    assert ROUNDING_SLACK > 12 * 2.0**-53


@given(logs=st.lists(st.floats(-307, 307), min_size=1, max_size=5), seed=st.integers(0, 10**6))
@example(logs=[-161.0, -161.0, -161.0], seed=0)
@example(logs=[-323.0], seed=1)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_scores_for_a_threshold_are_within_the_bound(logs: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    parameters = np.array([10.0**log for log in logs]) * rng.choice([-1, 1], len(logs))
    direction, size = _direction(parameters)
    assert math.isclose(float(np.linalg.norm(direction)), 1.0, rel_tol=1e-12)
    np.testing.assert_allclose(direction * size, parameters, rtol=1e-12, atol=1e-290 * size)
    x = np.vstack([rng.normal(size=(20, len(logs))), direction, -direction]) * 7.0
    records = Records(x, np.ones(len(x)), data_norm=3.0)
    alone = (records.part(slice(i, i + 1)) for i in range(records.n))
    scores = np.array([_score_sums(one, direction, 3.0).high[1] for one in alone])
    assert np.abs(scores).max() <= 3.0
    assert np.abs(scores).max() >= 3.0 * (1 - 1e-12)


def test_public_numbers_beyond_their_range_are_refused() -> None:
    loss, ball = LogisticRanking(), L2Ball(1.0)
    refused: list[Callable[[], object]] = [
        lambda: L2Ball(1e-161),
        lambda: L2Ball(1e161),
        lambda: Problem(loss, ball, 1e-121),
        lambda: Problem(loss, ball, 1e121),
        lambda: Problem(loss, ball, 1.0, np.array([1e61])),
        lambda: Problem(loss, ball, data_norm=1e-31),
        lambda: LogisticRanking(temperature=1e31),
        lambda: LeastSquaresPointwise(1e-31),
        lambda: GradientDescent(step_size=1e-121),
        lambda: NoisyGradientDescent(step_size=1e121),
        lambda: PairwiseSGD(step_size=1e-300),
        lambda: PhasedSGD(step_size=1e300),
        lambda: EpochGradientDescent(step_size=1e-300),
        lambda: OnlineDescent(step_size=1e-300),
        lambda: StreamGradientDescent(strong_convexity=1e-300),
        lambda: MinimizerRelease(tolerance=1e-300),
        lambda: ScatterMetric(euclidean=1e300),
        lambda: GradientDescent().plan(Problem(loss, ball, 0.1), 9, 2, Budget(1e-16)),
        lambda: GradientDescent().plan(Problem(loss, ball, 0.1), 9, 2, Budget(1e16)),
        lambda: GradientDescent().plan(Problem(loss, ball, 0.1), 9, 2, Budget(1.0, 1e-101)),
        lambda: Sensitivity.stated(1e-201),
        lambda: Sensitivity.stated(1e201),
    ]
    for make in refused:
        with pytest.raises(ValueError, match=r"must be between|of size up to"):
            make()


_LOGS = st.floats(-1, 1)


@given(
    norm=_LOGS,
    radius=_LOGS,
    weight=_LOGS,
    temperature=_LOGS,
    step=_LOGS,
    budget=_LOGS,
    delta=_LOGS,
    which=st.integers(0, 7),
)
@settings(max_examples=120, deadline=None, derandomize=True)
def test_extreme_plans_are_refused_or_hold(
    norm: float,
    radius: float,
    weight: float,
    temperature: float,
    step: float,
    budget: float,
    delta: float,
    which: int,
) -> None:
    loss = LogisticRanking(temperature=10 ** (29 * temperature))
    algorithms: list[Algorithm] = [
        GradientDescent(steps=20),
        GradientDescent("average", step_size=10 ** (100 * step), steps=20),
        NoisyGradientDescent(step_size=10 ** (100 * step), steps=20),
        NoisyGradientDescent("last", steps=20),
        MinimizerRelease(),
        PairwiseSGD(step_size=10 ** (100 * step)),
        PhasedSGD(step_size=10 ** (100 * step)),
        WithThreshold(GradientDescent("average", steps=5)),
    ]
    allowed = Budget(10 ** (14 * budget), 10 ** (-50 + 49 * delta))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            problem = Problem(
                loss, L2Ball(10 ** (59 * radius)), 10 ** (110 * weight), data_norm=10 ** (29 * norm)
            )
            plan = algorithms[which].plan(problem, _N, _D, allowed)
        except ValueError:
            return
        assert plan.claim_is_proved
        rng = np.random.default_rng(0)
        x = rng.normal(size=(_N, _D)) * 1e5 * problem.data_norm
        fit = plan.run(problem.records(x, rng.choice([-1.0, 1.0], _N)), NoiseSource(1))
    assert np.all(np.isfinite(fit.parameters))
    size = float(np.abs(fit.parameters).max())
    assert size <= problem.constraint.radius * (1 + 1e-12)
