"""Ranges of the parameters of losses in which computations are accurate."""

from __future__ import annotations

from pairdp._checks import RECORDS, between, non_negative

_SMALLEST_WIDTH, _LARGEST_WIDTH = 1e-12, 1e30


def check_temperature(temperature: object) -> float:
    """Return a temperature between 1e-30 and 1e30."""
    return between("temperature", temperature, *RECORDS)


def check_width(width: object) -> float:
    """Return the smoothing width of a hinge: 0 for none, or between 1e-12 and 1e30."""
    value = non_negative("width", width)
    if value and not _SMALLEST_WIDTH <= value <= _LARGEST_WIDTH:
        raise ValueError(f"width must be 0 or between 1e-12 and 1e30, got {value!r}")
    return value
