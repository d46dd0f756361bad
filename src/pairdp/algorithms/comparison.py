"""Two certificates, compared in everything that planning decides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pairdp.privacy import Certificate

# Rounding of another machine's mathematical library; what it could hide is a billionth.
_SAME = 1e-9
_NOT_PLANNED = ("noise_source", "library_version")


def differences(stated: Certificate, planned: Certificate) -> Iterator[str]:
    """Yield every place where a certificate is not what was planned.

    All fields are compared, numbers to a billionth, but for the noise source, which is drawn after
    planning, and the version of the library.
    """
    values, expected = stated.to_dict(), planned.to_dict()
    for name in _NOT_PLANNED:
        del values[name], expected[name]
    yield from _between(values, expected, "")


def _between(one: Any, other: Any, place: str) -> Iterator[str]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted(one.keys() | other.keys()):
            where = f"{place}.{key}" if place else str(key)
            if key not in other:
                yield f"{where} is stated, and no plan has it"
            elif key not in one:
                yield f"{where} is missing"
            else:
                yield from _between(one[key], other[key], where)
    elif isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            yield f"{place} has {len(one)} entries, and planning again gives {len(other)}"
        for i, (item, expected) in enumerate(zip(one, other, strict=False)):
            yield from _between(item, expected, f"{place}[{i}]")
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
        except OverflowError:  # an integer beyond all floats
            return False
    return bool(one == other)


def _shown(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else repr(value)
