"""The released numbers of a model as figures, with the noise in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pairdp.drawing import Axis, Figure, Point, Series, Style
from pairdp.report.card import MetricAxis, ModelCard, Weight, scorecard_of
from pairdp.report.columns import last_step

MOST_BARS = 30
_DIRECTIONS = 3


def model_figures(model: Any, card: ModelCard) -> tuple[Figure, ...]:
    """Return the figures of a model: shapes of a scorecard, directions of a metric, or weights."""
    scorecard = scorecard_of(last_step(model))
    if scorecard is not None:
        return tuple(scorecard.figures())
    names = [weight.name for weight in card.weights]
    if card.axes:
        return tuple(
            _direction(number, axis, names)
            for number, axis in enumerate(card.axes[:_DIRECTIONS], start=1)
        )
    return (_weights(card),) if card.weights else ()


def plot_model(model: Any, card: ModelCard, column: str | None = None, ax: Any = None) -> Any:
    """Draw a model on axes of matplotlib.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted model, and its card.
    card : ModelCard
        The card of the model.
    column : str, optional
        Which figure of several: a column of a scorecard, or a direction of a metric.
    ax : matplotlib.axes.Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes, or an array of them if there are several figures and none is chosen.
    """
    from pairdp.drawing.matplotlib_axes import new_axes, plot_figure

    figures = model_figures(model, card)
    if not figures:
        raise ValueError(f"a {card.kind} has no weights to draw")
    if column is not None:
        found = [figure for figure in figures if figure.title == column]
        if not found:
            known = ", ".join(repr(figure.title) for figure in figures)
            raise ValueError(f"there is no figure {column!r}; there are {known}")
        return plot_figure(found[0], ax)
    if len(figures) == 1:
        return plot_figure(figures[0], ax)
    if ax is not None:
        titles = ", ".join(repr(figure.title) for figure in figures)
        raise ValueError(f"one of several figures fits on ax: choose column among {titles}")
    columns = min(3, len(figures))
    grid = new_axes(figures, columns)
    for place, figure in zip(grid.ravel(), figures, strict=False):
        plot_figure(figure, place)
    for place in grid.ravel()[len(figures) :]:
        place.set_axis_off()
    return grid


def _weights(card: ModelCard) -> Figure:
    largest = sorted(card.weights, key=lambda weight: -abs(weight.value))[:MOST_BARS]
    more = len(card.weights) - len(largest)
    title = "Weights" if card.weights_are == "weights" else card.weights_are.capitalize()
    at_most = "at most " if card.noise.kind == "bound" else ""
    return Figure(
        f"{title}: the {len(largest)} largest of {len(card.weights)}" if more else title,
        Axis(""),
        Axis(card.weights_are if card.weights_are != "weights" else "weight", scale="linear"),
        _bars(largest),
        mark="bar",
        description=f"{title} by name, largest first",
        intervals=f"{at_most}two standard deviations of the noise",
    )


def _bars(weights: Sequence[Weight]) -> tuple[Series, ...]:
    return tuple(
        Series(
            weight.name,
            (Point(0.0, weight.value, _interval(weight)),),
            Style(color=1 if weight.value >= 0 else 0),
        )
        for weight in weights
    )


def _interval(weight: Weight) -> tuple[float, float] | None:
    if weight.noise is None:
        return None
    return weight.value - 2 * weight.noise, weight.value + 2 * weight.noise


def _direction(number: int, axis: MetricAxis, names: Sequence[str]) -> Figure:
    loadings = [Weight(name, value, None) for name, value in zip(names, axis.loadings, strict=True)]
    loadings.sort(key=lambda weight: -abs(weight.value))
    return Figure(
        f"Direction {number}",
        Axis(""),
        Axis("loading", scale="linear"),
        _bars(loadings[:MOST_BARS]),
        mark="bar",
        description=f"Loadings of direction {number}, which has the eigenvalue "
        f"{axis.eigenvalue:.3g}, largest first",
    )
