"""A report in a real browser: light and dark, on a phone, by keyboard, and on paper."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pairdp.drawing.colors import DARK, LIGHT
from tests.drawing.browser import start_browser
from tests.drawing.test_colors import TO_XYZ, linear
from tests.report.models import html_of

CONTRAST = """
const seen = [];
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !element.checkVisibility() || element.closest("script, style")) continue;
  const style = getComputedStyle(element);
  let behind = element;
  const clear = (c) => c === "rgba(0, 0, 0, 0)" || c === "transparent";
  while (behind && clear(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
  const color = element instanceof SVGElement ? style.fill : style.color;
  const ground = behind ? getComputedStyle(behind).backgroundColor : "rgb(255, 255, 255)";
  seen.push([element.tagName + "." + (element.getAttribute("class") || ""), color, ground]);
}
return seen;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    directory: Path = tmp_path_factory.mktemp("report")
    with start_browser(directory / "profile") as browser:
        browser.directory = directory
        yield browser


def open_page(browser: Any, html: str, *, width: int = 1100, dark: bool = False) -> None:
    path: Path = browser.directory / "report.html"
    path.write_text(html, "utf-8")
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.get(path.as_uri())


def luminance(color: str) -> float:
    found = [int(float(part)) for part in re.findall(r"[\d.]+", color)[:3]]
    return float(TO_XYZ[1] @ linear("#" + "".join(f"{part:02x}" for part in found)))


def ratio(color: str, ground: str) -> float:
    low, high = sorted((luminance(color), luminance(ground)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", ["scorecard", "not private"])
def test_all_text_has_contrast_and_the_console_is_empty(
    browser: Any, kind: str, dark: bool
) -> None:
    open_page(browser, html_of(kind, evaluated=kind == "scorecard"), dark=dark)
    browser.execute_script("document.querySelectorAll('details').forEach((d) => d.open = true)")
    seen = browser.execute_script(CONTRAST)
    assert len(seen) > 100
    grounds = {tuple(map(int, re.findall(r"\d+", ground)[:3])) for _, _, ground in seen}
    page = (DARK if dark else LIGHT)["page"]
    assert tuple(int(page[i : i + 2], 16) for i in (1, 3, 5)) in grounds
    low = {(name, color) for name, color, ground in seen if ratio(color, ground) < 4.5}
    assert not low
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [320, 390, 768, 1100])
def test_nothing_needs_sideways_scrolling(browser: Any, width: int) -> None:
    open_page(browser, html_of("scorecard", evaluated=True), width=width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    wide = browser.execute_script(
        """
        document.querySelectorAll("details").forEach((d) => d.open = true);
        return [...document.querySelectorAll("main *")]
          .filter((e) => !e.closest(".scroll, svg") && e.getBoundingClientRect().right > innerWidth + 1)
          .map((e) => e.tagName + "#" + e.id);
        """  # noqa: E501
    )
    assert wide == []


def test_links_tables_and_plots_are_reached_by_keyboard(browser: Any) -> None:
    open_page(browser, html_of("scorecard", evaluated=True))
    counts = browser.execute_script(
        """
        const reachable = (e) => e.tabIndex >= 0;
        const share = (selector) => {
          const all = [...document.querySelectorAll(selector)];
          return [all.length, all.filter(reachable).length];
        };
        return ["nav a", ".scroll[role=region]", "svg.plot", "summary"].map(share);
        """
    )
    assert all(found == reachable > 0 for found, reachable in counts)
    plot = browser.find_elements("css selector", "svg.plot")[0]
    browser.execute_script("arguments[0].focus({focusVisible: true})", plot)
    assert "FPR = 0" in browser.find_element("css selector", "#tip").text


def test_the_page_is_complete_without_scripts(browser: Any) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        open_page(browser, html_of("scorecard", evaluated=True))
        assert len(browser.find_elements("css selector", "svg.plot")) > 5
        assert browser.find_element("css selector", "#signature").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_it_prints_in_light_colours_on_few_pages(browser: Any) -> None:
    open_page(browser, html_of("scorecard", evaluated=True), dark=True)
    browser.execute_script("document.documentElement.dataset.theme = 'dark'")
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    document = base64.b64decode(printed["data"])
    assert document.startswith(b"%PDF")
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b", document)) <= 14
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": dark})
    found = browser.execute_script(
        """
        const style = (selector) => getComputedStyle(document.querySelector(selector));
        return [style("body").color, style("nav").display, style(".sign").backgroundColor];
        """
    )
    assert luminance(found[0]) < 0.05
    assert found[1] == "none"
    assert luminance(found[2]) > 0.9
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
