"""Files of bounds, as people write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pairdp import BoundsScaler, read_bounds
from pairdp.estimators import Bounds

RIGHT = Bounds({"age": 0.0, "bmi": 10.5}, {"age": 120.0, "bmi": 60.0})

ACCEPTED = {
    "pairs": '{"age": [0, 120], "bmi": [10.5, 60]}',
    "objects": '{"age": {"lower": 0, "upper": 120}, "bmi": {"upper": 60, "lower": 10.5}}',
    "both": '{"age": [0, 120], "bmi": {"lower": 10.5, "upper": 60}}',
    "spaced": '\n\t {\n"age" : [0,\n120.0], "bmi":[1.05e1, 6e1]}\n',
    "csv": "name,lower,upper\nage,0,120\nbmi,10.5,60\n",
    "csv with spaces": "name, lower, upper\nage , 0, 120\nbmi,10.5 ,60\n",
    "csv in other order": "Upper,NAME,note,lower\n120,age,x,0\n60,bmi,,10.5\n",
    "csv with CRLF": "name,lower,upper\r\nage,0,120\r\nbmi,10.5,60",
    "csv with blank lines": "name,lower,upper\n\nage,0,120\n\n\nbmi,10.5,60\n\n",
    "csv with quotes": '"name","lower","upper"\n"age","0","120"\n"bmi","10.5","60"\n',
    "csv with semicolons": "name;lower;upper\nage;0;120\nbmi;10.5;60\n",
    "csv with tabs": "name\tlower\tupper\nage\t0\t120\nbmi\t10.5\t60\n",
}


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("form", ACCEPTED)
def test_all_forms_give_the_same_bounds(tmp_path: Path, form: str, mark: str) -> None:
    path = tmp_path / "bounds"
    path.write_bytes((mark + ACCEPTED[form]).encode())
    for given in (path, str(path)):
        found = read_bounds(given)
        assert found == RIGHT
        assert list(found.lower) == list(found.upper) == ["age", "bmi"]


def test_names_may_be_anything(tmp_path: Path) -> None:
    (tmp_path / "json").write_text('{"a,b": [0, 1], "größe": [0, 1], "": [0, 1]}', "utf-8")
    assert list(read_bounds(tmp_path / "json").lower) == ["a,b", "größe", ""]
    (tmp_path / "csv").write_text('name,lower,upper\n"a,\nb",0,1\n"größe",0,1\n', "utf-8")
    assert list(read_bounds(tmp_path / "csv").lower) == ["a,\nb", "größe"]


def test_the_order_is_that_of_the_file(tmp_path: Path) -> None:
    names = [f"f{i}" for i in np.random.default_rng(0).permutation(50)]
    (tmp_path / "csv").write_text("name,lower,upper\n" + "".join(f"{n},0,1\n" for n in names))
    assert list(read_bounds(tmp_path / "csv").lower) == names


MALFORMED = {
    "empty file": ("", "lack the columns name, lower, upper"),
    "empty object": ("{}", "are empty"),
    "only names of columns": ("name,lower,upper\n", "are empty"),
    "cut off": ('{"age": [0, 120]', "are not JSON"),
    "trailing comma": ('{"age": [0, 120],}', "are not JSON"),
    "comments": ('{"age": [0, 120]} # years', "are not JSON"),
    "nested deeply": ('{"age": ' + "[" * 100_000, "are not JSON"),
    "a list": ('[["age", 0, 120]]', "lack the columns"),
    "three numbers": ('{"age": [0, 60, 120]}', "of 'age' are not a pair"),
    "one number": ('{"age": 120}', "of 'age' are not a pair"),
    "text for a pair": ('{"age": "01"}', "of 'age' are not a pair"),
    "null": ('{"age": null}', "of 'age' are not a pair"),
    "no upper": ('{"age": {"lower": 0}}', "of 'age' are not a pair"),
    "other keys": ('{"age": {"min": 0, "max": 120}}', "of 'age' are not a pair"),
    "more keys": ('{"age": {"lower": 0, "upper": 1, "unit": 2}}', "of 'age' are not a pair"),
    "lower twice": ('{"age": {"lower": 0, "lower": 1}}', "of 'age' are not a pair"),
    "empty pair": ('{"age": {}}', "of 'age' are not a pair"),
    "null in a pair": ('{"age": [null, 120]}', "'age' have None, not a number"),
    "text in a pair": ('{"age": ["young", 120]}', "'age' have 'young', not a number"),
    "truth in a pair": ('{"age": [false, true]}', "'age' have False, not a number"),
    "pair in a pair": ('{"age": [[0, 1], 120]}', r"'age' have \[0, 1\], not a number"),
    "object in a pair": ('{"age": [{"a": 1}, 120]}', "of 'age'"),
    "NaN": ('{"age": [NaN, 120]}', "of 'age' must be finite, got nan"),
    "infinity": ('{"age": [0, Infinity]}', "of 'age' must be finite"),
    "overflow": ('{"age": [0, 1e999]}', "of 'age' must be finite"),
    "huge integer": ('{"age": [0, 1' + "0" * 400 + "]}", "of 'age' have"),
    "immense integer": ('{"age": [0, 1' + "0" * 5000 + "]}", "are not JSON"),
    "turned": ('{"age": [120, 0]}', "of 'age' must have lower < upper, got 120 and 0"),
    "equal": ('{"age": [1, 1.0]}', "of 'age' must have lower < upper"),
    "twice": ('{"age": [0, 1], "bmi": [0, 1], "age": [0, 2]}', "have 'age' twice"),
    "csv without names": ("age,0,120\n", "lack the columns"),
    "csv with other columns": ("feature,min,max\nage,0,120\n", "lack the columns"),
    "csv without upper": ("name,lower\nage,0\n", "lack the columns"),
    "csv row too short": ("name,lower,upper\nage,0,120\nbmi,10\n", "too few entries in line 3"),
    "csv row too long": ("name,lower,upper\nage,0,5,120\n", "too many entries in line 2"),
    "csv text": ("name,lower,upper\nage,0,old\n", "'age' have 'old', not a number"),
    "csv missing": ("name,lower,upper\nage,0,\n", "'age' have '', not a number"),
    "csv infinity": ("name,lower,upper\nage,-inf,0\n", "of 'age' must be finite"),
    "csv NaN": ("name,lower,upper\nage,nan,0\n", "of 'age' must be finite"),
    "csv turned": ("name,lower,upper\nage,2,1\n", "of 'age' must have lower < upper"),
    "csv twice": ("name,lower,upper\nage,0,1\n age ,0,1\n", "have 'age' twice"),
    "csv huge field": ("name,lower,upper\n" + "a" * 200_000 + ",0,1\n", "not a well-formed CSV"),
    "prose": ("age is between 0 and 120", "lack the columns"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_bounds_are_refused(tmp_path: Path, kind: str) -> None:
    content, reason = MALFORMED[kind]
    path = tmp_path / "bounds.json"
    path.write_text(content, "utf-8")
    with pytest.raises(ValueError, match=reason) as error:
        read_bounds(path)
    assert str(error.value).startswith(f"the bounds {path} ")
    assert type(error.value) is ValueError
    assert error.value.__suppress_context__ or error.value.__context__ is None


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        read_bounds(tmp_path / "nowhere.json")
    with pytest.raises(ValueError, match="cannot be read: Is a directory"):
        read_bounds(tmp_path)
    (tmp_path / "latin").write_bytes('{"größe": [0, 1]}'.encode("latin-1"))
    with pytest.raises(ValueError, match="are not UTF-8 text; accepted: JSON"):
        read_bounds(tmp_path / "latin")


def test_a_scaler_from_a_file_has_its_bounds(tmp_path: Path) -> None:
    (tmp_path / "bounds.json").write_text(ACCEPTED["pairs"])
    scaler = BoundsScaler.from_file(tmp_path / "bounds.json").fit_columns(["bmi", "age"])
    np.testing.assert_array_equal(scaler.center_, [35.25, 60])
    np.testing.assert_array_equal(scaler.half_width_, [24.75, 60])
