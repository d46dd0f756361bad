"""Results: cells, and files that give back what was written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pairdp.studies.results import Cell, Remark, Results

CELL = Cell(
    "xue2021", "Table 4", 'a "panel", with a comma', "AUC", "auto\nline", "certified", "honest",
    "ε", 0.1, 1 / 3, 0.3, 0.4, 20, "abc", "",
)  # fmt: skip
RESULTS = Results(
    "A title",
    (CELL, replace(CELL, kind="paper", protocol="", low=1 / 3, high=1 / 3, runs=0, note="ß")),
    (Remark("xue2021", "Table 4", "t", "one\ntwo"),),
    {"abc": {"statement": "s", "epsilon": 1.0, "delta": 0.1, "claim_is_proved": True, "json": {}}},
    {"library version": "0"},
)


def test_json_gives_back_everything(tmp_path: Path) -> None:
    RESULTS.to_json(tmp_path / "r.json")
    assert Results.from_json(tmp_path / "r.json") == RESULTS


def test_csv_gives_back_the_cells_to_the_last_bit(tmp_path: Path) -> None:
    RESULTS.to_csv(tmp_path / "r.csv")
    found = Results.from_csv(tmp_path / "r.csv", "A title")
    assert found.cells == RESULTS.cells
    assert found.title == "A title"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "other"}, "kind must be one of"),
        ({"protocol": "other"}, "protocol must be"),
        ({"mean": float("nan")}, "mean of a cell must be finite"),
        ({"high": float("inf")}, "high of a cell must be finite"),
        ({"low": 0.35}, "must lie in its interval"),
    ],
)
def test_wrong_cells_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(CELL, **change)  # type: ignore[arg-type]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "pairdp study results"}'])
def test_other_json_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(ValueError, match=r"r\.json"):
        Results.from_json(tmp_path / "r.json")


def test_damaged_json_is_refused(tmp_path: Path) -> None:
    values = RESULTS.to_dict()
    del values["cells"][0]["mean"]
    (tmp_path / "r.json").write_text(json.dumps(values))
    with pytest.raises(ValueError, match="does not hold results"):
        Results.from_json(tmp_path / "r.json")


def test_other_csv_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="must have the columns study"):
        Results.from_csv(path)
    RESULTS.to_csv(path)
    path.write_text(path.read_text().replace(repr(1 / 3), "much"))
    with pytest.raises(ValueError, match="does not hold results"):
        Results.from_csv(path)


def test_json_keeps_the_runs_and_csv_does_not(tmp_path: Path) -> None:
    results = replace(RESULTS, cells=(replace(CELL, values=(0.3, 0.4)),))
    results.to_json(tmp_path / "r.json")
    results.to_csv(tmp_path / "r.csv")
    assert Results.from_json(tmp_path / "r.json").cells[0].values == (0.3, 0.4)
    assert Results.from_csv(tmp_path / "r.csv").cells[0].values == ()
