r"""Sums over pairs of truncated powers (the hinge family), by sorting and prefix sums.

With φ(u) = Σ sign·max(knot - drop - u, 0)^q and u = s - t, the partners of a positive with score s
are the negatives with t above its threshold s - knot + drop, and those of a negative are the
thresholds below it. In the merged order of thresholds and negatives these are a suffix and a
prefix. Integer powers need prefix sums; others need a tree.

A pair at the knot of a hinge has many subgradients. Which one is used must depend on that pair
alone; otherwise a replaced record could change the slopes of other pairs, and the gradient by more
than its sensitivity. So the slope of such a pair is zero, and both of its records use the same
rounded threshold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import Total, prefix_sums
from pairdp.score_sums.all_pairs import ClassScores
from pairdp.score_sums.base import Array, Function, Index, ScoreSums, Structure
from pairdp.score_sums.order import ascending_order
from pairdp.score_sums.power_tree import power_sums
from pairdp.score_sums.sorted_values import SortedValues, exact_unit, split

_BLOCK = 32_768


@dataclass(frozen=True)
class SortedClasses(ClassScores):
    """The sorted scaled scores of both classes, which can be merged for disjoint parts."""

    def __add__(self, other: ClassScores) -> SortedClasses:
        # Timsort merges two runs in linear time.
        return SortedClasses(
            np.sort(np.concatenate([self.negatives, other.negatives]), kind="stable"),
            np.sort(np.concatenate([self.positives, other.positives]), kind="stable"),
        )


@dataclass(frozen=True)
class TruncatedPowers(Structure, ScoreSums):
    r"""φ(u) = scale · Σ_m sign_m · max(knot - drop_m - u, 0)^power: O(n log n) time.

    Parameters
    ----------
    knot : float
        Where φ becomes zero.
    power : float
        At least 1; 1 and 2 are summed by suffix sums, others by a tree.
    scale : float
        The factor of the sum.
    terms : tuple of (sign, drop)
        Signs are +1 or -1. Drops are stored separately from the knot so that small ones remain
        accurate.
    """

    knot: float
    power: float
    scale: float = 1.0
    terms: tuple[tuple[int, float], ...] = ((1, 0.0),)

    @property
    def is_rounded_ramp(self) -> bool:
        """Whether φ is the difference of two truncated parabolas, linear beyond the second."""
        signs = tuple(sign for sign, _ in self.terms)
        return self.power == 2 and signs == (1, -1) and self.terms[0][1] == 0 < self.terms[1][1]

    def sums(self, phi: Function, slope: Function, low: float, high: float, n: int) -> ScoreSums:
        """Return itself: the sums need only the terms."""
        return self

    def moments(self, u: Array, positive: Index) -> SortedClasses:
        """Return the sorted scores of these records; ``positive`` is 1 for positives, else 0."""
        negatives, positives = (np.sort(u.take(np.flatnonzero(positive == c))) for c in (0, 1))
        return SortedClasses(negatives, positives)

    def slopes(self, u: Array, positive: Index, moments: SortedClasses) -> Array:
        """Return, for each record, Σ φ'(u₊ - u₋) over the records of the other class."""
        sums = np.empty_like(u)
        members, others = np.flatnonzero(positive), np.flatnonzero(positive == 0)
        thresholds = moments.positives - self.knot
        sums[members] = self._slopes_at(u.take(members) - self.knot, moments.negatives)
        # The partners of a negative are the thresholds below it: with all signs changed, above.
        sums[others] = self._slopes_at(-u.take(others), -thresholds[::-1])
        return sums

    def _slopes_at(self, thresholds: Array, values: Array) -> Array:
        held, total = SortedValues(values), np.zeros(thresholds.size)
        if self.power == 1:
            for sign, drop in self.terms:
                total += sign * held.counts_above(thresholds + drop)
        elif self.power == 2:
            unit = exact_unit(held.size * len(self.terms), thresholds, values)
            small = np.zeros(thresholds.size)
            for sign, drop in self.terms:
                parts = held.excess_above(thresholds, drop, unit)
                total += sign * parts[0]
                small += sign * parts[1]
            total *= unit
            total += small
        else:
            for sign, drop in self.terms:
                total += sign * power_sums(values, thresholds + drop, self.power - 1)
        total *= -self.scale * self.power
        return total

    def all_slopes(self, u: Array, positive: Index) -> Array:
        """Return `slopes` if these are all records: one sort per term, no search."""
        if self.power not in (1, 2):
            return self.slopes(u, positive, self.moments(u, positive))
        places = u - self.knot * positive
        if self.power == 1:
            total = np.zeros(u.size)
            for sign, drop in self.terms:
                total += sign * _partners(places, positive, drop)
        elif len(self.terms) == 1:
            ((sign, drop),) = self.terms
            total = sign * _excess(places, positive, drop)
        else:
            total = self._cancelling(places, positive)
        total *= -self.scale * self.power
        return total

    def _cancelling(self, places: Array, positive: Index) -> Array:
        """Return the sum over terms that nearly cancel, by high and low parts."""
        unit = exact_unit(places.size * len(self.terms), places)
        whole, rest = split(places, unit)
        large, small = np.zeros(places.size), np.zeros(places.size)
        for sign, drop in self.terms:
            order = ascending_order(places + drop * positive, positive)
            large += sign * _sums_in_order(whole, positive, 0.0, order)
            small += sign * _sums_in_order(rest, positive, drop, order)
        large *= unit
        large += small
        return large

    def total(self, moments: SortedClasses) -> float:
        """Return Σ φ(u₊ - u₋) over all positive-negative pairs."""
        held = SortedValues(moments.negatives)
        thresholds = moments.positives - self.knot
        if self.is_rounded_ramp:
            sums = _rounded_ramps(held, moments.negatives, thresholds, self.terms[1][1])
            return self.scale * float(np.sum(sums))
        total = 0.0
        for sign, drop in self.terms:
            if self.power == 1:
                sums = _ramps(held, moments.negatives, thresholds, drop)
            elif self.power == 2:
                sums = held.squares_above(thresholds + drop)
            else:
                sums = power_sums(moments.negatives, thresholds + drop, self.power)
            total += sign * float(np.sum(sums))
        return self.scale * total


