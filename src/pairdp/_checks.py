"""Checks of public numbers, with errors that say what is wrong and what is accepted."""

from __future__ import annotations

import math
import numbers
import reprlib
import unicodedata
from collections.abc import Callable, Iterable
from typing import SupportsFloat, cast


def real(name: str, value: object) -> float:
    """Return ``value`` as a float; an error if it is not a real number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(
            f"{name} must be a real number, got {value!r} of type {type(value).__name__}"
        )
    try:
        number = float(cast(SupportsFloat, value))
    except OverflowError:
        raise ValueError(f"{name} is too large for a float: {reprlib.repr(value)}") from None
    if math.isnan(number):
        raise ValueError(f"{name} must be a number, got NaN")
    return number


def positive(name: str, value: object, *, finite: bool = True) -> float:
    """Return ``value`` as a float in (0, inf), or in (0, inf] if not ``finite``."""
    number = real(name, value)
    if number <= 0 or (finite and math.isinf(number)):
        kind = "positive and finite" if finite else "positive"
        raise ValueError(f"{name} must be {kind}, got {number!r}")
    return number


def non_negative(name: str, value: object) -> float:
    """Return ``value`` as a float in [0, inf)."""
    number = real(name, value)
    if number < 0 or math.isinf(number):
        raise ValueError(f"{name} must be finite and at least 0, got {number!r}")
    return number


def probability(name: str, value: object) -> float:
    """Return ``value`` as a float in [0, 1)."""
    number = real(name, value)
    if not 0 <= number < 1:
        raise ValueError(f"{name} must be at least 0 and below 1, got {number!r}")
    return number


RECORDS, PARAMETERS, STEPS = (1e-30, 1e30), (1e-60, 1e60), (1e-120, 1e120)
"""Ranges of public numbers: norms of records, norms of parameters, step sizes and regularisers.

For numbers in these ranges, the formulas neither overflow nor underflow; underflow would lose
digits of a sensitivity."""


def between(name: str, value: object, low: float, high: float, instead: str = "rescale") -> float:
    """Return ``value`` as a float in [low, high]; the error says what to do instead."""
    number = positive(name, value)
    if not low <= number <= high:
        accepted = f"{low:g} and {high:g}".replace("e+", "e")
        raise ValueError(f"{name} must be between {accepted}, got {number!r}: {instead}")
    return number


LARGEST_INTEGER = 2**53
"""Larger integers are not exact as floats, and are refused."""


def integer(name: str, value: object, *, at_least: int = 1, at_most: int = LARGEST_INTEGER) -> int:
    """Return ``value`` as an int between ``at_least`` and ``at_most``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r} of type {type(value).__name__}")
    number = int(value)
    if number < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {number}")
    if number > at_most:
        # Python refuses to print numbers of thousands of digits.
        given = number if number <= LARGEST_INTEGER else f"one of {number.bit_length()} bits"
        raise ValueError(f"{name} must be at most {at_most}, got {given}")
    return number


def keep(owner: object, name: str, value: object) -> None:
    """Set an attribute of a frozen dataclass to a checked value."""
    object.__setattr__(owner, name, value)


def keep_given(owner: object, name: str, check: Callable[..., object], *limits: float) -> None:
    """Check an optional attribute of a frozen dataclass and set it, unless it is None."""
    value = getattr(owner, name)
    if value is not None:
        keep(owner, name, check(name, value, *limits))


def one_of(name: str, value: object, *known: str | None) -> None:
    """Raise an error for a value that is not one of the known ones."""
    if value not in known:
        words = " or ".join("None" if word is None else f'"{word}"' for word in known)
        raise ValueError(f"{name} must be {words}, got {value!r}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'age'?" if a known name is similar, whatever its case, else nothing.

    Examples
    --------
    >>> did_you_mean("kang2020", ["DPGDC", "DPGDSC", "Kang2021"])
    "; did you mean 'Kang2021'?"
    >>> did_you_mean("age", ["bmi"])
    ''
    """
    from difflib import get_close_matches

    by_word = {word.casefold(): word for word in known}
    found = get_close_matches(name.casefold(), by_word, n=1)
    return f"; did you mean {by_word[found[0]]!r}?" if found else ""


def flag(name: str, value: object) -> bool:
    """Return ``value`` if it is True or False; otherwise raise an error."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return value


def on_one_line(words: str) -> str:
    """Return a text with line breaks, control and bidirectional characters escaped.

    So text from a file cannot overwrite, or imitate, lines of a report on it.
    """
    return "".join(map(_visible, words))


def _visible(character: str) -> str:
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    return character.encode("unicode_escape").decode() if hidden else character


def text(name: str, value: object) -> str:
    """Return ``value`` if it is a non-empty string; otherwise raise an error."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r} of type {type(value).__name__}")
    if not value.strip():
        raise ValueError(f"{name} must not be empty")
    return value
