"""Colours of pages and files; colour-blind readers can distinguish those of series."""

from __future__ import annotations

SERIES = 7  # colours of series; the one after them is grey
GREY = SERIES
LIGHT = {
    "page": "#f6f7f9", "card": "#ffffff", "ink": "#1b1f24", "soft": "#57606a", "line": "#d5dae0",
    "grid": "#e7eaee", "link": "#0b5cad", "warn": "#fff4d6", "warn-edge": "#c98a00",
    "yes": "#1a6e3c", "no": "#b3261e",
    "c0": "#c23200", "c1": "#1645c6", "c2": "#197f4f", "c3": "#8c1e90", "c4": "#e77b00",
    "c5": "#4d95ff", "c6": "#4d3343", "c7": "#7b838c",
}  # fmt: skip
DARK = {
    "page": "#101418", "card": "#191f25", "ink": "#e8ecf0", "soft": "#a5b0bb", "line": "#39434d",
    "grid": "#28313a", "link": "#7fbcff", "warn": "#33290f", "warn-edge": "#d9a520",
    "yes": "#6fd69a", "no": "#ff8f85",
    "c0": "#ff6f3a", "c1": "#3784ff", "c2": "#3fe08a", "c3": "#f29fff", "c4": "#ece04a",
    "c5": "#b0eeff", "c6": "#a86750", "c7": "#8d97a1",
}  # fmt: skip


def theme_css() -> str:
    """Return the variables of both themes; ``data-theme`` overrides the system's preference.

    Paper is always light.
    """
    light, dark = (
        "".join(f"--{name}: {value};" for name, value in colors.items()) + f"color-scheme: {scheme}"
        for scheme, colors in (("light", LIGHT), ("dark", DARK))
    )
    series = "".join(f".c{i}{{--c:var(--c{i})}}" for i in range(SERIES + 1))
    return (
        f':root{{{light}}}@media screen{{:root[data-theme="dark"]{{{dark}}}}}'
        "@media screen and (prefers-color-scheme: dark)"
        f'{{:root:not([data-theme="light"]){{{dark}}}}}{series}'
    )


def mix(color: str, share: float) -> str:
    """Return a colour such as "#c23200", mixed with white."""
    parts = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(share * part + (1 - share) * 255):02x}" for part in parts)
