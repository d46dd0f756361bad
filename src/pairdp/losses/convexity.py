"""The convexity of a loss, as its class declares it."""

from __future__ import annotations

from collections.abc import Iterable

from pairdp.losses.base import Loss


def overridden_after(
    kind: type, declaration: str, formulas: Iterable[str]
) -> tuple[str, list[str]]:
    """Return the first subclass that overrides formulas without repeating the declaration.

    A declaration of a parent class is about the formulas of the parent. Returned are the name of
    the subclass and the formulas that it overrides; the list is empty if there is no such class.
    """
    for one in kind.__mro__:
        if declaration in vars(one):
            break
        replaced = sorted(vars(one).keys() & set(formulas))
        if replaced:
            return one.__name__, replaced
    return kind.__name__, []


_FORMULAS = {"value", "gradient", "phi", "slope", "of_distance"}


def declared_convex(loss: Loss) -> bool:
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
