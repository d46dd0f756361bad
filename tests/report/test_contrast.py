"""Contrast of the colours that texts of a report have, computed without a browser."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from pairdp.drawing.colors import DARK, LIGHT
from tests.drawing.test_colors import TO_XYZ, linear

CSS = files("pairdp.report").joinpath("report.css").read_text("utf-8")


def ratio(one: str, other: str) -> float:
    low, high = sorted(float(TO_XYZ[1] @ linear(color)) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_stand_out_from_what_is_behind_them(colors: dict[str, str]) -> None:
    texts = set(re.findall(r"[{; ]color: var\(--([\w-]+)\)", CSS)) | {"ink", "soft", "link"}
    assert {"soft", "yes", "no"} <= texts
    for text in texts:
        for ground in ("page", "card"):
            assert ratio(colors[text], colors[ground]) >= 4.5, (text, ground)
    for text in ("ink", "no"):
        assert ratio(colors[text], colors["warn"]) >= 4.5


def test_all_colours_of_the_page_are_of_the_themes() -> None:
    named = set(re.findall(r"var\(--([\w-]+)\)", CSS))
    assert named <= set(LIGHT)
    assert set(re.findall(r"#[0-9a-f]{6}", CSS)) <= {LIGHT["soft"]}  # of page numbers on paper
