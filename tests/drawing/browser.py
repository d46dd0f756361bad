"""A real browser without a window, for tests that look at a page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-prefers-reduced-motion",  # no smooth scrolling under a click
    "--window-size=1280,900",
)


def find_browser() -> str:
    """Return the path of Chromium, from PAIRDP_CHROMIUM or the PATH; skip the test without one."""
    named = os.environ.get("PAIRDP_CHROMIUM")
    found = [named] if named else [path for name in BROWSERS if (path := shutil.which(name))]
    if not found:
        pytest.skip("no Chromium: install chromium and chromium-driver, or set PAIRDP_CHROMIUM")
    return found[0]


def find_driver() -> str:
    """Return the path of Chromium's driver; skip the test without one."""
    driver = os.environ.get("PAIRDP_CHROMEDRIVER") or shutil.which("chromedriver")
    if not driver:  # without a path, selenium would try to download one
        pytest.skip("no chromedriver: install chromium-driver, or set PAIRDP_CHROMEDRIVER")
    return driver


@contextmanager
def start_browser(profile: Path) -> Iterator[Any]:
    """Run a browser with an empty profile that notes every request and every console message."""
    binary, driver = find_browser(), find_driver()
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield browser
    finally:
        browser.quit()
