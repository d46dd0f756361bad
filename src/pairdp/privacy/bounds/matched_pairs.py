r"""The AUC of distances over a matching of the records: each record is in one pair at most.

Which places form a pair is fixed by n. So a replaced record changes one of the ⌊n/2⌋ pairs, which
may become any other pair or, with a null record, a null pair. A statistic of ⌊n/2⌋ records, one of
which is replaced, has the same sensitivity: that of `pairdp.privacy.bounds.centred_auc`. k replaced
records are in k pairs at most.
"""

from __future__ import annotations

from pairdp._checks import integer
from pairdp.privacy.bounds.centred_auc import IN_L1, IN_L2, LEAST_N, MOST_N
from pairdp.privacy.bounds.sensitivity import Bound, find_bound, register_bound

MATCHED_IN_L1 = "centred AUC of matched pairs, in ℓ1"
MATCHED_IN_L2 = "centred AUC of matched pairs"


def pairs_of(n: int) -> int:
    """Return the number of pairs of a matching of n records."""
    return integer("n", n, at_least=2 * LEAST_N, at_most=MOST_N) // 2


def _route(name: str, place: int, n: int) -> float:
    """Return a route to the bound of as many records as there are pairs."""
    _, route = list(find_bound(name).routes())[place]
    return route(n=pairs_of(n))


def _in_l1(n: int) -> float:
    return _route(IN_L1, 0, n)


def _in_l1_again(n: int) -> float:
    return _route(IN_L1, 1, n)


def _in_l2(n: int) -> float:
    return _route(IN_L2, 0, n)


def _in_l2_again(n: int) -> float:
    return _route(IN_L2, 1, n)


_WORDS = (
    "each record is in at most one pair, by a matching of the places that is fixed by n: if it is "
    "replaced, by another or by a null record, one pair changes, and the sum over a pair of the "
    "same class and a pair of different classes, each ±½ or 0 by the order of their distances, "
    "with a weight that depends on the numbers of such pairs, changes together with a function of "
    "these numbers by at most 1"
)
register_bound(Bound(MATCHED_IN_L1, f"{_WORDS} in ℓ1 norm", _in_l1, _in_l1_again))
register_bound(Bound(MATCHED_IN_L2, _WORDS, _in_l2, _in_l2_again))
