from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from numpy.typing import NDArray

from pairdp.drawing.colors import GREY, mix, theme_css

# How colours look without one kind of cone, in linear light: Machado, Oliveira and Fernandes,
# "A physiologically-based model for simulation of color vision deficiency" (2009), severity 1.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]]
    ),
}  # fmt: skip
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
     [0.0193339, 0.1191920, 0.9503041]]
)  # fmt: skip
WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(colour: str) -> NDArray[np.float64]:
    share = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def lab(light: NDArray[np.float64]) -> NDArray[np.float64]:
    x, y, z = (
        np.cbrt(v) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116
        for v in TO_XYZ @ np.clip(light, 0, 1) / WHITE
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def palettes() -> list[tuple[list[str], str]]:
    blocks = re.findall(r"--card: (#\w{6}).*?(--c0:.*?--c7: #\w{6})", theme_css())
    return [(re.findall(r"#\w{6}", block), card) for card, block in blocks]


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_colours_differ_for_every_reader(blindness: str) -> None:
    assert len(palettes()) == 3
    for colours, _ in palettes():
        assert len(colours) == GREY + 1
        seen = [lab(BLINDNESS[blindness] @ linear(colour)) for colour in colours]
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 19


def test_colours_stand_out_from_the_page() -> None:
    for colours, card in palettes():
        ground = TO_XYZ[1] @ linear(card)
        for colour in colours:
            light = TO_XYZ[1] @ linear(colour)
            high, low = max(light, ground), min(light, ground)
            assert (high + 0.05) / (low + 0.05) > 2.85


def test_both_dark_themes_are_one() -> None:
    light, system, chosen = palettes()
    assert system == chosen
    assert light != system


def test_mixing_with_white() -> None:
    assert mix("#000000", 0.0) == "#ffffff"
    assert mix("#c23200", 1.0) == "#c23200"
    assert mix("#0000ff", 0.6) == "#6666ff"
