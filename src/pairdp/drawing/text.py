"""Text and numbers in pages and files."""

from __future__ import annotations

import html
import math
import re

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def escape(text: object) -> str:
    """Return text escaped for elements and quoted attributes.

    Control characters are replaced, and those that change the direction of text too: with them, a
    name could make a page say something else.
    """
    return html.escape(_CONTROLS.sub("\N{REPLACEMENT CHARACTER}", str(text)), quote=True)


def number(value: float) -> str:
    """Return a number in its shortest form, such as "0.05", "256" or "2×10⁻⁷".

    It has at most six significant digits.
    """
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    short = f"{value:.6g}" if -3 <= size < 6 else f"{value:.5e}"
    digits, _, power = short.partition("e")
    if not power:
        return digits.replace("-", "−")
    digits = digits.rstrip("0").rstrip(".").replace("-", "−")
    ten = "10" + str(int(power)).translate(_SUPERSCRIPTS)
    return ten if digits == "1" else f"{digits}×{ten}"


def measured(value: float, like: float | None = None) -> str:
    """Return a measured number to four digits, such as "0.6468", "12.30" or "3.142×10⁻⁷".

    With ``like``, it has as many decimals as that number, unless all of them are zero.
    """
    if like is not None and _is_plain(like):
        short = f"{value:.{_decimals(like)}f}"
        if float(short) or not value:
            return short.replace("-", "−")
    if value == 0 or _is_plain(value):
        return f"{value:.{_decimals(value)}f}".replace("-", "−")
    return number(float(f"{value:.3e}"))


def _is_plain(value: float) -> bool:
    return 1e-3 <= abs(value) < 1e5


def _decimals(value: float) -> int:
    return 4 if abs(value) < 1 else max(0, 3 - math.floor(math.log10(abs(value))))


def coordinate(value: float) -> str:
    """Return a coordinate to a tenth of a unit."""
    return f"{round(value, 1) + 0.0:g}"
