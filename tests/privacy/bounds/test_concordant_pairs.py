"""Concordant pairs: no replaced pair moves what is released by more than stated."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pairdp.privacy.bounds import concordant_pairs
from pairdp.privacy.bounds.record_errors import RIGHT_COUNT_WEIGHT
from pairdp.privacy.bounds.sensitivity import find_bound

NAMES = {1: concordant_pairs.CONCORDANT_IN_L1, 2: concordant_pairs.CONCORDANT_IN_L2}


def worst(norm: int, gamma: float) -> float:
    pairs = [np.array([sign / 2, gamma]) for sign in (1, -1, 0)] + [np.zeros(2)]
    changes = (one - other for one, other in itertools.combinations(pairs, 2))
    return max(float(np.linalg.norm(change, ord=norm)) for change in changes)


@pytest.mark.parametrize("norm", [1, 2])
def test_the_bound_is_attained_and_no_larger_weight_would_do(norm: int) -> None:
    gamma, bound = RIGHT_COUNT_WEIGHT[norm], find_bound(NAMES[norm])
    assert worst(norm, gamma) == 1
    assert worst(norm, 1.01 * gamma) > 1.001
    for n in (2, 3, 1000, 10**9):
        values = [route(n=n) for _, route in bound.routes()]
        assert values == pytest.approx([1.0] * len(values), abs=1e-6)
        assert min(values) >= 1


def test_pairs_need_two_records() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        concordant_pairs.number_of_pairs(1)
