"""A starter for a schema: every column by name, to be described by a person."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from pairdp.schema.forms import OPEN

_COMMENTS = (
    "A public description of the columns: replace every ? without looking at the data.",
    'A number has a range: "age": [0, 120]. Cells outside are clipped to it.',
    (
        "Ranges come from the limits of the instrument (a monitor shows 0 to 300 mmHg), of the "
        "form (boxes for two digits: 0 to 99) or of the law (adults: 18 and over)."
    ),
    'For numbers of many sizes: {"range": [0.1, 500], "scale": "log"}.',
    (
        'A category has a list: "sex": ["F", "M"], or {"categories": ["ICU", "Surgery"], "other": '
        "true} where others may occur. Take the list from the form or the code book."
    ),
    (
        'Yes or no: "flag". A date: {"date": ["2023-01-01", "2025-01-01"]}. A name or number of a '
        'person: "id". A column that is not used, such as text: "ignore".'
    ),
    (
        'Cells may be missing: add "missing": "indicator" (its own feature), "missing": 5.0 (a '
        'fixed value) or "missing": "null" (the record is not used) to the object of a column.'
    ),
    (
        'The label, with the class that ranks high last: {"label": ["no", "yes"]}. A number to '
        'rank by or to predict: {"target": [0, 10]}.'
    ),
    "Keys that start with # are comments.",
)


def starter(
    names: Iterable[str], ranges: Mapping[str, Sequence[float]] | None = None, remark: str = ""
) -> str:
    """Return the JSON text of a schema in which columns are still to be described.

    It depends on the names of the columns alone, and on the ranges if some are given. `Schema.of`
    refuses it until all columns are described.

    Parameters
    ----------
    names : iterable of str
        The names of the columns, in order.
    ranges : mapping of str to (lower, upper), optional
        The ranges of columns that are public already, such as released ones.
    remark : str
        One more comment.
    """
    comments = (*_COMMENTS, remark) if remark else _COMMENTS
    known = {} if ranges is None else ranges
    lines = [f'"# {i}": {_json(comment)}' for i, comment in enumerate(comments, 1)]
    listed = list(names)
    odd = any(name.startswith(("#", "$")) for name in listed)
    forms = [list(known[name]) if name in known else OPEN for name in listed]
    columns = [f"{_json(name)}: {_json(form)}" for name, form in zip(listed, forms, strict=True)]
    if odd:
        inner = ",\n    ".join(columns)
        columns = [f'"$columns": {{\n    {inner}\n  }}']
    return "{\n  " + ",\n  ".join([*lines, *columns]) + "\n}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
