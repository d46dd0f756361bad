from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pairdp.score_sums import line_tree, power_tree
from pairdp.score_sums.power_tree import power_sums

Array = NDArray[np.float64]
Samples = tuple[Array, Array]

POWERS = [0.01, 0.3, 0.5, 0.9, 0.99, 1.2, 1.5, 1.99]
RELATIVE = 1e-14


def oracle(sources: Array, queries: Array, power: float, weights: Array | None = None) -> Array:
    """All pairs, one by one: terms in double precision, sums in a longer one."""
    terms = np.maximum(sources - queries[:, None], 0.0) ** power
    if weights is not None:
        terms = terms * weights
    return terms.sum(axis=1, dtype=np.longdouble)


def assert_sums(sources: Array, queries: Array, power: float) -> None:
    """Compare with the oracle, relative to each sum by itself."""
    sums = power_sums(sources, queries, power)
    assert sums.shape == queries.shape
    assert sums.dtype == np.float64
    expected = oracle(sources, queries, power)
    assert (np.abs(sums - expected) <= RELATIVE * expected + 1e-300).all()


def both(draw: Callable[[np.random.Generator, int], Array]) -> Callable[[int], Samples]:
    """Make two independent samples, of n sources and n queries."""

    def samples(n: int) -> Samples:
        rng = np.random.default_rng(7)
        return draw(rng, n), draw(rng, n)

    return samples


