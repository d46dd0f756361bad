"""Checks that a class declares the properties of the formulas that it overrides."""

from __future__ import annotations

from collections.abc import Iterable


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
