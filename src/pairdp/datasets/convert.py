"""From the files that archives serve to one CSV form: a header, features as they are, a label.

The form is exact to the byte, so that a digest can tell whether it is the right data: commas
without spaces, lines end in a line feed, values are spelled as in the source, a missing one is
``?``, and the last column ``label`` is 0 or 1.
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
    """

    def convert(text: str) -> str:
        rows = []
        for line in _data_lines(text):
            values = [value.strip() for value in line.split(",")]
            place = label % len(values)
            if values[place] not in classes:
                raise ValueError("a row has a label that is not known")
            left_out = {place, *dropped}
            kept = [value for i, value in enumerate(values) if i not in left_out]
            rows.append([*kept, classes[values[place]]])
        return write_rows(columns, rows)

    return convert


def _data_lines(text: str) -> list[str]:
    """Return the lines with data: all of them, or those after @data, without comments."""
    lines = [line.strip() for line in text.splitlines()]
    starts = [i for i, line in enumerate(lines) if line.lower() == "@data"]
    kept = lines[starts[0] + 1 :] if starts else lines
    return [line for line in kept if line and not line.startswith("%")]
