"""Lines over x, with error bars or bands."""

from __future__ import annotations

from itertools import pairwise
from xml.etree.ElementTree import Element

from pairdp.drawing.canvas import (
    RIGHT,
    TOP,
    WIDTH,
    Canvas,
    Drawn,
    axis_name,
    draw_series,
    fit_axis,
    value_scale,
    value_title,
)
from pairdp.drawing.elements import make, write_text
from pairdp.drawing.figure import Figure, Series
from pairdp.drawing.labels import place_labels
from pairdp.drawing.scales import Scale, fit_log, grow_by_one_factor
from pairdp.drawing.text import coordinate, number

HEIGHT = 310
LEFT, BOTTOM = 54, 46  # margins
_DODGE = 4.0


def draw_lines(figure: Figure) -> Canvas:
    """Return the drawing of a figure of lines."""
    x = x_scale(figure)
    y = value_scale(figure, HEIGHT - BOTTOM, TOP)
    shifts, labels = _shifts(figure, x), _labels(figure, x, y)
    rows = sorted(range(len(figure.series)), key=lambda row: not _is_reference(figure.series[row]))
    return Canvas(
        HEIGHT,
        _axes(figure, x, y),
        tuple(  # references first: they are drawn behind the others
            _draw(figure.series[row], row, x, y, shifts.get(row, 0.0), labels.get(row, []))
            for row in rows
        ),
    )


def _is_reference(series: Series) -> bool:
    return series.style.line == "thin"


def x_scale(figure: Figure) -> Scale:
    """Return the scale of x."""
    xs = [*figure.xs, *figure.x.include]
    if figure.x.scale == "auto" and grow_by_one_factor(sorted(xs)):
        return fit_log(xs, LEFT, WIDTH - RIGHT, pad=0.07)
    return fit_axis(figure.x, xs, LEFT, WIDTH - RIGHT, pad=0.07)


def _draw(
    series: Series, row: int, x: Scale, y: Scale, shift: float, texts: list[Element]
) -> Drawn:
    # With markers, integer x coordinates save space; values are drawn to a tenth.
    places = [x(point.x) + shift for point in series.points]
    if series.style.marker is not None:
        places = [float(round(place)) for place in places]
    points = [(px, y(point.y)) for px, point in zip(places, series.points, strict=True)]
    paths = {}
    if series.style.band:
        paths["a"] = _band(series, places, y)
    else:
        paths["e"] = "".join(
            f"M{coordinate(px)} {y(point.low):.0f}V{y(point.high):.0f}"
            for px, point in zip(places, series.points, strict=True)
            if point.high > point.low
        )
    if series.across and len(points) == 1:
        paths["l bare"] = f"M{LEFT} {coordinate(points[0][1])}H{WIDTH - RIGHT}"
    return draw_series(row, points, paths, texts)


def _band(series: Series, places: list[float], y: Scale) -> str:
    if not series.has_intervals:
        return ""
    along = list(zip(places, series.points, strict=True))
    edge = [(px, y(point.high)) for px, point in along]
    edge += [(px, y(point.low)) for px, point in reversed(along)]
    return "M" + " ".join(f"{coordinate(px)} {coordinate(py)}" for px, py in edge) + "z"


def _shifts(figure: Figure, x: Scale) -> dict[int, float]:
    """Return horizontal shifts of series, so that error bars do not cover each other."""
    moving = [
        row
        for row, series in enumerate(figure.series)
        if not _is_reference(series) and not series.style.band and series.style.marker is not None
    ]
    gap = min((x(b) - x(a) for a, b in pairwise(figure.xs)), default=float(WIDTH))
    step = min(_DODGE, 0.5 * gap / max(len(moving), 1))
    return {row: step * (rank - (len(moving) - 1) / 2) for rank, row in enumerate(moving)}


def _labels(figure: Figure, x: Scale, y: Scale) -> dict[int, list[Element]]:
    """Return the names of references at their lines, if there is room, with a halo."""
    names = [series.name if _is_reference(series) else None for series in figure.series]
    paths = [[(x(p.x), y(p.y)) for p in series.points] for series in figure.series]
    places = place_labels(names, paths, LEFT, TOP - 12, HEIGHT - BOTTOM)
    return {
        row: [
            write_text(label.name, label.right, label.foot, style)
            for style in ("small end halo", "small end")
        ]
        for row, label in places.items()
    }


def _axes(figure: Figure, x: Scale, y: Scale) -> tuple[Element, ...]:
    heights = [(value, y(value)) for value in y.ticks()]
    widest = max(len(number(value)) for value in figure.xs)
    places = [(value, x(value)) for value in x.ticks_at(figure.xs, 7 * widest + 8)]
    bottom = HEIGHT - BOTTOM
    lines = "".join(f"M{LEFT} {coordinate(at)}H{WIDTH - RIGHT}" for _, at in heights)
    stops = "".join(f"M{coordinate(at)} {bottom}v5" for _, at in places)
    rows = (write_text(number(value), LEFT - 8, at + 4) for value, at in heights)
    columns = (write_text(number(value), at, bottom + 18) for value, at in places)
    middle = (LEFT + WIDTH - RIGHT) // 2
    return (
        make("path", {"class": "grid", "d": lines}),
        make("path", {"class": "axis", "d": f"M{LEFT} {bottom}H{WIDTH - RIGHT}{stops}"}),
        make("g", {"class": "soft end"}, rows),
        make("g", {"class": "soft middle"}, columns),
        write_text(axis_name(figure.x, x), middle, HEIGHT - 8, "ink middle"),
        value_title(figure, y),
    )
