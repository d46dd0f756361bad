"""Whether a loss is convex, by what its class declares."""

from __future__ import annotations

from collections.abc import Iterable

from pairdp.losses.base import Loss


def overridden_after(
    kind: type, declaration: str, formulas: Iterable[str]
) -> tuple[str, list[str]]:
    """Return the first class that replaces formulas below the one that has a declaration.

    What a parent declares is of the parent's formulas. Returned are the name of the class and the
    formulas that it defines without the declaration; there are none if all is well.
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
    """Return whether a loss is convex in its parameters, as declared with its formulas.

    The class that defines or replaces the formulas of a loss must declare ``convex`` itself, or a
    class derived from it must: what a parent declares is of the parent's formulas. Nothing is
    assumed where nothing is declared, because bounds that need convexity are false without it.

    Raises
    ------
    TypeError
        If ``convex`` is not declared for the formulas, or is neither True nor False.
    """
    name, replaced = overridden_after(type(loss), "convex", _FORMULAS)
    if replaced:
        raise TypeError(
            f"{name} defines {', '.join(replaced)} without declaring whether the loss is convex, "
            "and privacy bounds rest on that: add `convex: ClassVar[bool] = True` to the class if "
            "the loss is convex in the parameters for all records, else `= False`; what a parent "
            "class declares is of its own formulas"
        )
    declared = loss.convex
    if not isinstance(declared, bool):
        raise TypeError(f"convex must be True or False, and {type(loss).__name__} has {declared!r}")
    return declared
