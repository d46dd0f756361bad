"""How text tables are written: encoding, separator and decimal mark."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from pairdp._checks import keep
from pairdp.tables.base import TableError

SEPARATORS = ",;\t|"
_SWAPPED = str.maketrans(",.", ".,")


@dataclass(frozen=True)
class TextFormat:
    r"""How the text of a table is written.

    Parameters
    ----------
    encoding : str, optional
        Its encoding, such as "latin-1", "cp1252" or "utf-16". By default UTF-8, with or without a
        byte order mark.
    separator : str, optional
        The character between cells; "tab" is "\\t". By default, whichever of comma, semicolon, tab
        and vertical bar occurs most often in the first line, outside quotation marks.
    decimal : {".", ","}
        The decimal mark. The other of the two is then not part of any number: thousands separators
        are not accepted, since 1.234 would be two different numbers.
    """

    encoding: str | None = None
    separator: str | None = None
    decimal: str = "."

    def __post_init__(self) -> None:
        if self.encoding is not None:
            _check_encoding(self.encoding)
        if self.separator == "tab":
            keep(self, "separator", "\t")
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n\0'):
            raise TableError(
                f"the separator must be one character such as ';' (or tab), got {self.separator!r}"
            )
        if self.decimal not in (".", ","):
            raise TableError(f"the decimal mark must be '.' or ',', got {self.decimal!r}")

    @property
    def codec(self) -> str:
        """The codec that reads the text; that of UTF-8 accepts a byte order mark."""
        if self.encoding is None or codecs.lookup(self.encoding).name == "utf-8":
            return "utf-8-sig"
        return self.encoding

    @property
    def has_byte_lines(self) -> bool:
        """Whether line breaks are the same bytes as in ASCII, so that lines can be told apart."""
        return "\r\n".encode(self.codec).removeprefix(b"\xef\xbb\xbf") == b"\r\n"

    @property
    def is_single_byte(self) -> bool:
        """Whether each byte is a character by itself, and those of ASCII are as in ASCII."""
        name = codecs.lookup(self.codec).name
        if name != "ascii" and not name.startswith(("iso8859-", "cp125", "koi8-")):
            return False
        low, high = (bytes(range(start, start + 128)).decode(name, "replace") for start in (0, 128))
        return low.encode() == bytes(range(128)) and not {"\r", "\n"} & set(high)

    def numeral(self, cell: str) -> str:
        """Return a cell that should be a number with a decimal point.

        With a decimal comma, both marks are exchanged, so 1,5 is 1.5, and 1.5 is not a number.
        """
        return cell if self.decimal == "." else cell.translate(_SWAPPED)

    def label(self, cell: str) -> str:
        """Return a label; one that is a number in either notation as by `numeral`."""
        swapped = self.numeral(cell)
        return swapped if _is_number(cell) or _is_number(swapped) else cell


def _check_encoding(encoding: str) -> None:
    try:
        "a".encode(encoding)
    except (LookupError, UnicodeError, ValueError):
        raise TableError(
            f"{encoding!r} is not an encoding of text: give a name such as utf-8, latin-1, cp1252 "
            "or utf-16"
        ) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
