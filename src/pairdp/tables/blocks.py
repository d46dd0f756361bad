"""Text files as blocks of bytes that end where a line ends."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

from pairdp.tables.lines import open_binary, reading_errors
from pairdp.tables.text_format import TextFormat

BLOCK = 4 * 2**20


def blocks_of(
    path: Path, form: TextFormat, told: Callable[[int], object], size: int
) -> Generator[bytes, None, None]:
    """Yield the bytes after the first line in blocks of whole lines, about ``size`` each.

    Parameters
    ----------
    path : Path
        The file, which may be gzipped.
    form : TextFormat
        Its encoding, for errors.
    told : callable
        Called with the number of bytes of the file that were read, for progress.
    size : int
        How many bytes are read at a time.
    """
    with reading_errors(path, form), path.open("rb") as raw, open_binary(path, raw) as file:
        rest, header = b"", True
        while some := file.read(size):
            told(raw.tell())
            if header:
                some, rest = rest + some, b""
                end = _first_line(some)
                if end is None:
                    rest = some
                    continue
                some, header = some[end:], False
            cut = _last_line(some)
            if cut:
                yield b"".join((rest, memoryview(some)[:cut]))
                rest = some[cut:]
            else:
                rest += some
        told(raw.tell())
        if header:
            rest = rest[_first_line(rest + b"\n\n") or 0 :]
        if rest:
            yield rest


def _first_line(content: bytes) -> int | None:
    """Return the length of the first line with its line break, None if it is not complete."""
    ends = [at for at in (content.find(b"\n"), content.find(b"\r")) if at >= 0]
    if not ends or min(ends) == len(content) - 1:
        return None  # a line feed may follow
    end = min(ends)
    return end + (2 if content[end : end + 2] == b"\r\n" else 1)


def _last_line(content: bytes) -> int:
    """Return the end of the last complete line, 0 if there is none.

    A carriage return is the end of a line unless a line feed follows.
    """
    at = content.rfind(b"\r", 0, len(content) - 1)
    alone = at + 1 if at >= 0 and content[at + 1] != 10 else 0
    return max(content.rfind(b"\n") + 1, alone)
