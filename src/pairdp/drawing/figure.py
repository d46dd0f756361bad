"""A figure as data: axes, series of points with their intervals, and how the series look."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

Line = Literal["dashed", "dotted", "solid", "thin"]
LINES: tuple[Line, ...] = ("dashed", "dotted", "solid", "thin")
"""Line styles, in the order in which legends have their kinds."""


@dataclass(frozen=True)
class Point:
    """A value at x, and the interval around it, if it has one."""

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
        """The lower end of the interval; the value itself where there is none."""
        return self.y if self.interval is None else self.interval[0]

    @property
    def high(self) -> float:
        """The upper end of the interval; the value itself where there is none."""
        return self.y if self.interval is None else self.interval[1]


@dataclass(frozen=True)
class Style:
    """How a series looks.

    Parameters
    ----------
    color : int
        0 to 7, of `colors`; 7 is grey.
    marker : int, optional
        0 to 4, of `markers`; None for a curve without markers.
    line : {"dashed", "dotted", "solid", "thin"}
        Dashed lines have hollow markers and dotted ones pale markers. Thin series are for
        reference: drawn behind the others, with their name at the line where there is room.
    bold : bool
        Whether a solid line is thicker than others.
    band : bool
        Whether intervals are a filled band, and not a bar at each point.
    """

    color: int = 1
    marker: int | None = 0
    line: Line = "solid"
    bold: bool = False
    band: bool = False


@dataclass(frozen=True)
class Series:
    """Points that belong together, sorted by x, with each x once.

    Parameters
    ----------
    name, kind : str
        What the legend calls it. Series of the same name and different kinds stand together,
        and all of one kind can be hidden at once.
    across : bool
        Whether a single point is drawn as a line across the plot, as it is the same at every x.
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
        """Whether any point has an interval of some width."""
        return any(point.high > point.low for point in self.points)

    @property
    def key(self) -> tuple[str, str]:
        """What a legend tells series apart by."""
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
        What is written at the axis.
    symbol : str
        The short form of the name, for tables and tooltips.
    scale : {"auto", "linear", "log"}
        With "auto" it is logarithmic where values are positive and of very different sizes.
    include : tuple of float
        Values that the axis shows even if no point is there.
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
        Lines over x; or one row for each series, whose only point is a dot or a bar from zero.
    description : str
        What is shown, for those who do not see it.
    intervals : str
        What the intervals are.
    beside : tuple of Point
        Points of plots beside this one, so that the axes of values are the same.
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
            raise ValueError("bars begin at zero, which a logarithmic axis does not have")
        for axis, values in ((self.x, self.xs), (self.y, [p.y for p in self.points])):
            if axis.scale == "log" and min(*values, *axis.include, math.inf) <= 0:
                raise ValueError("the values on a logarithmic axis must be positive")

    @property
    def points(self) -> list[Point]:
        """All points that the axis of values shows."""
        return [*(point for series in self.series for point in series.points), *self.beside]

    @property
    def xs(self) -> list[float]:
        """The values of x, sorted."""
        return sorted({point.x for series in self.series for point in series.points})

    @property
    def has_intervals(self) -> bool:
        """Whether any series has."""
        return any(series.has_intervals for series in self.series)

    def x_text(self, number: str) -> str:
        """Return "ε = 0.5" for the number "0.5", or what is measured where x has no name."""
        symbol = self.x.symbol or self.x.name
        return f"{symbol} = {number}" if symbol else self.y.name


def keys_of(figures: Iterable[Figure]) -> dict[tuple[str, str], int]:
    """Return a number for each name and kind of series, which legends refer to."""
    keys = dict.fromkeys(series.key for figure in figures for series in figure.series)
    return {key: i for i, key in enumerate(keys)}
