"""From the files that archives serve to one CSV form: a header, features as they are, a label.

The form is exact to the byte, so that a digest can tell whether it is the right data: commas
without spaces, lines end in a line feed, values are spelled as in the source, a missing one is
``?``, and the last column ``label`` is 0 or 1. Where archives spell a column differently (30 and
30.0), it has a fixed number of decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

Converter = Callable[[str], str]


def write_rows(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return the CSV text of rows whose last value is the label."""
    lines = [",".join((*columns, "label"))]
    for row in rows:
        if len(row) != len(columns) + 1:
            raise ValueError(f"a row has {len(row)} values, and {len(columns) + 1} were expected")
        lines.append(",".join(row))
    return "\n".join(lines) + "\n"


def delimited(
    columns: Sequence[str],
    *,
    label: int,
    classes: Mapping[str, str],
    dropped: Sequence[int] = (),
    decimals: Mapping[str, int] | None = None,
) -> Converter:
    """Return a converter of lines of values, commas between them, or of an ARFF file of such.

    Parameters
    ----------
    columns : sequence of str
        Names of the features.
    label : int
        Place of the label in a line.
    classes : mapping of str to str
        What the labels are in the source, and here.
    dropped : sequence of int
        Places that are left out, such as that of an identifier.
    decimals : mapping of str to int, optional
        Features that are spelled with so many decimals, whatever the source does.
    """
    spelled = {columns.index(name): count for name, count in (decimals or {}).items()}

    def convert(text: str) -> str:
        rows = []
        for line in _data_lines(text):
            values = [value.strip() for value in line.split(",")]
            place = label % len(values)
            if values[place] not in classes:
                raise ValueError("a row has a label that is not known")
            left_out = {place, *dropped}
            kept = [value for i, value in enumerate(values) if i not in left_out]
            features = [_spell(value, spelled.get(i)) for i, value in enumerate(kept)]
            rows.append([*features, classes[values[place]]])
        return write_rows(columns, rows)

    return convert


def _spell(value: str, decimals: int | None) -> str:
    if decimals is None or value == "?":
        return value
    try:
        return f"{float(value):.{decimals}f}"
    except ValueError:
        raise ValueError("a row has a value that is not a number") from None


def _data_lines(text: str) -> list[str]:
    """Return the lines with data: all of them, or those after @data, without comments."""
    lines = [line.strip() for line in text.splitlines()]
    starts = [i for i, line in enumerate(lines) if line.lower() == "@data"]
    kept = lines[starts[0] + 1 :] if starts else lines
    return [line for line in kept if line and not line.startswith("%")]
