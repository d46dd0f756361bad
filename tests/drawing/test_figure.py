from __future__ import annotations

from dataclasses import replace

import pytest

from pairdp.drawing import Axis, Figure, Point, Series
from tests.drawing.figures import coefficients, privacy_curve


@pytest.mark.parametrize(
    ("point", "problem"),
    [
        ((0.0, float("nan")), "finite"),
        ((float("inf"), 1.0), "finite"),
        ((0.0, 1.0, (0.0, float("inf"))), "finite"),
        ((0.0, 1.0, (1.5, 2.0)), "contain"),
    ],
)
def test_points_are_finite_and_lie_in_their_intervals(point: tuple, problem: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ValueError, match=problem):
        Point(*point)


@pytest.mark.parametrize("xs", [(), (1.0, 0.0), (1.0, 1.0)])
def test_a_series_has_points_in_order(xs: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="series must"):
        Series("", tuple(Point(x, 0.0) for x in xs))


def test_figures_that_cannot_be_drawn_are_refused() -> None:
    one = Series("", (Point(1.0, 1.0),))
    two = Series("", (Point(1.0, 1.0), Point(2.0, 0.0)))
    with pytest.raises(ValueError, match="must have a series"):
        Figure("", Axis(""), Axis(""), ())
    with pytest.raises(ValueError, match="one point"):
        Figure("", Axis(""), Axis(""), (two,), mark="bar")
    with pytest.raises(ValueError, match="zero"):
        Figure("", Axis(""), Axis("", scale="log"), (one,), mark="bar")
    with pytest.raises(ValueError, match="positive"):
        Figure("", Axis(""), Axis("", scale="log"), (two,))
    with pytest.raises(ValueError, match="positive"):
        replace(privacy_curve(), x=Axis("", scale="log", include=(0.0,)))


def test_a_point_without_a_name_of_x_is_called_by_its_measure() -> None:
    assert privacy_curve().x_text("0.5") == "ε = 0.5"
    assert coefficients(1.0).x_text("0") == "coefficient"
