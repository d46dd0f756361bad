"""Designs in shuffled blocks have every record equally often, whatever the parts are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.design_problem import DesignProblem
from pairdp.losses import HingeMetric, LogisticMetric, LogisticRanking, PairwiseLoss
from pairdp.pairs import ACCURACY, BlockDesign, block_design, risk
from pairdp.partitioned_records import PartitionedRecords
from pairdp.problem import Problem
from pairdp.records import Records


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let blocks have 40 records, so that a few hundred make several."""
    monkeypatch.setattr(block_design, "_RECORDS", 40)


def all_pairs(design: BlockDesign, most: int = 7) -> np.ndarray:
    """Return the positions of all pairs, one pair a row, from the definition."""
    block, place = design.dealt(0, design.n)
    found = []
    for number in range(design.blocks):
        members = np.flatnonzero(block == number)
        members = members[np.argsort(place[members], kind="stable")]
        for left, right in design.runs(number, len(members), most):
            found.append(np.stack([members[left], members[right]], axis=1))
    return np.sort(np.concatenate(found), axis=1)


def assert_regular(design: BlockDesign) -> None:
    pairs = all_pairs(design)
    assert len(pairs) == design.pairs == design.n * design.m // 2
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    counts = np.bincount(pairs.ravel(), minlength=design.n)
    np.testing.assert_array_equal(counts, np.full(design.n, design.m))


@given(n=st.integers(3, 80), share=st.floats(0, 1), seed=st.integers(0, 2**64 - 1))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_every_record_is_in_m_different_pairs(n: int, share: float, seed: int) -> None:
    m = max(2, 2 * int(share * (n - 1) / 2))
    assert_regular(BlockDesign(n, m, seed))


@pytest.mark.parametrize("n", [8192 * 2, 40_001])
def test_designs_of_several_blocks_are_regular(n: int) -> None:
    design = BlockDesign(n, 4, seed=5)
    assert design.blocks == n // 8192
    assert_regular(design)


