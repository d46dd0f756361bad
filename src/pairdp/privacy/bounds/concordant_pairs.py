r"""The concordance of scores with graded responses, over a matching of the records.

Which places form a pair is fixed by n, and each record is in one pair at most. A pair with
different responses is right if the larger response has the larger score, wrong if it has the
smaller one, and tied if both scores are equal: it adds ½, -½ or 0 to D, and 1 to K. A null pair,
with equal responses or a null record, adds nothing to either. Released are D and γK.

A replaced record changes one pair. If the pair is null neither before nor after, K does not change,
and D changes by 0, ½ or 1. If it is null before or after only, K changes by 1, and D by ½, or by 0
for a tied pair. With γ = ½ in ℓ1 norm, and γ ≤ √3/2 in ℓ2 norm, both together change by at most 1,
which a pair that becomes wrong attains: ties add no larger change than right and wrong pairs do, so
the weights are those of `pairdp.privacy.bounds.record_errors`. k replaced records are in k pairs at
most, which change one after the other.

2D and K are integers below 2^53, so D is exact; γK is rounded once, by at most n·2^-54 for n/2
pairs.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from pairdp._checks import integer
from pairdp.privacy.bounds.record_errors import MOST_N, RIGHT_COUNT_WEIGHT
from pairdp.privacy.bounds.sensitivity import Bound, register_bound

CONCORDANT_IN_L1, CONCORDANT_IN_L2 = "concordant pairs, in ℓ1", "concordant pairs"


def number_of_pairs(n: int) -> int:
    """Return the number of pairs of a matching of n records."""
    return integer("n", n, at_least=2, at_most=MOST_N) // 2


def _one(n: int) -> float:
    return 1 + math.ldexp(number_of_pairs(n), -51)


def _largest_change(n: int, norm: int) -> float:
    """Return the largest change between a right, a wrong, a tied and a null pair."""
    gamma = RIGHT_COUNT_WEIGHT[norm]
    pairs = np.array([(0.5, gamma), (-0.5, gamma), (0.0, gamma), (0.0, 0.0)])
    changes = (one - other for one, other in itertools.combinations(pairs, 2))
    largest = max(float(np.linalg.norm(change, ord=norm)) for change in changes)
    return largest + math.ldexp(number_of_pairs(n), -51)


def _in_l1(n: int) -> float:
    return _largest_change(n, 1)


def _in_l2(n: int) -> float:
    return _largest_change(n, 2)


_WORDS = (
    "each record is in at most one pair, by a matching of the places that is fixed by n: a pair "
    "with different responses adds ½, -½ or 0 if its scores have the same order, the other order "
    "or are equal; if a record is replaced, by another or by a null record, one pair changes, and "
    "the sum changes, together with a multiple of the number of pairs with different responses, by "
    "at most 1"
)
register_bound(Bound(CONCORDANT_IN_L1, f"{_WORDS} in ℓ1 norm", _one, _in_l1))
register_bound(Bound(CONCORDANT_IN_L2, _WORDS, _one, _in_l2))