def _ramps(held: SortedValues, values: Array, thresholds: Array, drop: float) -> Array:
    """Return Σ max(value - threshold - drop, 0) for each threshold."""
    unit = exact_unit(held.size, thresholds, values)
    large, small = held.excess_above(thresholds, drop, unit)
    return np.asarray(large * unit + small)


def _rounded_ramps(held: SortedValues, values: Array, thresholds: Array, width: float) -> Array:
    """Return Σ max(x, 0)² - max(x - width, 0)², x = value - threshold, for each threshold.

    Above the width this is width·(2(x - width) + width), without a difference of large squares.
    """
    beyond = _ramps(held, values, thresholds, width)
    counts = held.counts_above(thresholds + width)
    return held.squares_within(thresholds, width) + width * (2 * beyond + width * counts)


def _partners(places: Array, positive: Index, drop: float) -> Array:
    """Return the number of negatives after each threshold, and of thresholds before each negative.

    ``places`` are the thresholds of positives and the scores of negatives.
    """
    order = ascending_order(places + drop * positive if drop else places, positive)
    sums, walk, flags_of = np.empty(places.size), _MergedOrder(positive), positive.astype(np.int8)
    for start in range(0, places.size, _BLOCK):
        here = order[start : start + _BLOCK]
        sums[here] = walk.counts(flags_of.take(here))
    return sums


def _excess(places: Array, positive: Index, drop: float) -> Array:
    """Return, for each record, Σ (negative - threshold - drop) over pairs with a positive term."""
    order = ascending_order(places + drop * positive if drop else places, positive)
    # Relative to their midpoint, to avoid cancellation of large scores.
    middle = places[order[0]] / 2 + places[order[-1]] / 2
    return _sums_in_order(places - middle, positive, drop, order)


def _sums_in_order(values: Array, positive: Index, drop: float, order: Index) -> Array:
    """Return, for each record, Σ (negative - threshold - drop), with partners from an order."""
    result, walk, flags_of = np.empty(values.size), _MergedOrder(positive), positive.astype(np.int8)
    walk.after_sum += np.asarray(np.sum(values * (1 - flags_of)))
    for start in range(0, values.size, _BLOCK):
        here = order[start : start + _BLOCK]
        flags, own = flags_of.take(here), values.take(here)
        counts = walk.counts(flags)
        sums = walk.sums(own, flags)
        own += np.where(flags, drop, -drop)
        own *= np.where(flags, -counts, counts)
        sums += own
        result[here] = sums
    return result


class _MergedOrder:
    """Counts and sums of partners in the merged order, computed in blocks."""

    def __init__(self, positive: Index) -> None:
        self.before = 0
        self.after = positive.size - int(np.count_nonzero(positive))
        self.before_sum = self.after_sum = Total.zeros()

    def counts(self, flags: NDArray[np.int8]) -> Array:
        """Return the number of negatives after each positive, or positives before each negative."""
        ones = np.cumsum(flags, dtype=np.float64)
        zeros = np.arange(1.0, flags.size + 1) - ones
        counts = np.where(flags, self.after - zeros, self.before + ones)
        self.before += int(ones[-1])
        self.after -= int(zeros[-1])
        return counts

    def sums(self, own: Array, flags: NDArray[np.int8]) -> Array:
        """Return the sum of negatives after each positive, and minus that of positives before."""
        thresholds = own * flags
        of_thresholds = prefix_sums(thresholds)[1:]
        of_negatives = prefix_sums(own - thresholds)[1:]
        before, after = self.before_sum.high, self.after_sum.high
        sums = np.where(flags, after - of_negatives, -before - of_thresholds)
        self.before_sum += of_thresholds[-1]
        self.after_sum += -of_negatives[-1]
        return sums
