"""Computed sums must stay within the rounding that certified sensitivities pay for.

Tried: let a sum be made of very many parts, such as batches of one row. Every addition rounds, so
plain adding is off by up to N·u of the sum of absolute values after N additions. With one-row
batches, two neighbouring data sets were 1.2e-6 further apart than certified at n = 4·10⁵, growing
with n²: 3 % at 5·10⁷. Terms were also chosen one by one so that every plain addition rounds the
same way, and sums of 10¹⁰ records were built from the sums of large parts. Gradient descent adds
up very many small steps: rounding parted two runs by more than their gradients did.

What must hold: the error of every sum over records is below `SUMMING` times n times the bound on a
term (`ACCURACY`·G for gradients), for any order, any batches and n up to 10¹⁰; plans for more
records are refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pairdp import Budget
from pairdp._sums import (
    BLOCK,
    LARGEST_N,
    Total,
    add_up,
    gram,
    prefix_sums,
    sum_in_pairs,
    weighted_rows,
)
from pairdp.algorithms import GradientDescent, MomentRelease
from pairdp.algorithms.class_moments import ClassMoments
from pairdp.algorithms.descent import descend
from pairdp.algorithms.plan import Progress
from pairdp.algorithms.scaled_records import ScaledRecords
from pairdp.constraints import L2Ball
from pairdp.losses import HingeRanking, LeastSquaresRanking, LogisticRanking, SquaredHingeRanking
from pairdp.pairs import ACCURACY, RankingSums, risk
from pairdp.privacy.bounds.sensitivity import SUMMING
from pairdp.problem import Problem
from pairdp.records import Records
from pairdp.score_sums.quadratic import ClassPowers
from pairdp.score_sums.sparse_pieces import SparseMoments

pytestmark = pytest.mark.slow

Array = NDArray[Any]
_U = 2.0**-53


def _all_round_down(count: int, start: float = 1.0) -> list[float]:
    """Return terms, each chosen so that adding it to the plain sum so far rounds down."""
    terms, total = [start], start
    for _ in range(count - 1):
        unit = math.ulp(total + start)
        # A multiple of the unit and nearly half of it more: rounding drops the half.
        term = unit * (math.floor(0.7 * start / unit) + 0.4999)
        terms.append(term)
        total += term
    return terms


def _plain(terms: list[float]) -> float:
    return reduce(lambda total, term: total + term, terms, 0.0)


def _parts(terms: list[float]) -> list[Array]:
    return [np.array([term]) for term in terms]


def test_terms_that_all_round_one_way_are_added_exactly() -> None:
    terms = _all_round_down(30_000)
    exact = math.fsum(terms)
    assert abs(_plain(terms) - exact) > SUMMING * exact  # what plain adding loses
    for order in (terms, terms[::-1]):
        assert abs(add_up(_parts(order))[0] - exact) <= 2 * _U * exact


@given(
    logs=st.lists(st.floats(-40, 40), min_size=1, max_size=60),
    seed=st.integers(0, 10**6),
    tree=st.booleans(),
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_any_order_of_adding_keeps_all_digits(logs: list[float], seed: int, tree: bool) -> None:
    rng = np.random.default_rng(seed)
    terms = [float(10**log * rng.choice([-1, 1]) * rng.uniform()) for log in logs]
    terms += [-term for term in terms[: len(terms) // 2]]  # large terms cancel
    exact = math.fsum(terms)
    allowed = _U * abs(exact) + 4 * len(terms) * _U**2 * math.fsum(map(abs, terms))
    totals = [Total.of(part) for part in _parts(terms)]
    while len(totals) > 1:
        one, other = (int(i) for i in sorted(rng.choice(len(totals), 2, replace=False)))
        merged = totals[one] + totals[other] if tree else totals[0] + totals.pop(1)
        if tree:
            totals.pop(other)
            totals[one] = merged
        else:
            totals[0] = merged
    assert abs(float(totals[0].high[0]) - exact) <= allowed


@pytest.mark.parametrize("first", [0.1, 1 / 3, -0.7])
def test_sums_over_ten_billion_records_from_the_sums_of_parts(first: float) -> None:
    # 2·10⁴ parts of 5·10⁵ records each. Every part has the same sum, which is given.
    parts, size = 20_000, LARGEST_N // 20_000
    part = size * np.array([first, 0.9 - first])
    total = Total.zeros(2)
    for _ in range(parts):
        total = total + part
    exact = [float(Fraction(value) * parts) for value in part]
    np.testing.assert_allclose(total.high, exact, rtol=2 * _U, atol=0)


def test_moments_from_batches_of_one_row() -> None:
    # With the old addition the mean was off by 5e-12 R, and 1e-12 R is paid for.
    row, n = 0.1 + 1 / 3, 120_000
    one = ClassMoments.of(Records([[row]], [1.0]))
    total = one
    for _ in range(n - 1):
        total = total + one
    square = Fraction(float(one.ups[0, 0]))
    for found, term in ((total.signed[0], Fraction(row)), (total.ups[0, 0], square)):
        assert abs(Fraction(float(found)) - n * term) <= SUMMING * n / 2
    assert (total.n, total.positives) == (n, n)


def test_neighbours_read_row_by_row_are_as_near_as_certified() -> None:
    n = 3000
    problem = Problem(LeastSquaresRanking(), L2Ball(1.0))
    plan = MomentRelease().plan(problem, n, 1, Budget(1.0, 1e-6))
    terms = np.array(_all_round_down(n, 0.6)) / 0.6 * 0.9
    x, y = terms.reshape(-1, 1), np.ones(n)
    sums = []
    for last in (1.0, -1.0):
        x[-1] = last
        found = plan.read((x[i : i + 1], y[i : i + 1]) for i in range(n))
        assert isinstance(found, ClassMoments)
        sums.append(np.concatenate([found.signed, 0.6 * found.plain]) / n)
    moved = float(np.linalg.norm(sums[0] - sums[1]))
    sensitivity = plan.certificate.releases[0].sensitivity
    assert sensitivity is not None
    assert moved <= sensitivity.value


def test_products_over_many_blocks_in_memory() -> None:
    # A view of one row, 4·10⁸ times: 10⁵ blocks.
    n = 4 * 10**8
    row = np.array([0.1, 1 / 3])
    found = weighted_rows(np.broadcast_to(row, (n, 2)), np.broadcast_to(np.float64(0.9), n))
    for value, entry in zip(found, row, strict=True):
        exact = Fraction(float(entry)) * Fraction(0.9) * n
        assert abs(Fraction(float(value)) - exact) <= SUMMING * n / 2


def test_a_sum_in_pairs_is_one() -> None:
    terms = _all_round_down(30_000)
    found = float(sum_in_pairs(_parts(terms))[0])
    assert abs(found - math.fsum(terms)) <= 40 * _U * math.fsum(terms)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 70_000])
def test_prefix_sums_are_those_of_exact_adding(size: int) -> None:
    rng = np.random.default_rng(size)
    values = rng.uniform(-1, 1, size) * 10.0 ** rng.integers(-8, 1, size)
    if size > 1000:
        values = np.array(_all_round_down(size))
    found = prefix_sums(values)
    assert found[0] == 0
    assert found.size == size + 1
    for place in {size, size // 2, min(size, 300)}:
        exact = math.fsum(values[:place])
        allowed = 600 * _U * math.fsum(np.abs(values[:place]))
        assert abs(found[place] - exact) <= allowed


def test_squares_of_more_rows_than_a_block() -> None:
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(2 * BLOCK + 3, 2)), rng.uniform(size=2 * BLOCK + 3)
    exact = (rows.T.astype(np.longdouble) * weights) @ rows.astype(np.longdouble)
    np.testing.assert_allclose(gram(rows, weights), exact.astype(float), rtol=1e-13, atol=1e-12)
    np.testing.assert_array_equal(gram(rows, weights), gram(rows, weights).T)
    np.testing.assert_array_equal(gram(rows[:0]), np.zeros((2, 2)))


def test_scatters_with_a_large_class_and_very_many_small_ones() -> None:
    n, large = 6000, 3000
    x = np.array(_all_round_down(n, 0.9)).reshape(-1, 1)
    y = np.r_[np.zeros(large), np.arange(1, n - large + 1)]
    records = Records(x, y, binary=False)
    scaled = ScaledRecords(records)
    exact = [Fraction(float(value)) for value in records.x[:, 0]]
    own = exact[:large]
    total = sum(own, Fraction(0))
    within = 2 * (large * sum((v * v for v in own), Fraction(0)) - total**2) / (n * (n - 1))
    assert abs(Fraction(float(scaled.within()[0, 0])) - within) <= 8 * SUMMING
    means = large * Fraction(1, 4) + sum(min(v, Fraction(1, 2)) ** 2 for v in exact[large:])
    assert abs(Fraction(float(scaled.class_means(0.5)[0, 0])) - means / n) <= 2 * SUMMING
    square = sum((v * v for v in exact), Fraction(0)) / n
    assert abs(Fraction(float(scaled.square_norm())) - square) <= SUMMING
    assert abs(Fraction(float(scaled.moments()[0, 0])) - square) <= SUMMING
    assert abs(Fraction(float(scaled.mean()[0])) - sum(exact, Fraction(0)) / n) <= SUMMING


_LOSSES: dict[str, Any] = {
    "logistic": LogisticRanking(),
    "sharp logistic": LogisticRanking(temperature=1e-5),
    "least squares": LeastSquaresRanking(),
}


@pytest.mark.parametrize("name", _LOSSES)
@pytest.mark.parametrize("grow", ["left", "right"])
def test_moments_of_scores_from_parts_of_one_record(name: str, grow: str) -> None:
    loss, n, w = _LOSSES[name], 20_000, np.array([0.37])
    sums = RankingSums(loss, w, n, 1.0)
    scores = (0.1, 1 / 3, -0.77)
    parts = [sums.moments(Records([[x]], [1.0])).moments for x in scores]
    total = parts[0]
    for i in range(1, n):
        part = parts[i % 3]
        total = total + part if grow == "left" else part + total
    often = [len(range(k, n, 3)) for k in range(3)]
    if isinstance(total, ClassPowers):
        exact = sum((c * Fraction(float(p.means[1])) for c, p in zip(often, parts, strict=True)))
        assert abs(Fraction(float(total.means[1])) - exact / n) <= 60 * _U * loss.scale
        return
    whole = reduce(lambda one, other: one + other, parts[1:], parts[0])
    if isinstance(whole, SparseMoments):
        none = SparseMoments(whole.pieces, Total.zeros(*whole.values.shape))
        parts = [part + none for part in parts]  # in the pieces of all
    for place in np.argwhere(whole.values[0, 1] > 0)[:, 0]:
        for degree, found in enumerate(total.values[:, 1, place]):
            terms = [Fraction(float(part.values[degree, 1, place])) for part in parts]
            exact = sum((c * term for c, term in zip(often, terms, strict=True)), Fraction(0))
            assert abs(Fraction(float(found)) - exact) <= 3 * _U * n


@pytest.mark.parametrize("loss", [SquaredHingeRanking(), HingeRanking(), HingeRanking(width=0.1)])
def test_running_sums_of_sorted_scores(loss: Any) -> None:
    n, w = 400_000, np.array([1.0])
    half = n // 2
    x = np.r_[np.full(half, -0.1), np.full(half, 1 / 3)].reshape(-1, 1)
    records = Records(x, np.r_[np.ones(half), -np.ones(half)])
    u = x[:, 0] * loss.scale
    slope = Fraction(float(loss.slope(np.array([u[0] - u[-1]]))[0]))
    apart = Fraction(x[0, 0]) - Fraction(x[-1, 0])
    exact = Fraction(loss.orders) * Fraction(loss.scale) * slope * half**2 * apart / (n * (n - 1))
    problem = Problem(loss, L2Ball(1.0))
    allowed = ACCURACY * loss.lipschitz(problem.domain()) / 500
    for found in (risk(loss, records).gradient(w), risk(loss, records).value_and_gradient(w)[1]):
        assert abs(Fraction(float(found[0])) - exact) <= allowed


@dataclass(frozen=True)
class _Slope:
    """A risk of the same gradient everywhere."""

    slope: float

    def gradient(self, parameters: Array) -> Array:
        return np.full_like(parameters, self.slope)


@pytest.mark.parametrize("average", [False, True])
def test_many_small_steps_are_as_near_as_their_rounding_is_paid_for(average: bool) -> None:
    # Between 1/2 and 1 a parameter has the unit 2⁻⁵³. A step of 1.49 units moves it by one, a
    # step of 1.51 units by two, so that rounding alone parts two runs by a unit in every step.
    unit, eta, steps = 2.0**-53, 1e-12, 20_000
    problem = Problem(LogisticRanking(), L2Ball(1.0))
    slopes = [units * unit / eta for units in (1.49, 1.51)]
    ends = [
        descend(problem, _Slope(g), np.array([0.75]), eta, steps, Progress(False), average=average)  # type: ignore[arg-type]
        for g in slopes
    ]
    parted = float(abs(ends[0][0] - ends[1][0]))
    travel = eta * steps / (2 if average else 1)
    derivative_bound = problem.loss.lipschitz(problem.domain())
    exact = travel * (slopes[1] - slopes[0])
    assert parted > exact + travel * 2 * ACCURACY * derivative_bound  # what was paid for before
    assert parted <= exact + travel * problem.rounding_of_steps(
        problem.domain(), problem.constraint.radius, eta, 1
    )


def test_plans_of_many_small_steps_pay_for_their_rounding() -> None:
    problem = Problem(LogisticRanking(), L2Ball(1.0))
    n, eta, steps = 10**8, 1e-7, 10**6
    plan = GradientDescent("average", steps, eta).plan(problem, n, 2, Budget(1.0, 1e-12))
    sensitivity = plan.certificate.releases[0].sensitivity
    assert sensitivity is not None
    moved = problem.loss.record_diameter(problem.domain(eta * steps * 4))
    error = steps * 2.0**-53 * eta * steps  # of every step, with all of them rounded one way
    assert sensitivity.value >= eta * (steps + 1) / 2 * moved / n + error


def test_plans_for_more_records_than_the_bound_holds_for_are_refused() -> None:
    problem = Problem(LeastSquaresRanking(), L2Ball(1.0))
    MomentRelease().plan(problem, LARGEST_N, 2, Budget(1.0, 1e-12))
    with pytest.raises(ValueError, match="rounding of sums over more records"):
        MomentRelease().plan(problem, LARGEST_N + 1, 2, Budget(1.0, 1e-12))
    with pytest.raises(ValueError, match="at most"):
        RankingSums(LogisticRanking(), np.array([1.0]), LARGEST_N + 1, 1.0)
