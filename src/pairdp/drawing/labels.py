"""Positions for the names of lines in a plot that cover no other line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Points = Sequence[tuple[float, float]]
_LETTER = 5.9
_ABOVE, _BELOW = -6.0, 14.0  # from a line to the foot of letters above or below it
_HEIGHT = 11.0
_MARGIN = 5.0  # half a marker


@dataclass(frozen=True)
class Label:
    """A name whose baseline ends at (``right``, ``foot``)."""

    name: str
    right: float
    foot: float

    @property
    def left(self) -> float:
        """Approximately where the name starts."""
        return self.right - _LETTER * len(self.name)


def place_labels(
    names: Sequence[str | None], lines: Sequence[Points], left: float, top: float, bottom: float
) -> dict[int, Label]:
    """Return positions for the names at their lines; names without room are left out.

    Parameters
    ----------
    names : sequence of str or None
        The name of each line, or None.
    lines : sequence of sequences of points
        The points of each line on the page, from left to right.
    left, top, bottom : float
        Edges of the plot.
    """
    placed: dict[int, Label] = {}
    for i, name in enumerate(names):
        if name is None:
            continue
        others = [line for j, line in enumerate(lines) if j != i]
        for label in _candidates(name, lines[i]):
            inside = label.left >= left and label.foot - _HEIGHT >= top and label.foot <= bottom
            if inside and not _is_taken(label, others, placed.values()):
                placed[i] = label
                break
    return placed


def _candidates(name: str, line: Points) -> list[Label]:
    first = line[0][0] + _LETTER * len(name)
    rights = [line[-1][0], *(px for px, _ in reversed(line[:-1])), first]
    return [
        Label(name, right, _height(line, right) + side)
        for right in rights
        for side in (_ABOVE, _BELOW)
    ]


def _height(line: Points, at: float) -> float:
    return float(_heights(line, np.array([at]))[0])


def _heights(line: Points, at: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.interp(at, [px for px, _ in line], [py for _, py in line])


def _is_taken(label: Label, lines: Sequence[Points], labels: Iterable[Label]) -> bool:
    across = np.linspace(label.left, label.right, 12)
    high, low = label.foot - _HEIGHT - _MARGIN, label.foot + _MARGIN
    for line in lines:
        near = across[(across >= line[0][0] - _MARGIN) & (across <= line[-1][0] + _MARGIN)]
        heights = _heights(line, near)
        if np.any((heights > high) & (heights < low)):
            return True
    return any(_touch(label, other) for other in labels)


def _touch(one: Label, other: Label) -> bool:
    beside = one.left < other.right and other.left < one.right
    return beside and abs(one.foot - other.foot) < _HEIGHT + 2
