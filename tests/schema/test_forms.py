"""Short forms, files, and errors that name the line and the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.schema import Schema, SchemaError, starter
from pairdp.storage import decode, encode
from tests.schema.test_encoding import PATIENTS


def test_properties() -> None:
    schema = Schema.of(PATIENTS)
    assert schema.features == ("age", "sex", "systolic", "crp", "ward", "admitted", "smoker")
    assert (schema.label, schema.classes, schema.target) == ("died", ("no", "yes"), None)
    assert (schema.identifiers, schema.ignored) == (("patient_id",), ("remarks",))
    assert schema.width == len(schema.feature_names_out)
    assert schema.feature_names_out[:7] == (
        "age", "sex=F", "sex=M", "systolic", "systolic (missing)", "crp", "ward=ICU",
    )  # fmt: skip


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"$extra": "refuse", "$sparse": 3, "$missing_values": ["?", -9]},
        {"$columns": {"#chrom": "ignore", "$price": [0, 9]}},
        {"f": {"flag": [0, 1], "missing": 0}, "g": {"range": [1, 9], "integer": True, "weight": 2}},
        {"z": {"categories": [1, 2, 3], "other": 3, "missing": "null"}},
        {"t": {"date": ["2020-01-01", "2021-01-01"], "unit": "hour", "format": "%Y"}},
    ],
)
def test_round_trips(more: dict[str, Any], tmp_path: Path) -> None:
    schema = Schema.of(PATIENTS | more)
    assert Schema.of(json.loads(json.dumps(schema.to_dict()))) == schema
    schema.save(tmp_path / "schema.json")
    again = Schema.of(tmp_path / "schema.json")
    assert again == schema
    assert again.digest == schema.digest
    assert decode(json.loads(json.dumps(encode(schema)))) == schema


def test_the_order_of_columns_matters() -> None:
    one, other = Schema.of({"a": [0, 1], "b": [0, 1]}), Schema.of({"b": [0, 1], "a": [0, 1]})
    assert one != other
    assert one.digest != other.digest


def test_files_of_bounds_are_schemas(tmp_path: Path) -> None:
    expected = Schema.of({"age": [0, 120], "height": [0.5, 2.5]})
    files = {
        "bounds.json": '{"age": [0, 120], "height": {"upper": 2.5, "lower": 0.5}}',
        "bounds.csv": "name,lower,upper\nage,0,120\nheight,0.5,2.5\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        assert Schema.of(str(tmp_path / name)) == expected


ERRORS = [
    ('{"a": [0, 1],\n "b": [3, 1]}', r"line 2: column 'b'.*lower below upper"),
    ('{\n"a": {\n"range": [0, 1],\n"scale": "log"}}', r"line 3: column 'a'.*positive numbers"),
    ('{\n"a": {\n"range": [0, 1],\n"colour": 1}}', r"line 4: column 'a': unknown option 'colour'"),
    ('{"a": [0, 1],\n\n"a": [0, 2]}', r"line 3: 'a' is there twice, first in line 1"),
    ('{\n"a": {"range": [0, 1],\n"range": [0, 2]}}', r"line 3: 'range' is there twice"),
    ('{\n"a": ["x", "x"]}', r"line 2: column 'a': 'x' is listed twice"),
    ('{"y": {"label": ["a", "b"]},\n"z": {"label": [0, 1]}}', r"line 2: 'z' is a second label"),
    ('{"a": [1, 2, 3]}', r"line 1: column 'a': two numbers are a range"),
    ('{"a": [true, false]}', r"line 1: column 'a': .* accepted"),
    ('{"a": "number"}', r"line 1: column 'a': 'number' is not known; accepted"),
    ('{"a": {"range": [0, 1], "missing": 7}}', r"line 1: column 'a': missing must be a number of"),
    ('{"a": {"categories": ["u"],\n"other": "v"}}', r"line 2: column 'a': other must be"),
    ('{"a": {"date": ["2024-01-01", "2023-01-01"]}}', r"line 1: column 'a': a range of dates"),
    ('{"a": {"date": ["2024-13-01", "2023-01-01"]}}', r"line 1: column 'a': first must be a date"),
    ('{"a": {"range": [0, 1], "weight": 0}}', r"line 1: column 'a': weight must be positive"),
    ('{"a": {"label": ["x"]}}', r"line 1: column 'a': a label needs at least two classes"),
    ('{"a": {"range": [0, 1], "date": []}}', r'line 1: column .a.: .* has "range" and "date"'),
    ('{"a": [0, 1],\n"$colour": 1}', r"line 2: unknown option '\$colour'"),
    ('{"a": "flag",\n"$sparse": 0}', r"line 2: \$sparse: it must be a positive integer"),
    ('{"a": [0, 1],\n}', r"line 2: it is not JSON"),
    ('{"a": [0,\n 1}', r"line 2: it is not JSON"),
    ('{"a": [0, NaN]}', r"NaN is not a number"),
    ('["a"]', r"line 1: it must be a JSON object"),
    ('{"a": "id"}', r"describes no feature"),
    ('{"a": ["?", "b"],\n"$missing_values": ["?"]}', r"cannot mean .missing."),
    ('{"a": [0, 1]} x', r"line 1: there is more"),
    ("{" * 100_000, r"not JSON"),
]


@pytest.mark.parametrize(("text", "reason"), ERRORS)
def test_wrong_schemas_are_refused_with_the_line_and_the_reason(
    text: str, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "schema.json"
    path.write_text(text)
    with pytest.raises(SchemaError, match=reason):
        Schema.read(path)


def test_a_starter_is_refused_until_every_column_is_described(tmp_path: Path) -> None:
    names = ["age", 'the "odd" one', "#chrom", "died"]
    path = tmp_path / "schema.json"
    path.write_text(starter(names), encoding="utf-8")
    with pytest.raises(SchemaError, match="not described yet: 'age' in line 12") as caught:
        Schema.read(path)
    assert all(name in str(caught.value) for name in names)
    text = path.read_text(encoding="utf-8").replace('"?"', "[0, 1]")
    path.write_text(text, encoding="utf-8")
    assert Schema.read(path).features == tuple(names)
    assert set(json.loads(starter(["age", "died"]))) > {"age", "died"}


def test_other_things_are_no_schema(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a Schema, a dict or the path"):
        Schema.of(3)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.of(tmp_path / "nothing.json")
    with pytest.raises(SchemaError, match="must be strings"):
        Schema.of({1: [0, 1]})  # type: ignore[dict-item]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["flag", "id", "?", "2020-01-01", "null", "indicator", "log", "x", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "range",
                    "categories",
                    "flag",
                    "date",
                    "label",
                    "target",
                    "missing",
                    "other",
                    "weight",
                    "unit",
                    "parts",
                    "scale",
                    "integer",
                    "missing_values",
                    "#",
                    "$",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b", "$sparse", "$extra", "$columns"]), JSON))
def test_whatever_is_written_is_a_schema_or_refused_in_words(values: dict[str, Any]) -> None:
    try:
        schema = Schema.of(values)
    except SchemaError:
        return
    assert Schema.of(schema.to_dict()) == schema
    cells = {name: ["1", None, "x"] for name in schema.features}
    rows = schema.encode(cells, 3, invalid="null")
    assert np.all(np.isnan(rows) | (np.abs(rows) <= 1))
