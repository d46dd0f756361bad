"""Which lines of a block of text are regular: all readers find the same cells in them.

In a regular line every quotation mark begins a cell or ends it, so a cell in quotation marks has
none within, and the number of cells is that of the columns. All other lines are irregular.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.intp]
_LINE_FEED, _QUOTE = 10, 34


def number_of_lines(block: bytes) -> int:
    """Return the number of lines that are not empty; they end in CR, LF or both."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    feeds = np.frombuffer(block, np.uint8) == _LINE_FEED
    empty = np.count_nonzero(feeds[1:] & feeds[:-1]) + bool(feeds[:1].any())
    return int(np.count_nonzero(feeds)) - int(empty) + (not block.endswith(b"\n"))


def quotes_are_regular(block: bytes, mark: int) -> bool:
    """Return whether all quotation marks are at the ends of cells of one line each.

    Parameters
    ----------
    block : bytes
        Lines, each with a line feed at its end; the last one may lack it.
    mark : int
        The byte between cells.
    """
    data = np.frombuffer(block, np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    if len(quotes) % 2 or not _at_ends(data, quotes[::2], quotes[1::2], mark).all():
        return False
    # No line ends between the two marks of a cell.
    lines = np.flatnonzero(data == _LINE_FEED)
    return not bool((np.searchsorted(quotes, lines) % 2).any())


def _at_ends(
    data: NDArray[np.uint8], first: Positions, last: Positions, mark: int
) -> NDArray[np.bool_]:
    before = np.where(first > 0, data[first - 1], _LINE_FEED)
    after = np.where(last + 1 < len(data), data[np.minimum(last + 1, len(data) - 1)], _LINE_FEED)
    begins = (before == mark) | (before == _LINE_FEED)
    ends = (after == mark) | (after == _LINE_FEED)
    return np.asarray(begins & ends)


class Lines(NamedTuple):
    """The lines of a block that are not empty: where they begin and end, and which are regular."""

    starts: Positions
    ends: Positions
    regular: NDArray[np.bool_]


def lines_of(block: bytes, mark: int, width: int) -> Lines:
    """Return the lines of a block, of which regular ones have ``width`` cells."""
    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(data == _LINE_FEED)
    if not len(data) or data[-1] != _LINE_FEED:
        ends = np.append(ends, len(data))
    starts = np.concatenate([[0], ends[:-1] + 1])
    marks, quotes = (np.flatnonzero(data == byte) for byte in (mark, _QUOTE))
    before = np.searchsorted(quotes, starts)  # marks in the lines above
    number = np.searchsorted(quotes, ends) - before
    regular = number % 2 == 0
    line = np.searchsorted(ends, quotes)
    place = np.arange(len(quotes)) - before[line]
    pairs = regular[line]
    first, last = (np.flatnonzero(pairs & (place % 2 == end)) for end in (0, 1))
    wrong = ~_at_ends(data, quotes[first], quotes[last], mark)
    regular[line[first[wrong]]] = False
    line = np.searchsorted(ends, marks)
    between = (np.searchsorted(quotes, marks) - before[line]) % 2 == 0
    cells = 1 + np.bincount(line[between], minlength=len(ends))
    regular &= cells == width
    filled = ends > starts
    return Lines(starts[filled], ends[filled], regular[filled])
