r"""Sums over pairs of truncated powers: the hinge family, by sorting and running sums.

With φ(u) = Σ sign·max(knot - drop - u, 0)^q and u = s - t, a positive with score s meets the
negatives with t above its threshold s - knot + drop, and a negative the thresholds below it.
In the merged order of thresholds and negatives these are a suffix and a prefix. Whole
powers need running sums; others need a tree.

A pair at the knot of a sharp hinge has many subgradients. Which one is taken must depend
on that pair alone, or a replaced record could turn the slopes of pairs it is not in,
and move the gradient by more than its sensitivity. So such a pair never counts, and
both of its records see the same rounded threshold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.losses.structure import TruncatedPowers
from pairdp.pairs.order import ascending_order
from pairdp.pairs.power_tree import power_sums
from pairdp.pairs.sorted_values import SortedValues, exact_unit, split

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class SortedClasses:
    """The scaled scores of both classes, ascending; those of disjoint parts merge.

    This is what the other parts must know: a number a record, and no features.
    """

    negatives: Array
    positives: Array

    @property
    def counts(self) -> Array:
        """How many negatives and positives there are."""
        return np.array([self.negatives.size, self.positives.size], dtype=np.float64)

    def __add__(self, other: SortedClasses) -> SortedClasses:
        # Timsort merges two runs in linear time.
        return SortedClasses(
            np.sort(np.concatenate([self.negatives, other.negatives]), kind="stable"),
            np.sort(np.concatenate([self.positives, other.positives]), kind="stable"),
        )


@dataclass(frozen=True)
class TruncatedSums:
    """Sums of φ' and φ over all positive-negative pairs.

    Parameters
    ----------
    structure : TruncatedPowers
        What φ is made of.
    """

    structure: TruncatedPowers

    def moments(self, u: Array, positive: Index) -> SortedClasses:
        """Return the sorted scores of these records; ``positive`` is 1 for positives, else 0."""
        negatives, positives = (np.sort(u.take(np.flatnonzero(positive == c))) for c in (0, 1))
        return SortedClasses(negatives, positives)

    def slopes(self, u: Array, positive: Index, moments: SortedClasses) -> Array:
        """Return, for each record, Σ φ'(u₊ - u₋) over the partners in the other class."""
        sums = np.empty_like(u)
        members, others = np.flatnonzero(positive), np.flatnonzero(positive == 0)
        thresholds = moments.positives - self.structure.knot
        sums[members] = self._slopes_at(u.take(members) - self.structure.knot, moments.negatives)
        # A negative meets the thresholds below it: mirrored, those above minus itself.
        sums[others] = self._slopes_at(-u.take(others), -thresholds[::-1])
        return sums

    def _slopes_at(self, thresholds: Array, values: Array) -> Array:
        structure = self.structure
        held, total = SortedValues(values), np.zeros(thresholds.size)
        if structure.power == 1:
            for sign, drop in structure.terms:
                total += sign * held.counts_above(thresholds + drop)
        elif structure.power == 2:
            unit = exact_unit(held.size * len(structure.terms), thresholds, values)
            small = np.zeros(thresholds.size)
            for sign, drop in structure.terms:
                parts = held.excess_above(thresholds, drop, unit)
                total += sign * parts[0]
                small += sign * parts[1]
            total *= unit
            total += small
        else:
            for sign, drop in structure.terms:
                total += sign * power_sums(values, thresholds + drop, structure.power - 1)
        total *= -structure.scale * structure.power
        return total

    def all_slopes(self, u: Array, positive: Index) -> Array:
        """Return `slopes` when these are all the records: one sort a term, no search."""
        structure = self.structure
        if structure.power not in (1, 2):
            return self.slopes(u, positive, self.moments(u, positive))
        places = u - structure.knot * positive
        total = np.zeros(u.size)
        if structure.power == 1:
            for sign, drop in structure.terms:
                total += sign * _partners(places + drop * positive, positive)
        else:
            unit = exact_unit(u.size * len(structure.terms), places)
            small = np.zeros(u.size)
            for sign, drop in structure.terms:
                parts = _excess(places, positive, drop, unit)
                total += sign * parts[0]
                small += sign * parts[1]
            total *= unit
            total += small
        total *= -structure.scale * structure.power
        return total

    def total(self, moments: SortedClasses) -> float:
        """Return Σ φ(u₊ - u₋) over all positive-negative pairs."""
        structure, held = self.structure, SortedValues(moments.negatives)
        thresholds = moments.positives - structure.knot
        if structure.is_rounded_ramp:
            sums = _rounded_ramps(held, moments.negatives, thresholds, structure.terms[1][1])
            return structure.scale * float(np.sum(sums))
        total = 0.0
        for sign, drop in structure.terms:
            if structure.power == 1:
                sums = _ramps(held, moments.negatives, thresholds, drop)
            elif structure.power == 2:
                sums = held.squares_above(thresholds + drop)
            else:
                sums = power_sums(moments.negatives, thresholds + drop, structure.power)
            total += sign * float(np.sum(sums))
        return structure.scale * total


def _ramps(held: SortedValues, values: Array, thresholds: Array, drop: float) -> Array:
    """Return Σ max(value - threshold - drop, 0) for each threshold."""
    unit = exact_unit(held.size, thresholds, values)
    large, small = held.excess_above(thresholds, drop, unit)
    return np.asarray(large * unit + small)


def _rounded_ramps(held: SortedValues, values: Array, thresholds: Array, width: float) -> Array:
    """Return Σ max(x, 0)² - max(x - width, 0)², x = value - threshold, for each threshold.

    Beyond the width this is width·(2(x - width) + width): no difference of large squares.
    """
    beyond = _ramps(held, values, thresholds, width)
    counts = held.counts_above(thresholds + width)
    return held.squares_within(thresholds, width) + width * (2 * beyond + width * counts)


def _partners(places: Array, positive: Index) -> Array:
    """Return how many negatives come after each threshold, and thresholds before each negative.

    ``places`` are the thresholds of positives and the scores of negatives.
    """
    order = ascending_order(places, positive)
    sums = np.empty(places.size)
    sums[order] = _counts(positive.take(order))
    return sums


def _counts(flags: Index) -> Array:
    """Return the number of zeros after each one, and of ones before each zero."""
    ones = np.cumsum(flags)
    zeros_after = np.arange(flags.size - ones[-1] - 1, -ones[-1] - 1, -1) + ones
    return np.where(flags, zeros_after, ones).astype(np.float64)


def _excess(places: Array, positive: Index, drop: float, unit: float) -> tuple[Array, Array]:
    """Return each record's Σ (negative - threshold - drop) over its pairs with a positive term.

    In a large part, whole numbers of ``unit``, and a small one; see `SortedValues`.
    """
    order = ascending_order(places + drop * positive, positive)
    flags = positive.take(order)
    partners = _counts(flags)
    is_positive = flags.astype(np.bool_)
    turned = np.where(is_positive, -partners, partners)
    parts = []
    for own in split(places.take(order), unit):
        of_thresholds = np.cumsum(own * flags)
        of_negatives = np.cumsum(own[::-1] * (1 - flags)[::-1])[::-1]
        own *= turned
        own += np.where(is_positive, of_negatives, -of_thresholds)
        parts.append(own)
    large, small = parts
    small -= partners * drop
    for part in parts:
        part[order] = part.copy()
    return large, small
