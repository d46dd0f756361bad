from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pairdp import verify
from pairdp.privacy.certificates.certificate import Certificate
from pairdp.studies.report import write_report
from tests.drawing.browser import start_browser
from tests.studies.report.synthetic import make_results

pytestmark = pytest.mark.slow

HOSTILE = '</script><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with start_browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(make_results(), path, [HOSTILE, "auto is better in 8 of 8 cells."])
    return path.as_uri()


@pytest.fixture
def page(browser: Any, address: str) -> Any:
    set_scheme(browser, "light")
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(address)
    return browser


def set_scheme(browser: Any, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def find(page: Any, selector: str) -> Any:
    return page.find_element("css selector", selector)


def wait_for(page: Any, script: str) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(page, 10).until(lambda driver: driver.execute_script(script))


def point_at(page: Any, selector: str, index: int = 0) -> None:
    """Move the pointer to a point of the line that ``selector`` finds."""
    from selenium.webdriver.common.action_chains import ActionChains

    group = find(page, selector)
    page.execute_script("arguments[0].closest('svg').scrollIntoView({block: 'center'})", group)
    svg, dx, dy = page.execute_script(
        """
        const [group, i] = arguments, svg = group.closest("svg");
        const at = group.querySelector(".l").getAttribute("d").slice(1).split(" ").map(Number);
        const place = new DOMPoint(at[2 * i], at[2 * i + 1]).matrixTransform(svg.getScreenCTM());
        const box = svg.getBoundingClientRect();
        return [svg, place.x - box.x - box.width / 2, place.y - box.y - box.height / 2];
        """,
        group,
        index,
    )
    ActionChains(page).move_to_element_with_offset(svg, round(dx), round(dy)).perform()


def is_drawn(page: Any, selector: str) -> list[bool]:
    return page.execute_script(
        "return [...document.querySelectorAll(arguments[0])]"
        ".map(element => element.getClientRects().length > 0)",
        selector,
    )


def test_everything_is_drawn_without_a_word_on_the_console(page: Any) -> None:
    drawn = is_drawn(page, "svg.plot g[data-k] .l")
    assert len(drawn) > 60
    assert all(drawn)
    assert page.execute_script("return document.querySelectorAll('figure').length") == 8
    assert page.get_log("browser") == []
    assert page.execute_script("return window.hacked") is None
    assert HOSTILE in find(page, ".headline").text


def test_nothing_is_requested_but_the_page_itself(page: Any, address: str) -> None:
    find(page, "#c1 a").click()
    wait_for(page, "return document.querySelector('dialog').open")
    messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert address in asked
    assert [url for url in asked if url != address and not url.startswith("data:")] == []


def test_the_policy_stops_requests(page: Any) -> None:
    outcome = page.execute_async_script(
        "const done = arguments[0];"
        "fetch('http://127.0.0.1:9/').then(() => done('sent'), () => done('stopped'));"
    )
    assert outcome == "stopped"
    assert any("Content Security Policy" in entry["message"] for entry in page.get_log("browser"))


def test_a_legend_button_hides_and_shows_a_series_in_its_exhibit(page: Any) -> None:
    button = find(page, "#exhibit-1-1 .legend button[aria-label='certified, DPGDSC']")
    lines = f"#exhibit-1-1 svg.plot g[data-k='{button.get_attribute('data-k')}'] .l"
    others = f"svg.plot g:not([data-k='{button.get_attribute('data-k')}']) .l"
    assert is_drawn(page, lines) == [True] * 4
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert is_drawn(page, lines) == [False] * 4
    assert all(is_drawn(page, others))
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert is_drawn(page, lines) == [True] * 4


def test_a_kind_is_hidden_by_one_button(page: Any) -> None:
    button = find(page, "#exhibit-1-1 .legend button[data-kind='printed']")
    button.click()
    assert not any(is_drawn(page, "#exhibit-1-1 svg.plot g.dotted .l"))
    assert all(is_drawn(page, "#exhibit-1-1 svg.plot g.solid .l"))
    pressed = page.execute_script(
        "return [...document.querySelectorAll('#exhibit-1-1 button[data-of=printed]')]"
        ".map(b => b.ariaPressed)"
    )
    assert set(pressed) == {"false"}


def test_pointing_at_a_marker_shows_its_values(page: Any) -> None:
    results = make_results()
    cell = next(c for c in results.cells if (c.series, c.protocol, c.x) == ("auto", "paper", 0.8))
    point_at(page, "#exhibit-1-1 svg.plot g.bold", 1)
    text = find(page, "#tip").text
    assert "auto, certified" in text
    assert f"ε = 0.8: mean {cell.mean:.4f}" in text
    assert f"± {cell.high - cell.mean:.4f}" in text
    assert "20 runs" in text
    assert "ε = 0.8, δ = 0.00390625, proved" in text


def test_a_hidden_series_has_no_tooltip(page: Any) -> None:
    point_at(page, "#exhibit-1-1 svg.plot g.bold", 1)
    assert "auto" in find(page, "#tip").text
    find(page, "#exhibit-1-1 .legend button[aria-label='certified, auto']").click()
    point_at(page, "#exhibit-1-1 svg.plot g.bold", 1)
    assert "auto" not in find(page, "#tip").text


def test_the_keyboard_walks_through_the_points_of_a_plot(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    plot = find(page, "#exhibit-1-1 svg.plot")
    page.execute_script("arguments[0].focus({focusVisible: true})", plot)
    first = find(page, "#tip").text
    assert "ε = 0.5" in first
    plot.send_keys(Keys.ARROW_RIGHT)
    assert "ε = 0.8" in find(page, "#tip").text
    plot.send_keys(Keys.ARROW_LEFT)
    assert find(page, "#tip").text == first
    plot.send_keys(Keys.ARROW_DOWN)
    below = find(page, "#tip").text
    assert below.splitlines()[0] != first.splitlines()[0]
    assert "ε = 0.5" in below
    plot.send_keys(Keys.ESCAPE)
    assert not find(page, "#tip").is_displayed()


def test_every_tooltip_agrees_with_its_cell(page: Any) -> None:
    """Every plot's points are one to one with the filled cells of its table."""
    counts = page.execute_script(
        """
        return [...document.querySelectorAll("figure")].map((figure) => {
          figure.querySelector("svg").dispatchEvent(new PointerEvent("pointermove"));
          const cells = [...figure.querySelectorAll("tbody td:nth-child(n+4)")];
          const points = figure.querySelector("svg").points;
          return [points.length, cells.filter((cell) => cell.textContent).length,
                  points.every((point) => point.at.every(Number.isFinite))];
        });
        """
    )
    assert len(counts) == 8
    for points, cells, finite in counts:
        assert points == cells > 0
        assert finite


def test_a_certificate_opens_and_what_is_saved_of_it_can_be_verified(page: Any) -> None:
    details = find(page, "#exhibit-1-1 figure details")
    details.find_element("css selector", "summary").click()
    link = details.find_element("css selector", "td a")
    place = link.get_attribute("href").rpartition("#")[2]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", link)
    link.click()
    wait_for(page, "return document.querySelector('dialog').open")
    assert find(page, "#certificate-name").text == f"Certificate {place}"
    assert "FALSE CLAIM" in find(page, "dialog pre").text
    assert find(page, "#save").get_attribute("download") == f"certificate-{place}.json"
    encoded = page.execute_async_script(
        """
        const done = arguments[0], create = URL.createObjectURL;
        URL.createObjectURL = (blob) => { blob.text().then(done); return create(blob); };
        document.querySelector("dialog").close();
        document.querySelector("#c2 a").click();
        """
    )
    certificate = Certificate.from_json(encoded)
    assert all(check.ok for check in verify(certificate).checks)
    find(page, "#close").click()
    assert not find(page, "dialog").is_displayed()


def test_dark_differs_from_light_and_the_button_overrules_the_system(page: Any) -> None:
    def background() -> str:
        return page.execute_script("return getComputedStyle(document.body).backgroundColor")

    light = background()
    set_scheme(page, "dark")
    dark = background()
    assert dark != light
    find(page, "#theme").click()
    assert background() == light
    find(page, "#theme").click()
    assert background() == dark
    set_scheme(page, "light")
    assert background() == dark
    page.refresh()
    assert background() == light


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_is_no_wider_than_the_window(page: Any, width: int) -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        for details in page.find_elements("css selector", "details"):
            page.execute_script("arguments[0].open = true", details)
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_screenshot_has_the_colours_of_the_series(page: Any, tmp_path: Path) -> None:
    page.execute_script("document.querySelector('#exhibit-1-1 .plots').scrollIntoView()")
    shot = tmp_path / "report.png"
    shot.write_bytes(base64.b64decode(page.get_screenshot_as_base64()))
    colours = page.execute_script(
        "return ['c0', 'c1', 'c2', 'c3'].map(c => getComputedStyle(document.querySelector("
        "`svg.plot g.${c}.solid .l`)).stroke)"
    )
    assert len(set(colours)) == 4
    assert shot.stat().st_size > 20_000


def test_paper_shows_the_tables(page: Any) -> None:
    page.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert (
        page.execute_script("return document.querySelectorAll('details:not([open])').length") == 0
    )
    page.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert page.execute_script("return document.querySelectorAll('details[open]').length") == 0
