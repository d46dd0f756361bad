"""Lines over x with error bars, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pairdp.report.figures import Line, Plot
from pairdp.report.labels import place_labels
from pairdp.report.looks import Looks
from pairdp.report.scales import Scale, fit, fit_log, grow_by_one_factor
from pairdp.report.text import coordinate, escape, number

WIDTH, HEIGHT = 480, 310
LEFT, RIGHT, TOP, BOTTOM = 54, 14, 28, 46
X_NAMES = {"ε": "privacy budget ε", "n": "training records n", "d": "features d"}
_LINEAR = ("auc", "accuracy")  # between 0 and 1, where ratios mean little
_DODGE = 4.0


def draw_lines(plot: Plot, looks: Looks) -> str:
    """Return the SVG of a plot with several values of x."""
    fit_x = fit_log if grow_by_one_factor(plot.xs) else fit
    x = fit_x(plot.xs, LEFT, WIDTH - RIGHT, pad=0.07)
    y = value_scale(plot, HEIGHT - BOTTOM, TOP)
    shifts = _shifts(plot, x)
    labels = _labels(plot.lines, x, y)
    rows = sorted(range(len(plot.lines)), key=lambda row: plot.lines[row].kind != "baseline")
    drawn = [  # baselines first: they lie behind the others
        _line(plot, row, looks, x, y, shifts.get(row, 0.0)) + labels.get(row, "") + "</g>"
        for row in rows
    ]
    return frame(
        plot, HEIGHT, _grid(plot, x, y) + "".join(drawn), "with 95 % intervals of the means"
    )


def value_scale(plot: Plot, start: float, end: float) -> Scale:
    """Return the scale of the values and their intervals."""
    means = [cell.mean for cell in plot.whole]
    ends = [bound for cell in plot.whole for bound in (cell.low, cell.high)]
    scale = fit(means, start, end, may_be_log=plot.measure.lower() not in _LINEAR)
    if scale.log:  # an interval that reaches zero is cut off at the axis
        return fit(means + [bound for bound in ends if bound >= scale.low], start, end)
    return fit(means + ends, start, end, may_be_log=False)


def frame(plot: Plot, height: float, content: str, what: str) -> str:
    """Return the SVG element around a drawing."""
    where = f" on {plot.panel}" if plot.panel else ""
    how = f", {plot.conditions}" if plot.conditions else ""
    words = f"{plot.measure} over {plot.x_name}{where}{how}, {what}"
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {coordinate(height)}" role="group" '
        f'aria-label="{escape(words)}">{content}</svg>'
    )


def marks(
    line: Line, row: int, looks: Looks, points: Sequence[tuple[float, float]], bars: str
) -> str:
    """Return the opening of a line's group: its error bars, its line and its markers.

    ``row`` is the line's row in the table, where the page's script finds the values.
    """
    path = " ".join(f"{coordinate(px)} {coordinate(py)}" for px, py in points)
    if len(points) == 1:
        path += f" {path}"  # a path of one point would have no marker
    errors = f'<path class=e d="{bars}"/>' if bars else ""
    return (
        f'<g class="{looks.classes(line)}" data-k={looks.key(line)} data-row={row}>'
        f'{errors}<path class=l d="M{path}"/>'
    )


def _line(plot: Plot, row: int, looks: Looks, x: Scale, y: Scale, shift: float) -> str:
    line = plot.lines[row]
    # Means are drawn to a tenth of a unit; for the rest, whole units save space.
    places = [(round(x(cell.x) + shift), y(cell.mean)) for cell in line.cells]
    bars = "".join(
        f"M{px} {y(cell.low):.0f}V{y(cell.high):.0f}"
        for (px, _), cell in zip(places, line.cells, strict=True)
        if cell.high > cell.low
    )
    group = marks(line, row, looks, places, bars)
    if line.kind == "baseline" and len(places) == 1 and plot.x_name == "ε":
        # What has no noise is the same at every ε.
        height = coordinate(places[0][1])
        group += f'<path class="l bare" d="M{LEFT} {height}H{WIDTH - RIGHT}"/>'
    return group


def _shifts(plot: Plot, x: Scale) -> dict[int, float]:
    """Return how far each line is moved sideways, so that error bars do not hide each other."""
    moving = [i for i, line in enumerate(plot.lines) if line.kind != "baseline"]
    places = [x(value) for value in plot.xs]
    gap = min(b - a for a, b in pairwise(places))
    step = min(_DODGE, 0.5 * gap / max(len(moving), 1))
    return {i: step * (rank - (len(moving) - 1) / 2) for rank, i in enumerate(moving)}


def _labels(lines: Sequence[Line], x: Scale, y: Scale) -> dict[int, str]:
    """Return the names of baselines, at their lines where there is room."""
    names = [line.series if line.kind == "baseline" else None for line in lines]
    paths = [[(x(cell.x), y(cell.mean)) for cell in line.cells] for line in lines]
    places = place_labels(names, paths, LEFT, TOP - 12, HEIGHT - BOTTOM)
    return {
        i: f'<text class="name" x="{coordinate(label.right)}" y="{coordinate(label.foot)}">'
        f"{escape(label.name)}</text>"
        for i, label in places.items()
    }


def _grid(plot: Plot, x: Scale, y: Scale) -> str:
    heights = [(value, coordinate(y(value))) for value in y.ticks()]
    widest = max(len(number(value)) for value in plot.xs)
    places = [(value, coordinate(x(value))) for value in x.ticks_at(plot.xs, 7 * widest + 8)]
    bottom = HEIGHT - BOTTOM
    lines = "".join(f"M{LEFT} {at}H{WIDTH - RIGHT}" for _, at in heights)
    stops = "".join(f"M{at} {bottom}v5" for _, at in places)
    rows = "".join(f"<text x={LEFT - 8} y={at}>{number(value)}</text>" for value, at in heights)
    columns = "".join(
        f"<text x={at} y={bottom + 18}>{number(value)}</text>" for value, at in places
    )
    middle = (LEFT + WIDTH - RIGHT) // 2
    kind = " (log scale)" if x.log else ""
    name = X_NAMES.get(plot.x_name, plot.x_name) + kind
    return (
        f'<path class="grid" d="{lines}"/><path class="axis" d="M{LEFT} {bottom}H{WIDTH - RIGHT}'
        f'{stops}"/><g class="rows">{rows}</g><g class="columns">{columns}'
        f'<text class="title" x="{middle}" y="{HEIGHT - 8}">{escape(name)}</text></g>'
        + value_title(plot, y)
    )


def value_title(plot: Plot, scale: Scale) -> str:
    """Return the name of the measured value, above its axis."""
    kind = " (log scale)" if scale.log else ""
    return f'<text class="title" x="4" y="16">{escape(plot.measure + kind)}</text>'
