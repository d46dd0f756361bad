"""Text and numbers as a page shows them."""

from __future__ import annotations

import html
import math

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def escape(text: object) -> str:
    """Return text that means itself, inside an element and inside a quoted attribute."""
    return html.escape(str(text), quote=True)


def number(value: float) -> str:
    """Return a number as short as it can be written, such as "0.05", "256" or "2×10⁻⁷".

    Six digits are kept.
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

    With ``like``, it has as many decimals as that number, unless nothing would be left.
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
    """Return a coordinate of a drawing, to a tenth of its unit."""
    return f"{round(value, 1) + 0.0:g}"
