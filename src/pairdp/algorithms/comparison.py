"""Comparison of two certificates in everything that a plan determines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pairdp.privacy import Certificate

# Allows for the rounding of another platform's mathematical library.
_SAME = 1e-9
_NOT_PLANNED = ("noise_source", "library_version")


def differences(stated: Certificate, planned: Certificate) -> Iterator[str]:
    """Yield every difference between a stated certificate and a planned one.

    All fields are compared, floats to a relative tolerance of 1e-9, except for the noise source,
    which is chosen after planning, and the version of the library.
    """
    values, expected = stated.to_dict(), planned.to_dict()
    for name in _NOT_PLANNED:
        del values[name], expected[name]
    yield from _differences(values, expected, "")


def _differences(one: Any, other: Any, place: str) -> Iterator[str]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted(one.keys() | other.keys()):
            where = f"{place}.{key}" if place else str(key)
            if key not in other:
                yield f"{where} is stated, but the plan does not have it"
            elif key not in one:
                yield f"{where} is missing"
            else:
                yield from _differences(one[key], other[key], where)
    elif isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            yield f"{place} has {len(one)} entries, and planning again gives {len(other)}"
        for i, (item, expected) in enumerate(zip(one, other, strict=False)):
            yield from _differences(item, expected, f"{place}[{i}]")
    elif not _same(one, other):
        yield f"{place} is stated as {_shown(one)}, and planning again gives {_shown(other)}"


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    if isinstance(one, int | float) and isinstance(other, int | float):
        try:
            return math.isclose(one, other, rel_tol=_SAME)
        except OverflowError:  # an integer too large for a float
            return False
    return bool(one == other)


def _shown(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else repr(value)