def tips(rng: np.random.Generator, n: int) -> Array:
    """Sparse points at all scales on both sides of a tight cluster of half of the sample."""
    scales = 2.0 ** -rng.integers(0, 150, n - n // 2) * (1 + rng.random(n - n // 2))
    return np.concatenate([1e-50 * rng.random(n // 2), rng.choice([-1, 1], len(scales)) * scales])


def clusters_and_dust(rng: np.random.Generator, n: int) -> Array:
    """Tight clusters of about 50 points, with about 20 points spread between neighbours."""
    cluster = rng.integers(0, max(1, n // 70), n).astype(float)
    return cluster + rng.random(n) * np.where(rng.random(n) < 0.7, 1e-6, 1.0)


def outlier(rng: np.random.Generator, n: int) -> Array:
    points = np.where(rng.random(n) < 0.5, 1e-9, 1.0) * rng.random(n)
    points[0] = 1e3
    return points


def separate(n: int) -> Samples:
    """Gap exactly as wide as the samples: the least that is expanded."""
    rng = np.random.default_rng(7)
    return 2 + rng.random(n), rng.random(n)


def tight_queries(n: int) -> Samples:
    rng = np.random.default_rng(7)
    return 2.0 ** (-200 * rng.random(n // 10)), 1e-62 * rng.random(n)


def tight_sources(n: int) -> Samples:
    sources, queries = tight_queries(n)
    return -queries, -sources


SAMPLES: dict[str, Callable[[int], Samples]] = {
    "uniform": both(lambda rng, n: rng.random(n)),
    "normal": both(lambda rng, n: rng.standard_normal(n)),
    "heavy tails": both(lambda rng, n: rng.standard_cauchy(n) ** 3),
    "all scales": both(lambda rng, n: rng.choice([-1, 1], n) * np.exp(-200 * rng.random(n))),
    "down to neighbouring floats": both(
        lambda rng, n: 1 + rng.choice([-1, 1], n) * np.exp(-40 * rng.random(n))
    ),
    "double exponential": both(lambda rng, n: np.exp(-np.exp(6 * rng.random(n)))),
    "geometric": both(lambda rng, n: 2.0 ** -rng.permutation(n).clip(max=900) * rng.random()),
    "geometric clusters": both(
        lambda rng, n: 2.0 ** -rng.integers(0, 60, n) * (1 + 1e-9 * rng.random(n))
    ),
    "Cantor": both(lambda rng, n: 2 * rng.integers(0, 2, (n, 30)) @ 3.0 ** -np.arange(30)),
    "outlier": both(outlier),
    "tips": both(tips),
    "clusters and dust": both(clusters_and_dust),
    "neighbouring floats": both(lambda rng, n: 1 + rng.integers(-n, n, n) * 2.0**-52),
    "clusters of floats": both(
        lambda rng, n: rng.integers(0, 1 + n // 50, n) + rng.integers(0, 60, n) * 2.0**-40
    ),
    "denormal": both(lambda rng, n: rng.integers(-n, n, n) * 5e-324),
    "ties": both(lambda rng, n: rng.integers(0, 40, n).astype(float)),
    "shifted": both(lambda rng, n: 1e6 + rng.standard_normal(n)),
    "huge": both(lambda rng, n: 1e150 * rng.standard_normal(n)),
    "separate": separate,
    "tight queries": tight_queries,
    "tight sources": tight_sources,
    "one query": lambda n: (np.random.default_rng(7).random(n), np.array([0.1])),
    "one source": lambda n: (np.array([0.9]), np.random.default_rng(7).random(n)),
}


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES)
def test_agrees_with_all_pairs(samples: Callable[[int], Samples], power: float) -> None:
    assert_sums(*samples(300), power)


@pytest.mark.parametrize("name", ["normal", "tips", "clusters and dust", "clusters of floats"])
@pytest.mark.parametrize("power", [0.3, 1.2])
def test_agrees_on_large_samples(name: str, power: float) -> None:
    sources, queries = SAMPLES[name](20_000)
    some = np.random.default_rng(1).choice(len(queries), 40, replace=False)
    expected = oracle(sources, queries[some], power)
    sums = power_sums(sources, queries, power)[some]
    assert (np.abs(sums - expected) <= RELATIVE * expected).all()


def test_the_widest_samples() -> None:
    sources, queries = np.random.default_rng(0).uniform(-8e307, 8e307, (2, 300))
    assert_sums(sources, queries, 0.3)


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_whole_powers(power: float) -> None:
    assert_sums(*SAMPLES["normal"](500), power)


NUMBERS = st.one_of(
    st.floats(-1e100, 1e100),
    st.floats(-1, 1),
    st.integers(-4, 4).map(float),
    st.tuples(st.sampled_from([-1.0, 1.0, 3.0]), st.integers(-12, 12)).map(
        lambda at: at[0] + at[1] * 2.0**-52
    ),
    st.tuples(st.sampled_from([-1.0, 1.0]), st.integers(-1074, 300)).map(
        lambda at: at[0] * 2.0 ** at[1]
    ),
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.lists(NUMBERS, max_size=60),
    st.lists(NUMBERS, max_size=60),
    st.floats(0.01, 2),
)
def test_agrees_for_any_numbers(sources: list[float], queries: list[float], power: float) -> None:
    # The smallest leaves there may be, so that few points already make a deep tree.
    with mock.patch.object(line_tree, "LEAF", 8):
        assert_sums(np.array(sources), np.array(queries), power)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (1, 2), (2, 1), (2, 2)])
def test_small_samples(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    assert_sums(rng.random(shape[0]) + 0.3, rng.random(shape[1]), 0.5)


def test_a_source_at_the_query_adds_nothing() -> None:
    assert power_sums([1.0, 2.0], [1.0, 2.0, 3.0], 0.01).tolist() == [1.0, 0.0, 0.0]
    assert power_sums([0.0, -0.0], [-0.0, 0.0], 0.01).tolist() == [0.0, 0.0]


def test_all_equal() -> None:
    assert not power_sums(np.full(1000, 0.1), np.full(1000, 0.1), 0.3).any()
    sums = power_sums(np.full(1000, 1.5), np.full(900, -0.5), 0.5)
    np.testing.assert_allclose(sums, 1000 * np.sqrt(2.0), rtol=RELATIVE)


def test_repeats_count_as_often_as_they_occur() -> None:
    sources, queries = SAMPLES["normal"](300)
    many = power_sums(np.tile(sources, 7), np.tile(queries, 3), 0.7)
    once = power_sums(sources, queries, 0.7)
    np.testing.assert_allclose(many, np.tile(7 * once, 3), rtol=RELATIVE)


def test_weights() -> None:
    sources, queries = SAMPLES["ties"](600)
    weights = np.random.default_rng(3).standard_normal(600)
    sums = power_sums(sources, queries, 0.4, weights=weights)
    error = np.abs(sums - oracle(sources, queries, 0.4, weights))
    assert (error <= RELATIVE * oracle(sources, queries, 0.4, np.abs(weights))).all()


def test_a_shift_costs_no_digits() -> None:
    rng = np.random.default_rng(5)
    sources, queries = rng.integers(-(2**20), 2**20, (2, 5000)) * 2.0**-20
    here = power_sums(sources, queries, 0.3)
    np.testing.assert_allclose(power_sums(sources + 1e6, queries + 1e6, 0.3), here, rtol=RELATIVE)


def test_leaves_its_input_alone() -> None:
    sources, queries = SAMPLES["ties"](200)
    before = sources.copy(), queries.copy()
    for array in (sources, queries):
        array.flags.writeable = False
    power_sums(sources, queries, 0.3, weights=queries)
    assert (sources == before[0]).all()
    assert (queries == before[1]).all()


@pytest.mark.parametrize("power", POWERS)
def test_the_series_at_the_least_gap(power: float) -> None:
    series = power_tree._series(power)
    for up, down in ((1 / 4, 1 / 4), (1 / 3, 0.0), (0.0, 1 / 3)):
        terms = (
            np.power(up, np.arange(len(series))) @ series @ np.power(-down, np.arange(len(series)))
        )
        with mpmath.workdps(30):
            exact = (1 - mpmath.mpf(up) - mpmath.mpf(down)) ** mpmath.mpf(power)
            assert abs(mpmath.mpf(float(terms)) / exact - 1) < 2e-15


def decompose(sources: Array, queries: Array) -> tuple[line_tree.LineTree, line_tree.Blocks]:
    tree = line_tree.build_tree(np.unique(sources), np.unique(queries))
    return tree, line_tree.decompose(tree)


@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("leaf", [8, 24])
def test_expansions_converge(samples: Callable[[int], Samples], leaf: int) -> None:
    with mock.patch.object(line_tree, "LEAF", leaf):
        tree, blocks = decompose(*samples(400))
    parent = np.flatnonzero(~tree.leaf)
    for child in (tree.child[parent], tree.child[parent] + 1):
        distance = np.abs(tree.centre[child] - tree.centre[parent])
        assert (tree.radius[child] <= distance * (1 + 1e-15)).all()
        assert (distance <= tree.radius[parent]).all()
    a, b = blocks.far
    distance = tree.centre[b] - tree.centre[a]
    assert (3 * tree.radius[b] <= (distance - tree.radius[a]) * (1 + 1e-15)).all()
    assert (3 * tree.radius[a] <= (distance - tree.radius[b]) * (1 + 1e-15)).all()
    for ends, ranges in ((tree.sources, tree.source), (tree.queries, tree.query)):
        some = ranges[0] < ranges[1]
        for end in (ends[ranges[0, some]], ends[ranges[1, some] - 1]):
            assert (np.abs(end - tree.centre[some]) <= tree.radius[some]).all()


@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES)
def test_blocks_hold_every_pair_once(samples: Callable[[int], Samples]) -> None:
    tree, blocks = decompose(*samples(250))
    held = np.zeros((len(tree.queries), len(tree.sources)), dtype=int)
    for kind in blocks[:4]:
        for a, b in kind.T:
            held[slice(*tree.query[:, a]), slice(*tree.source[:, b])] += 1
    assert held.max() <= 1
    assert (held[tree.sources > tree.queries[:, None]] == 1).all()


def work(sources: Array, queries: Array) -> tuple[int, int, int]:
    """Count leaves, blocks that are looked at, and points that are dealt with singly."""
    tree, blocks = decompose(sources, queries)
    asked, given_ = tree.query[1] - tree.query[0], tree.source[1] - tree.source[0]
    single = asked[blocks.near[0]] @ given_[blocks.near[1]]
    single += asked[blocks.to_points[0]].sum() + given_[blocks.from_points[1]].sum()
    return int(tree.leaf.sum()), blocks.visited, int(single)


@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES)
def test_work_is_linear_for_any_sample(samples: Callable[[int], Samples]) -> None:
    for n in (2_000, 16_000):
        sources, queries = samples(n)
        points = len(sources) + len(queries)
        leaves, visited, single = work(sources, queries)
        assert leaves <= points / 2
        assert visited <= 12 * leaves
        assert single <= 24 * points


def test_work_of_sparse_scales_around_a_cluster() -> None:
    """Leaves that are wider than their gap to a large node must not be summed pair by pair."""
    rng = np.random.default_rng(2)
    sources = np.concatenate([2.0**-k * (1 + rng.random(24)) for k in range(100)])
    cluster = 1e-32 * rng.random(20_000)
    for sample in ((sources, cluster), (-cluster, -sources)):
        _, visited, single = work(*sample)
        assert visited < 20_000
        assert single < 100_000
    dust = 2.0 ** -np.arange(60) * 1.1
    tree, blocks = decompose(np.append(dust, cluster), np.append(-dust, cluster))
    assert blocks.to_points.size
    assert blocks.from_points.size
    assert len(tree.levels) < 200


@pytest.mark.parametrize("power", [0.0, -0.5, 2.5, np.nan, np.inf])
def test_refuses_other_powers(power: float) -> None:
    with pytest.raises(ValueError, match="power"):
        power_sums([1.0], [0.0], power)


@pytest.mark.parametrize("bad", [[np.nan], [np.inf], [[1.0]]])
@pytest.mark.parametrize("name", ["sources", "queries", "weights"])
def test_refuses_what_is_not_a_vector_of_numbers(name: str, bad: list[float]) -> None:
    arguments = {"sources": [1.0], "queries": [0.0], "weights": [1.0], name: bad}
    with pytest.raises(ValueError, match=name):
        power_sums(power=0.5, **arguments)


def test_refuses_weights_of_another_number() -> None:
    with pytest.raises(ValueError, match="2 sources and 1 weights"):
        power_sums([1.0, 2.0], [0.0], 0.5, weights=[1.0])


def test_refuses_what_overflows() -> None:
    with pytest.raises(ValueError, match="too large"):
        power_sums([1e200], [0.0], 2.0)
    with pytest.raises(ValueError, match="too large"):
        power_sums([1.7e308], [-1.7e308], 0.5)
    assert power_sums([-1.7e308], [1.7e308], 0.5).tolist() == [0.0]
