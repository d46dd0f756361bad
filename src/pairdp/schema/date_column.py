"""Dates with a public range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairdp._checks import keep, one_of
from pairdp.schema.cells import Array, Cell, Cells, MissingValues, instants, read_time
from pairdp.schema.features import INDICATOR, NULL, Block, FeatureColumn
from pairdp.schema.names import Name

_UNITS = {"year": "Y", "month": "M", "day": "D", "hour": "h", "minute": "m", "second": "s"}
_PARTS = {"quarter": 4, "month": 12, "weekday": 7, "hour": 24}
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class DateColumn(FeatureColumn):
    """A date or time with a public range, to which it is clipped.

    Parameters
    ----------
    name : str
        Its name.
    first, last : str
        The range, in ISO 8601.
    unit : {"year", "month", "day", "hour", "minute", "second"}
        Dates are counted in whole units.
    parts : tuple of {"quarter", "month", "weekday", "hour"}
        Parts of the date that are features too.
    date_format : str or None
        How dates are written in text, as for ``datetime.strptime``; None for ISO 8601.
    missing, missing_values, weight
        See `FeatureColumn`; a fixed value is a date of the range, in ISO 8601.
    """

    name: str
    first: str
    last: str
    unit: str = "day"
    parts: tuple[str, ...] = ()
    date_format: str | None = None
    missing: str | None = None
    missing_values: tuple[Name, ...] = ()
    weight: float = 1.0

    def __post_init__(self) -> None:
        self._check()
        one_of("unit", self.unit, *_UNITS)
        keep(self, "parts", tuple(self.parts))
        for part in self.parts:
            one_of("a part of a date", part, *_PARTS)
        if len(set(self.parts)) < len(self.parts):
            raise ValueError("a part of the date is listed twice")
        if self.date_format is not None and (
            not isinstance(self.date_format, str) or "%" not in self.date_format
        ):
            raise ValueError(f'format must be a text such as "%d.%m.%Y", got {self.date_format!r}')
        first, last = (self._time(end, getattr(self, end)) for end in ("first", "last"))
        if not self._count(first) < self._count(last):
            raise ValueError(
                f"a range of dates must be [from, to], at least one {self.unit} apart, got "
                f"[{self.first!r}, {self.last!r}]"
            )
        if self.missing not in (None, INDICATOR, NULL):
            fixed = self._time("missing", self.missing)
            if not first <= fixed <= last:
                raise ValueError(f"missing must be a date of the range, got {self.missing!r}")

    def _time(self, what: str, given: object) -> np.datetime64:
        try:
            time = read_time(given) if isinstance(given, str) else None
        except ValueError:
            time = None
        if time is None:
            raise ValueError(f'{what} must be a date such as "2024-12-31", got {given!r}')
        found, status = instants(np.array([given], dtype=object), MissingValues(), None)
        del status  # it was read
        return np.datetime64(found[0])

    def _count(self, times: Any) -> Any:
        return np.asarray(times).astype(f"datetime64[{_UNITS[self.unit]}]").astype(np.int64)

    def date_at(self, share: float) -> str:
        """Return the date, in ISO 8601, at a share of the range from 0 to 1."""
        low, high = (self._count(self._time(e, getattr(self, e))) for e in ("first", "last"))
        count = math.ceil(low + share * (high - low) - 1e-6)
        return str(np.array(count).astype(f"datetime64[{_UNITS[self.unit]}]"))

    @staticmethod
    def part_names(part: str) -> tuple[str, ...]:
        """Return the names of the values of a part."""
        return tuple(_part_name(part, place) for place in range(_PARTS[part]))

    @property
    def part_sizes(self) -> tuple[tuple[str, int], ...]:
        """The parts of the date, with the number of features of each."""
        return tuple((part, _PARTS[part]) for part in self.parts)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""
        named = [
            f"{self.name} ({part}={value})"
            for part in self.parts
            for value in self.part_names(part)
        ]
        return (self.name, *named, *self._indicator_name())

    def form(self) -> Any:
        """Return the short form."""
        more: dict[str, Any] = {} if self.unit == "day" else {"unit": self.unit}
        more |= {"parts": list(self.parts)} if self.parts else {}
        more |= {} if self.date_format is None else {"format": self.date_format}
        return {"date": [self.first, self.last], **more, **self._options()}

    def encode(self, cells: Cells, missing: MissingValues) -> Block:
        """Return the block of each cell."""
        times, status = instants(cells, missing, self.date_format)
        first, last = self._time("first", self.first), self._time("last", self.last)
        if self.missing not in (None, INDICATOR, NULL):
            times[status == Cell.MISSING] = self._time("missing", self.missing)
        clipped = np.clip(times, first, last)
        status[(status == Cell.VALID) & (clipped != times)] = Cell.OUTSIDE
        counts, low, high = self._count(clipped), self._count(first), self._count(last)
        size = math.sqrt(1 + len(self.parts))
        block = [(2.0 * ((counts - low) / (high - low)) - 1.0)[:, None] / size]
        # Of the date itself: a date outside the range still has a month.
        block += [_one_hot(_part(part, times), _PARTS[part]) / size for part in self.parts]
        return Block(self._with_indicator(np.hstack(block), status), status)


def _part(part: str, times: Any) -> Any:
    months = times.astype("datetime64[M]").astype(np.int64)
    if part == "month":
        return months % 12
    if part == "quarter":
        return months % 12 // 3
    if part == "weekday":
        return (times.astype("datetime64[D]").astype(np.int64) + 3) % 7  # 1970-01-01, a Thursday
    return times.astype("datetime64[h]").astype(np.int64) % 24


def _part_name(part: str, place: int) -> str:
    if part == "weekday":
        return _DAYS[place]
    return str(place if part == "hour" else place + 1)


def _one_hot(places: Any, width: int) -> Array:
    block = np.zeros((len(places), width))
    block[np.arange(len(places)), places] = 1.0
    return block
