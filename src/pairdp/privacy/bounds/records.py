r"""The bound for averages over records, one term a record.

A null record's term is zero, and D must be at least as large as any term (`Problem.moved_pair`).
"""

from __future__ import annotations

from pairdp._checks import integer, positive
from pairdp.privacy.bounds.sensitivity import Bound, register_bound


def _average_over_records(diameter: float, n: int) -> float:
    return positive("diameter", diameter) / integer("n", n)


def _average_of_two_data_sets(diameter: float, n: int) -> float:
    # All other terms are zero; the replaced one is at one end of the diameter, then at the other.
    low, high = ((end * diameter / 2 + 0.0 * (n - 1)) / n for end in (-1, 1))
    return high - low


register_bound(
    Bound(
        "average over records",
        "the average of f over n records moves by at most D/n, where D bounds how far f(z) moves "
        "when z is replaced, by another record or by a null record, for which it is zero: one "
        "record is in one of the n terms",
        _average_over_records,
        _average_of_two_data_sets,
        ("loss",),
    )
)
