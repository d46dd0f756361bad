"""A figure as data: axes, series of points with intervals, and their styles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

Line = Literal["dashed", "dotted", "solid", "thin"]
LINES: tuple[Line, ...] = ("dashed", "dotted", "solid", "thin")
"""Line styles, in the order of legends."""


@dataclass(frozen=True)
class Point:
    """A value at x, with an optional interval around it."""

    x: float
    y: float
    interval: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.x, self.y, self.low, self.high))):
            raise ValueError("coordinates and intervals of a point must be finite")
        if not self.low <= self.y <= self.high:
            raise ValueError("the interval of a point must contain its value")

    @property
    def low(self) -> float:
        """The lower end of the interval, or the value if there is none."""
        return self.y if self.interval is None else self.interval[0]

    @property
    def high(self) -> float:
        """The upper end of the interval, or the value if there is none."""
        return self.y if self.interval is None else self.interval[1]


@dataclass(frozen=True)
class Style:
    """The style of a series.

    Parameters
    ----------
    color : int
        Index of a colour, 0 to 7; 7 is grey.
    marker : int, optional
        Index of a marker, 0 to 4; None for a curve without markers.
    line : {"dashed", "dotted", "solid", "thin"}
        Dashed lines have hollow markers, dotted lines pale markers. Thin lines are references:
        they are drawn behind the others, and named at the line if there is room.
    bold : bool
        Whether a solid line is thicker.
    band : bool
        Whether intervals are drawn as a filled band instead of error bars.
    """

    color: int = 1
    marker: int | None = 0
    line: Line = "solid"
    bold: bool = False
    band: bool = False


@dataclass(frozen=True)
class Series:
    """A named sequence of points, sorted by x, with distinct x.

    Parameters
    ----------
    name, kind : str
        The entry in the legend. Series of the same name and different kinds are listed together,
        and all series of a kind can be hidden at once.
    across : bool
        Whether a single point is drawn as a line across the plot: a value for every x.
    """

    name: str
    points: tuple[Point, ...]
    style: Style = field(default_factory=Style)
    kind: str = ""
    across: bool = False

    def __post_init__(self) -> None:
        if not self.points:
            raise ValueError("a series must have a point")
        if any(b.x <= a.x for a, b in pairwise(self.points)):
            raise ValueError("the points of a series must be sorted by x, with each x once")

    @property
    def has_intervals(self) -> bool:
        """Whether any point has an interval of positive width."""
        return any(point.high > point.low for point in self.points)

    @property
    def key(self) -> tuple[str, str]:
        """What identifies the series in a legend."""
        return self.name, self.kind

    @property
    def label(self) -> str:
        """Name and kind."""
        return ", ".join(filter(None, self.key))


@dataclass(frozen=True)
class Axis:
    """An axis.

    Parameters
    ----------
    name : str
        The label of the axis.
    symbol : str
        A short name for tables and tooltips.
    scale : {"auto", "linear", "log"}
        "auto" is logarithmic if values are positive and differ by orders of magnitude.
    include : tuple of float
        Values that the axis must include.
    """

    name: str
    symbol: str = ""
    scale: Literal["auto", "linear", "log"] = "auto"
    include: tuple[float, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A plot.

    Parameters
    ----------
    title : str
    x, y : Axis
    series : tuple of Series
    mark : {"line", "dot", "bar"}
        Lines over x, or one row per series, whose only point is a dot or a bar from zero.
    description : str
        What is shown, for screen readers.
    intervals : str
        What the intervals are.
    beside : tuple of Point
        Points of neighbouring plots that have the same axis of values.
    """

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    mark: Literal["line", "dot", "bar"] = "line"
    description: str = ""
    intervals: str = "95 % intervals"
    beside: tuple[Point, ...] = ()

    def __post_init__(self) -> None:
        if not self.series:
            raise ValueError("a figure must have a series")
        if self.mark != "line" and any(len(series.points) > 1 for series in self.series):
            raise ValueError(f"a figure of {self.mark}s has one point in each series")
        if self.mark == "bar" and self.y.scale == "log":
            raise ValueError("bars start at zero, which is not on a logarithmic axis")
        for axis, values in ((self.x, self.xs), (self.y, [p.y for p in self.points])):
            if axis.scale == "log" and min(*values, *axis.include, math.inf) <= 0:
                raise ValueError("the values on a logarithmic axis must be positive")

    @property
    def points(self) -> list[Point]:
        """All points that determine the axis of values."""
        return [*(point for series in self.series for point in series.points), *self.beside]

    @property
    def xs(self) -> list[float]:
        """The values of x, sorted."""
        return sorted({point.x for series in self.series for point in series.points})

    @property
    def has_intervals(self) -> bool:
        """Whether any series has intervals."""
        return any(series.has_intervals for series in self.series)

    def x_text(self, number: str) -> str:
        """Return "ε = 0.5" for the number "0.5", or the name of y if x has none."""
        symbol = self.x.symbol or self.x.name
        return f"{symbol} = {number}" if symbol else self.y.name


def keys_of(figures: Iterable[Figure]) -> dict[tuple[str, str], int]:
    """Return an index for each name and kind of series, by which legends refer to them."""
    keys = dict.fromkeys(series.key for figure in figures for series in figure.series)
    return {key: i for i, key in enumerate(keys)}
