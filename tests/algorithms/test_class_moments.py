"""Sums of classes refuse records and batches that do not belong together."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp.algorithms.class_moments import ClassMoments
from pairdp.algorithms.descent import steps_to_shrink
from tests.algorithms.cases import METRIC, SQUARES

X, Y = np.eye(4)[:, :3], np.array([-1, 1, -1, 1])


def test_labels_of_many_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="labels -1 and \\+1"):
        ClassMoments.of(METRIC.records(X, np.arange(4)))


def test_batches_have_the_stated_shape() -> None:
    with pytest.raises(ValueError, match="2 dimensions"):
        ClassMoments.gather(SQUARES, [(X, Y[:, None])], 4, 3)
    with pytest.raises(ValueError, match="3 features, not 2"):
        ClassMoments.gather(SQUARES, [(X, Y)], 4, 2)


def test_moments_of_other_features_cannot_be_added() -> None:
    one, other = (ClassMoments.of(SQUARES.records(X[:, :d], Y)) for d in (3, 2))
    with pytest.raises(ValueError, match="cannot be added"):
        one + other


@pytest.mark.parametrize(("contraction", "factor"), [(0.5, 1000.0), (0.9, 2.0), (0.99, 1.5)])
def test_so_many_steps_shrink_a_distance_and_no_fewer(contraction: float, factor: float) -> None:
    steps = steps_to_shrink(contraction, factor, 10**6)
    assert contraction**steps <= 1 / factor < contraction ** (steps - 1)


def test_steps_that_do_not_contract_are_as_many_as_allowed() -> None:
    assert steps_to_shrink(1.0, 2.0, 77) == 77
    assert steps_to_shrink(0.5, 1.0, 77) == steps_to_shrink(0.0, 2.0, 77) == 1
