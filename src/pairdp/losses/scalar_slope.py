"""The slope of a loss for one number, from which steps on few records are compiled."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import NamedTuple

from pairdp.losses.base import Loss
from pairdp.losses.convexity import overridden_after
from pairdp.losses.pointwise import PointwiseLoss
from pairdp.losses.ranking import RankingLoss

_FORMULAS = {"value", "gradient", "phi", "slope", "scale", "orders", "symmetric", "_margins"}


class ScalarSlope(NamedTuple):
    """A formula φ'(u, *parameters) of a ranking loss, or φ'(score, y, *parameters) of one record's.

    Attributes
    ----------
    formula : callable
        Plain Python over floats.
    parameters : tuple of float
        The loss's attributes that have the names of the formula's other arguments.
    """

    formula: Callable[..., float]
    parameters: tuple[float, ...]


def scalar_slope_of(loss: Loss) -> ScalarSlope | None:
    """Return what a loss declares as its ``scalar_slope``; None if it declares none.

    What a parent class declares is of the parent's formulas, and counts only where these are kept.
    """
    if isinstance(loss, RankingLoss) and type(loss).gradient is RankingLoss.gradient:
        variables = 1
    elif isinstance(loss, PointwiseLoss):
        variables = 2
    else:
        return None
    formula = type(loss).scalar_slope
    if formula is None or overridden_after(type(loss), "scalar_slope", _FORMULAS)[1]:
        return None
    names = list(inspect.signature(formula).parameters)[variables:]
    return ScalarSlope(formula, tuple(float(getattr(loss, name)) for name in names))
