from __future__ import annotations

import pytest

from pairdp.drawing.text import coordinate, escape, measured, number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (0.5, "0.5"), (256, "256"), (-0.25, "−0.25"), (1e-7, "10⁻⁷"),
        (2.5e-7, "2.5×10⁻⁷"), (1e6, "10⁶"), (-3e8, "−3×10⁸"), (0.00390625, "0.00390625"),
        (0.1 + 0.2, "0.3"), (123456, "123456"),
    ],
)  # fmt: skip
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.64683, "0.6468"), (0.0, "0.0000"), (8.3, "8.300"), (40.3, "40.30"), (4030.2, "4030"),
        (-0.5, "−0.5000"), (1e-5, "10⁻⁵"), (123456.7, "123500"), (1.2345e7, "1.234×10⁷"),
    ],
)  # fmt: skip
def test_measured_numbers_have_four_digits(value: float, text: str) -> None:
    assert measured(value) == text


def test_a_width_has_the_decimals_of_its_mean() -> None:
    assert measured(1.55761, 40.3) == "1.56"
    assert measured(0.0123456, 0.75) == "0.0123"
    assert measured(0.00001, 40.3) == "10⁻⁵"


def test_text_means_itself() -> None:
    assert escape('<a href="x">\'&') == "&lt;a href=&quot;x&quot;&gt;&#x27;&amp;"
    assert [coordinate(v) for v in (1.0, 1.25, -0.01, 480.04)] == ["1", "1.2", "0", "480"]


def test_control_characters_and_directions_of_text_are_replaced() -> None:
    hostile = "\ud800age\x00\x1b[2J\u202e0 = ε\u2069\u200f"
    assert escape(hostile) == "\ufffdage\ufffd\ufffd[2J\ufffd0 = ε\ufffd\ufffd"
    assert escape("two\nlines\tof <b>") == "two\nlines\tof &lt;b&gt;"
