"""Bounds for averages over all pairs, over disjoint ordered pairs, and over all records.

The term of a null record, or of a pair with one, is zero. D must cover the change to zero
(`pairdp.problem.Problem.exact_record_diameter`).
"""

from __future__ import annotations

from pairdp._checks import integer, positive
from pairdp.privacy.bounds.sensitivity import Bound, register_bound


def average_over_pairs(diameter: float, n: int) -> float:
    """Return D/n."""
    return positive("diameter", diameter) / integer("n", n, at_least=2)


def count_changed_pairs(diameter: float, n: int) -> float:
    """Return D/n by counting the pairs of one record."""
    partners, pairs = n - 1, n * (n - 1)
    changed_ordered_pairs = 2 * partners
    return changed_ordered_pairs * (diameter / 2) / pairs


def _average_over_ordered_pairs(diameter: float, pairs: int) -> float:
    return positive("diameter", diameter) / integer("pairs", pairs)


def _average_over_records(diameter: float, n: int) -> float:
    return positive("diameter", diameter) / integer("n", n)


def _ordered_pairs_of_two_data_sets(diameter: float, pairs: int) -> float:
    return _average_of_two_data_sets(diameter, pairs)


def _average_of_two_data_sets(diameter: float, n: int) -> float:
    # All other terms are zero; the replaced one changes by the diameter.
    low, high = ((end * diameter / 2 + 0.0 * (n - 1)) / n for end in (-1, 1))
    return high - low


register_bound(
    Bound(
        "average over pairs",
        "the average of f over all n(n-1) ordered pairs changes by at most D/n, where D bounds the "
        "change of f(z,p) + f(p,z) when z is replaced (for a symmetric f, twice that of f), by "
        "another record or by a null record, for which it is zero: one record is in 2(n-1) of the "
        "pairs",
        average_over_pairs,
        count_changed_pairs,
        ("loss",),
    )
)
register_bound(
    Bound(
        "average over records",
        "the average of f over n records changes by at most D/n, where D bounds the change of f(z) "
        "when z is replaced, by another record or by a null record, for which it is zero: one "
        "record is in one of the n terms",
        _average_over_records,
        _average_of_two_data_sets,
        ("loss",),
    )
)
register_bound(
    Bound(
        "average over ordered pairs",
        "the average of f over disjoint ordered pairs changes by at most D divided by their "
        "number, where D bounds the change of f(z,p) and of f(p,z) when z is replaced, by another "
        "record or by a null record, for which it is zero: one record is in one of the pairs",
        _average_over_ordered_pairs,
        _ordered_pairs_of_two_data_sets,
        ("loss",),
    )
)