@pytest.mark.parametrize(
    ("n", "m", "sentence"),
    [(10, 3, "even"), (10, 10, "at most 9"), (2, 2, "n must"), (10**6, 1026, "at most 1024")],
)
def test_impossible_designs_are_refused(n: int, m: int, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        BlockDesign(n, m)


def test_positions_do_not_depend_on_parts() -> None:
    design = BlockDesign(50_000, 4)
    whole = design.dealt(0, 50_000)
    for found, expected in zip(zip(*_parts_of(design, 7), strict=True), whole, strict=True):
        np.testing.assert_array_equal(np.concatenate(found), expected)


def _parts_of(design: BlockDesign, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    ends = [design.n * i // count for i in range(count + 1)]
    for start, stop in pairwise(ends):
        yield design.dealt(start, stop)


def test_every_pair_is_equally_likely() -> None:
    # Each of the 21 pairs of 7 records is in a third of the designs; 21 counts stay within 6
    # standard deviations except once in 2·10^7 runs.
    designs, counts = 6000, np.zeros((7, 7))
    for seed in range(designs):
        for i, j in all_pairs(BlockDesign(7, 2, seed)):
            counts[i, j] += 1
    drawn = counts[np.triu_indices(7, 1)]
    deviations = np.abs(drawn - designs / 3) / np.sqrt(designs * 2 / 9)
    assert deviations.max() < 6


def test_neighbours_in_a_file_are_rarely_partners() -> None:
    # In a file sorted by class, a design by distances alone would have too many similar pairs.
    n = 20_000
    pairs = all_pairs(BlockDesign(n, 8))
    similar = np.mean((pairs < n // 2).sum(axis=1) != 1)
    assert abs(similar - 0.5) < 6 * 0.5 / np.sqrt(len(pairs))


LOSSES: list[PairwiseLoss] = [
    LogisticMetric(),
    HingeMetric(),
    LogisticRanking("one-sided"),
]


def some_records(loss: PairwiseLoss, n: int = 300) -> Records:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((n, 3)) / 2
    x[::17] = np.nan
    y = rng.choice([-1.0, 1.0], n) if loss.binary else rng.integers(0, 3, n)
    return Records(x, y, binary=loss.binary, invalid="null")


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("count", [1, 2, 8, 19])
def test_values_and_gradients_are_those_of_single_pairs(loss: PairwiseLoss, count: int) -> None:
    records, design = some_records(loss), BlockDesign(300, 6, seed=1)
    assert design.blocks == 7
    parameters = 0.4 * np.eye(3) if loss.matrix else np.array([0.5, -0.4, 0.3])
    value, gradient = 0.0, np.zeros(parameters.shape)
    for pair in all_pairs(design):
        if records.null[pair].any():
            continue
        for i, j in (pair, pair[::-1]):
            given = records.x[[i]], records.y[[i]], records.x[[j]], records.y[[j]]
            value += float(loss.value(parameters, *given)[0]) / 2
            gradient += loss.gradient(parameters, *given)[0] / 2
    found = risk(loss, PartitionedRecords.split(records, count), design)
    assert found.value(parameters) == pytest.approx(value / design.pairs, rel=1e-12)
    np.testing.assert_allclose(found.gradient(parameters), gradient / design.pairs, atol=1e-14)
    # Records in one place take the same way: the same bits.
    whole = risk(loss, records, design).gradient(parameters)
    problem = Problem(loss, PSDFrobeniusBall(1.0) if loss.matrix else L2Ball(1.0))
    largest = loss.lipschitz(problem.domain())
    assert np.linalg.norm(found.gradient(parameters) - whole) <= ACCURACY * largest


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("partners", [2, 10])
def test_a_replaced_record_moves_the_gradient_by_the_sensitivity_at_most(partners: int) -> None:
    # All others are the farthest partner of the replaced record, which attains the bound.
    n, rng = 120, np.random.default_rng(4)
    problem = DesignProblem(LogisticMetric(), PSDFrobeniusBall(1.0), partners=partners)
    exact = problem.exact_record_diameter(problem.domain()) / n
    shares = []
    for place in (0, 57, n - 1):
        for scale in (0.0, 1e-3, 1.0):
            matrix = scale * np.diag([1.0, 0.0])
            x, y = np.tile([-1.0, 0.0], (n, 1)), np.zeros(n)
            for label in (0, 1):
                other_x, other_y = x.copy(), y.copy()
                x[place], y[place] = [1.0, 0.0], label
                other_x[place], other_y[place] = rng.standard_normal(2), 1 - label
                both = [
                    problem.risk(problem.records(*data)).gradient(matrix)
                    for data in ((x, y), (other_x, other_y))
                ]
                shares.append(float(np.linalg.norm(both[0] - both[1])) / exact)
    assert max(shares) <= 1
    assert max(shares) > 0.4


@pytest.mark.usefixtures("small_blocks")
def test_only_the_partners_of_a_record_depend_on_it() -> None:
    """Replacing a record changes the terms of m pairs, with and without null records."""
    design, loss = BlockDesign(200, 4, seed=3), LogisticMetric()
    pairs = all_pairs(design)
    x, y = np.random.default_rng(0).standard_normal((200, 2)) / 3, np.arange(200) % 3
    base = risk(loss, Records(x, y, binary=False), design).value(np.eye(2))
    for place in (5, 180):
        partners = pairs[(pairs == place).any(axis=1)]
        assert len(partners) == 4
        x_null = x.copy()
        x_null[place] = np.nan
        removed = risk(loss, Records(x_null, y, binary=False, invalid="null"), design)
        i, j = partners.T
        records = Records(x, y, binary=False)
        terms = loss.value(np.eye(2), records.x[i], records.y[i], records.x[j], records.y[j])
        change = base - removed.value(np.eye(2))
        assert change == pytest.approx(float(terms.sum()) / design.pairs, rel=1e-9)


def test_smoothness_is_that_of_one_pair() -> None:
    given = LogisticMetric(), PSDFrobeniusBall(1.0), 0.1
    some, every = DesignProblem(*given, partners=2), Problem(*given)
    assert some.constants(100).smoothness == every.constants(100).pair_smoothness
    assert some.constants(100).sensitivity == every.constants(100).sensitivity
    assert some != every
    assert some != DesignProblem(*given, partners=2, seed=1)
    assert some == DesignProblem(*given, partners=2)
    assert hash(some) == hash(DesignProblem(*given, partners=2))
    with pytest.raises(ValueError, match="the problem has one"):
        some.risk(some.records([[0.1]] * 3, [1, 2, 3]), object())  # type: ignore[arg-type]
