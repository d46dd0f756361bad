"""The derivative of a loss as a scalar function, from which steps are compiled."""

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
    """A formula φ'(u, *parameters) of a ranking or φ'(score, y, *parameters) of a pointwise loss.

    Attributes
    ----------
    formula : callable
        Plain Python on floats.
    parameters : tuple of float
        The attributes of the loss with the names of the formula's other arguments.
    """

    formula: Callable[..., float]
    parameters: tuple[float, ...]


def scalar_slope_of(loss: Loss) -> ScalarSlope | None:
    """Return the ``scalar_slope`` that a loss declares, or None.

    The declaration of a parent class is about the parent's formulas; it is ignored if they are
    overridden.
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
