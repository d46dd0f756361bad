"""A page of figures such as reports on models have, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pairdp.drawing import write_group, write_page
from tests.drawing.browser import start_browser
from tests.drawing.figures import coefficients, privacy_curve, roc

FIGURES = (roc(), privacy_curve(), coefficients(0.5, -0.25, 1.0))


def make_page() -> str:
    body = "".join(write_group(figure.title, [figure]) for figure in FIGURES)
    return write_page("A model", body, FIGURES)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    directory: Path = tmp_path_factory.mktemp("page")
    path = directory / "page.html"
    path.write_text(make_page(), "utf-8")
    with start_browser(directory / "profile") as browser:
        browser.get(path.as_uri())
        yield browser


def tip(page: Any, figure: int, keys: str = "") -> str:
    """Return what the tooltip says after a figure got the focus and keys were pressed."""
    plot = page.find_elements("css selector", "svg.plot")[figure]
    page.execute_script("arguments[0].blur(); arguments[0].focus({focusVisible: true})", plot)
    if keys:
        plot.send_keys(keys)
    return str(page.find_element("css selector", "#tip").text)


def test_every_point_has_a_tooltip_and_nothing_is_on_the_console(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    assert "chance\nFPR = 0: 0.0000" in tip(page, 0)  # references lie behind, so they come first
    assert "model\nFPR = 0.05: 0.4071" in tip(page, 0, Keys.ARROW_DOWN + Keys.ARROW_RIGHT)
    assert "95 % intervals: ± 0.0500" in tip(page, 0, Keys.ARROW_DOWN + Keys.ARROW_RIGHT)
    assert "Gaussian\nε = 0.1: 0.0079" in tip(page, 1)
    assert "feature 1\ncoefficient: −0.2500" in tip(page, 2, Keys.ARROW_DOWN)
    assert page.get_log("browser") == []


def test_points_and_cells_are_one_to_one(page: Any) -> None:
    found = page.execute_script(
        """
        return [...document.querySelectorAll("figure")].map((figure) => {
          figure.querySelector("svg").dispatchEvent(new PointerEvent("pointermove"));
          const points = figure.querySelector("svg").points;
          return [points.length, points.every((point) => point.at.every(Number.isFinite))];
        });
        """
    )
    counts = [sum(len(series.points) for series in figure.series) for figure in FIGURES]
    assert found == [[count, True] for count in counts]


def test_bars_have_no_markers_and_bands_are_pale(page: Any) -> None:
    styles = page.execute_script(
        """
        const style = (selector, name) => getComputedStyle(document.querySelector(selector))[name];
        return [style("svg.plot .b ~ .l", "markerStart"), style("svg.plot .a", "opacity"),
                style("svg.plot .a", "fill") === style("svg.plot .a ~ .l", "stroke")];
        """
    )
    assert styles == ["none", "0.18", True]


def test_a_series_can_be_hidden(page: Any) -> None:
    button = page.find_element("css selector", ".legend button[aria-label='model']")
    group = page.find_element(
        "css selector", f"svg.plot g[data-k='{button.get_attribute('data-k')}']"
    )
    button.click()
    assert not group.is_displayed()
    button.click()
    assert group.is_displayed()
