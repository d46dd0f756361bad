"""Fit a private model to a synthetic hospital's table, evaluate it, and write the report.

Usage: python examples/report_hospital.py report.html [--png docs/report.png]

With ``--png``, Chromium takes a picture of two parts of the page; it needs selenium and Pillow. The
noise is secret, so each run gives other numbers.
"""

from __future__ import annotations

import argparse
import io
import shutil
from pathlib import Path
from typing import Any

from pairdp import Budget, BudgetLedger, PrivateRanker, evaluate
from pairdp.demo.hospital_table import COLUMNS, patients

SCHEMA: dict[str, Any] = {
    "patient_id": "id",
    "age": [0, 120],
    "sex": ["F", "M"],
    "systolic": {"range": [60, 260], "missing": "indicator"},
    "crp": {"range": [0.1, 500], "scale": "log", "missing": 5.0},
    "ward": {"categories": ["ICU", "Surgery", "Medicine, general"], "other": True},
    "admitted": {"date": ["2023-01-01", "2025-01-01"]},
    "remarks": "ignore",
    "died": {"label": ["no", "yes"]},
}
SEED = 1
TRAIN, TEST = 10_000, 4_000
WIDTH, HEIGHT = 900, 1480
PARTS = ("header", "#model")  # what the picture shows


def columns(start: int, stop: int) -> dict[str, list[str]]:
    """Return some rows of the table, by column."""
    rows = patients(TRAIN + TEST, SEED)[start:stop]
    return dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))


def main() -> None:
    """Fit, evaluate, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--png", type=Path)
    given = parser.parse_args()
    ledger = BudgetLedger(Budget(2.0, 1e-6), data_set="admissions 2023 and 2024")
    model = PrivateRanker(
        1.0, 1e-6, schema=SCHEMA, ledger=ledger, data_set="admissions 2023 and 2024"
    )
    model.fit(columns(0, TRAIN))
    test = columns(TRAIN, TRAIN + TEST)
    found = evaluate(
        model, test, epsilon=0.5, roc=True, ledger=ledger, data_set="admissions 2023 and 2024"
    )
    model.report(given.path, evaluation=found)
    print(f"Wrote {given.path}")
    if given.png is not None:
        given.png.write_bytes(picture(given.path))
        print(f"Wrote {given.png}")


def picture(page: Path) -> bytes:
    """Return two parts of a page, side by side, as a PNG file with a palette."""
    from PIL import Image
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    both = Image.new("RGB", (2 * WIDTH, HEIGHT))
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    try:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(page.resolve().as_uri())
        for place, name in enumerate(PARTS):
            browser.execute_script(
                "const top = document.querySelector(arguments[0]).offsetTop - 24;"
                "scrollTo({top, behavior: 'instant'})",
                name,
            )
            part = Image.open(io.BytesIO(browser.get_screenshot_as_png()))
            both.paste(part, (place * WIDTH, 0))
    finally:
        browser.quit()
    file = io.BytesIO()
    small = both.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    small.save(file, "PNG", optimize=True)
    return file.getvalue()


if __name__ == "__main__":
    main()
