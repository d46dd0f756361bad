"""The AUC and the classes in one vector: brute force over all small data sets and neighbours."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from pairdp.privacy import Sensitivity
from pairdp.privacy.bounds.centred_auc import ALONE, IN_L1, IN_L2, CentredAUC
from pairdp.privacy.bounds.sensitivity import find_bound

Array = NDArray[np.float64]
Norm = float
Record = tuple[float, int] | None  # a score and a label of 1 or -1; None is a null record
NORMS: tuple[Norm, ...] = (1, 2, math.inf)  # infinity is for T alone


def vector(records: tuple[Record, ...], norm: Norm) -> Array:
    """Return what is released of some records, with the sum over all of their pairs."""
    known = [record for record in records if record is not None]
    positive = [score for score, label in known if label > 0]
    negative = [score for score, label in known if label < 0]
    doubled = sum((s > t) - (s < t) for s in positive for t in negative)
    auc = CentredAUC(len(records), norm)
    return np.array(auc.vector(len(positive), len(negative), doubled))


def others_in_order(size: int) -> Iterator[tuple[Record, ...]]:
    """Yield every order of positives and negatives without ties, with any number of null ones."""
    for known in range(size + 1):
        for labels in itertools.product((-1, 1), repeat=known):
            null: tuple[Record, ...] = (None,) * (size - known)
            yield *null, *((float(i), label) for i, label in enumerate(labels))


def others_with_ties(size: int, levels: int = 3) -> Iterator[tuple[Record, ...]]:
    """Yield every data set of records that have one of a few scores, up to their order."""
    kinds: list[Record] = [None]
    kinds += [(float(score), label) for score in range(levels) for label in (-1, 1)]
    yield from itertools.combinations_with_replacement(kinds, size)


def replacements(others: tuple[Record, ...]) -> list[Record]:
    """Return every record that one may be replaced by, at and between the scores of the others."""
    levels = sorted({record[0] for record in others if record is not None}) or [0.0]
    places = [*levels, *(level + 0.5 for level in levels), levels[0] - 0.5]
    return [None, *itertools.product(places, (-1, 1))]


def largest_change(others: tuple[Record, ...], norm: Norm) -> float:
    found = np.array([vector((*others, record), norm) for record in replacements(others)])
    return float(np.linalg.norm(found[:, None] - found[None], ord=norm, axis=2).max())


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [5, 6, pytest.param(8, marks=pytest.mark.slow)])
def test_no_replacement_moves_the_vector_by_more_than_one(n: int, norm: Norm) -> None:
    """And the largest change is the bound, so that a smaller one would be found to be wrong."""
    worst = max(largest_change(others, norm) for others in others_in_order(n - 1))
    assert 1 - 1e-12 < worst < 1 + 1e-12


@pytest.mark.parametrize("norm", NORMS)
def test_ties_do_not_move_it_by_more(norm: Norm) -> None:
    for others in others_with_ties(4):
        assert largest_change(others, norm) < 1 + 1e-12


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [23, 40])
def test_extreme_orders_of_more_records(n: int, norm: Norm) -> None:
    """All numbers of positives and null records; the others ordered so that pairs add up."""
    worst = 0.0
    for positives, null in itertools.product(range(n), range(0, n, 11)):
        negatives = n - 1 - positives - null
        if negatives < 0:
            continue
        for sign in (1.0, -1.0):
            known = [(sign, 1)] * positives + [(-sign, -1)] * negatives
            fixed: tuple[Record, ...] = (*known, *(None,) * null)
            states: list[Record] = [None, *itertools.product((-2.0, 2.0), (-1, 1))]
            found = np.array([vector((*fixed, record), norm) for record in states])
            changes = np.linalg.norm(found[:, None] - found[None], ord=norm, axis=2)
            worst = max(worst, float(changes.max()))
    assert 0.999 < worst < 1 + 1e-12


@pytest.mark.parametrize("norm", NORMS[:2])
def test_flips_use_up_the_bound_at_every_share(norm: Norm) -> None:
    """So a larger weight of the classes would break the bound anywhere."""
    n = 60
    for positives in range(n - 1):
        top = 1.0 if positives < n / 2 else -1.0
        fixed: tuple[Record, ...] = ((top, 1),) * positives + ((-top, -1),) * (n - 1 - positives)
        up, down = (vector((*fixed, record), norm) for record in ((2.0, 1), (2.0, -1)))
        assert np.linalg.norm(up - down, ord=norm) > 0.95


def test_several_records_of_a_unit_move_it_by_as_many_times_as_much() -> None:
    n, most = 60, 4
    negatives = ((0.0, -1),) * (n - most)
    up, down = (vector(((score, 1),) * most + negatives, 1) for score in (1.0, -1.0))
    bound = Sensitivity.of(IN_L1, n=n).for_records(most).value
    assert 0.999 * bound < np.abs(up - down).sum() <= bound


def test_flips_use_up_the_bound_on_t_alone_beyond_a_third() -> None:
    """And records whose class stays do below: a larger weight would break the bound anywhere."""
    n = 60
    for positives in range(1, n - 1):
        top = 1.0 if positives < n / 2 else -1.0
        fixed: tuple[Record, ...] = ((top, 1),) * positives + ((-top, -1),) * (n - 1 - positives)
        states: list[Record] = [*itertools.product((-2.0, 2.0), (-1, 1))]
        found = np.array([vector((*fixed, record), math.inf)[0] for record in states])
        assert np.abs(found[:, None] - found).max() > 0.95


@pytest.mark.parametrize("name", [IN_L1, IN_L2, ALONE])
@pytest.mark.parametrize("n", [5, 11, 12, 40, 999, 10**5, 10**9])
def test_both_routes_agree(name: str, n: int) -> None:
    bound = find_bound(name)
    assert bound.second_route is not None
    assert bound.second_route(n=n) == pytest.approx(bound.formula(n=n), rel=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [5, 7, 40, 1001])
def test_floating_point_follows_the_exact_functions(n: int, norm: Norm) -> None:
    auc = CentredAUC(n, norm)
    halves = [Fraction(i, 2) for i in range(2 * n + 1)]
    at = np.array(halves, dtype=float)
    np.testing.assert_allclose(auc.weights(at), [float(auc.weight(m)) for m in halves], 1e-12)
    heights = auc.heights(at)
    np.testing.assert_allclose(heights, [float(auc.height(m)) for m in halves], 1e-12)
    if norm < math.inf:
        assert np.all(np.diff(heights) > 0)
        np.testing.assert_allclose(auc.positions(heights), at, atol=1e-9 * n)
    assert np.all(auc.values(at) <= np.minimum(at, n - at) * (1 + 1e-12))


def test_the_vector_is_that_of_the_formula() -> None:
    records: tuple[Record, ...] = ((1.0, 1), (0.0, -1), (2.0, -1), (1.0, -1), (3.0, 1), None)
    t, height, null = vector(records, 1)
    auc = CentredAUC(6, 1)
    m = Fraction(5, 2)
    assert (t, height) == (float(auc.weight(m) * Fraction(3, 2)), float(auc.height(m)))
    assert null == 0.25


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 5"):
        CentredAUC(4)
    with pytest.raises(ValueError, match="at most"):
        CentredAUC(10**10)
    with pytest.raises(ValueError, match="norm must be"):
        CentredAUC(10, 3)
