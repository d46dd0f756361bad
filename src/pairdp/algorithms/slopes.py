"""The built-in losses of a score as a few numbers, which compiled steps take instead of objects."""

from __future__ import annotations

from typing import NamedTuple

from pairdp.losses.hinge_pointwise import HingePointwise
from pairdp.losses.hinge_ranking import HingeRanking
from pairdp.losses.least_squares_pointwise import LeastSquaresPointwise
from pairdp.losses.least_squares_ranking import LeastSquaresRanking
from pairdp.losses.logistic_pointwise import LogisticPointwise
from pairdp.losses.logistic_ranking import LogisticRanking
from pairdp.losses.power_hinge_ranking import PowerHingeRanking, SquaredHingeRanking
from pairdp.losses.ranking import RankingLoss

LOGISTIC, HINGE, ROUNDED_HINGE, POWER_HINGE, SQUARE, RESIDUAL = range(6)
"""φ of u; the last is the square of score minus target."""


class Slope(NamedTuple):
    """A loss whose gradient is weight · scale · φ'(scale · score) times a record or a difference.

    Attributes
    ----------
    kind : int
        Which φ.
    shape : float
        Its width or power, if it has one.
    scale : float
        k, from a score to u.
    weight : float
        The share of the two orders of a pair that have a gradient; 1 for a loss of one record.
    paired : bool
        Whether it is of a score difference.
    """

    kind: int
    shape: float
    scale: float
    weight: float
    paired: bool


def slope_of(loss: object) -> Slope | None:
    """Return the numbers of a built-in loss; None for any other, also for one derived from it."""
    if isinstance(loss, RankingLoss):
        found = _of_ranking(loss)
        return found and Slope(*found, loss.scale, loss.orders / 2, True)
    of = type(loss)
    if of is LogisticPointwise and isinstance(loss, LogisticPointwise):
        return Slope(LOGISTIC, 0.0, 1 / loss.temperature, 1.0, False)
    if of is HingePointwise and isinstance(loss, HingePointwise):
        return Slope(HINGE if loss.width == 0 else ROUNDED_HINGE, loss.width, 1.0, 1.0, False)
    if of is LeastSquaresPointwise:
        return Slope(RESIDUAL, 0.0, 1.0, 1.0, False)
    return None


def _of_ranking(loss: RankingLoss) -> tuple[int, float] | None:
    # A derived class may have a slope of its own, so its kind is not that of its parent.
    of = type(loss)
    if of is LogisticRanking:
        return LOGISTIC, 0.0
    if of is HingeRanking and isinstance(loss, HingeRanking):
        return (HINGE if loss.width == 0 else ROUNDED_HINGE), loss.width
    if of in (PowerHingeRanking, SquaredHingeRanking) and isinstance(loss, PowerHingeRanking):
        return POWER_HINGE, loss.power
    if of is LeastSquaresRanking:
        return SQUARE, 0.0
    return None
