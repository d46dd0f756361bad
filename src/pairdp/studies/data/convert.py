"""Convert the archives' files to one CSV form: a header, the features unchanged, and a label.

The form is exact to the byte, so that a digest identifies the data: commas without spaces, line
feeds, values as written in the source, ``?`` for a missing one, and a last column ``label`` of 0
and 1. Columns that archives write differently (30 and 30.0) have a fixed number of decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

Converter = Callable[[str], str]


def write_rows(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return the CSV text of rows whose last value is the label."""
    lines = [",".join((*columns, "label"))]
    for row in rows:
        if len(row) != len(columns) + 1:
            raise ValueError(f"a row has {len(row)} values, expected {len(columns) + 1}")
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
    """Return a converter of comma-separated lines, or of an ARFF file.

    Parameters
    ----------
    columns : sequence of str
        Names of the features.
    label : int
        Index of the label in a line.
    classes : mapping of str to str
        Labels of the source, and the labels here.
    dropped : sequence of int
        Indices of columns that are left out, such as an identifier.
    decimals : mapping of str to int, optional
        Features that are written with a fixed number of decimals.
    """
    spelled = {columns.index(name): count for name, count in (decimals or {}).items()}

    def convert(text: str) -> str:
        rows = []
        for line in _data_lines(text):
            values = [value.strip() for value in line.split(",")]
            place = label % len(values)
            if values[place] not in classes:
                raise ValueError("a row has an unknown label")
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
    """Return the lines of data: all, or those after @data, without comments."""
    lines = [line.strip() for line in text.splitlines()]
    starts = [i for i, line in enumerate(lines) if line.lower() == "@data"]
    kept = lines[starts[0] + 1 :] if starts else lines
    return [line for line in kept if line and not line.startswith("%")]
