"""The convexity of a loss, as its class declares it."""

from __future__ import annotations

from pairdp.losses._overrides import overridden_after
from pairdp.losses.base import PairwiseLoss
from pairdp.losses.pointwise import PointwiseLoss

_FORMULAS = {"value", "gradient", "phi", "slope", "of_distance"}


def declared_convex(loss: PairwiseLoss | PointwiseLoss) -> bool:
    """Return whether a loss is declared to be convex in its parameters.

    The class that defines or overrides the formulas of a loss, or a subclass of it, must declare
    ``convex``: the declaration of a parent class is about the formulas of the parent. There is no
    default, because bounds that need convexity are false without it.

    Raises
    ------
    TypeError
        If ``convex`` is not declared for the formulas, or is neither True nor False.
    """
    name, replaced = overridden_after(type(loss), "convex", _FORMULAS)
    if replaced:
        raise TypeError(
            f"{name} defines {', '.join(replaced)} without declaring whether the loss is convex, "
            "and privacy bounds depend on it: add `convex: ClassVar[bool] = True` to the class if "
            "the loss is convex in the parameters for all records, otherwise `= False`; the "
            "declaration of a parent class is about the formulas of the parent"
        )
    declared = loss.convex
    if not isinstance(declared, bool):
        raise TypeError(f"convex must be True or False, and {type(loss).__name__} has {declared!r}")
    return declared
