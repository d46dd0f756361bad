"""Whether what a class declares of its formulas is still of the formulas that it has."""

from __future__ import annotations

from collections.abc import Iterable


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
