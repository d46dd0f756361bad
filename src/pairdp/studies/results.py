"""Results of studies: cells of tables and figures, remarks, and the certificates behind them."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from pairdp._files import write_atomically

KINDS = ("paper", "printed", "certified", "baseline")
HIGHER_IS_BETTER = ("AUC", "accuracy")
"""Measures of which more is better; of all others, less is."""

PROTOCOLS = ("paper", "standardised", "honest", "")
FORMAT = "pairdp study results"
FORMAT_VERSION = 2  # in format 1, "paper" meant standardised rows


@dataclass(frozen=True)
class Cell:
    """One number of a table, or one point of a figure.

    Parameters
    ----------
    study, exhibit, panel, measure, series : str
        Where it belongs: "xue2021", "Table 4", "diabetes", "AUC", "DPGDSC".
    kind : {"paper", "printed", "certified", "baseline"}
        The number that the paper reports; our run with the noise that the paper prints; our run
        with certified noise; a method without noise.
    protocol : {"paper", "standardised", "honest", ""}
        How the data was prepared; empty for a number that the paper reports.
    x_name : str
        What ``x`` is: "ε", "n" or "d".
    mean, low, high : float
        The mean over the runs and its 95 % confidence interval; all equal for the paper's.
    runs : int
        Number of runs; 0 for the paper's.
    certificate : str
        Key into ``Results.certificates``; empty if there is none.
    values : tuple of float
        The number of each run, in their order; empty if they are not known. They are stored in
        JSON, not in CSV.
    """

    study: str
    exhibit: str
    panel: str
    measure: str
    series: str
    kind: str
    protocol: str
    x_name: str
    x: float
    mean: float
    low: float
    high: float
    runs: int
    certificate: str
    note: str = ""
    values: tuple[float, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        if self.protocol not in PROTOCOLS:
            raise ValueError(
                f'protocol must be "paper", "standardised", "honest" or "", got {self.protocol!r}'
            )
        for name in ("x", "mean", "low", "high"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"{name} of a cell must be finite, got {getattr(self, name)!r}")
        if not self.low <= self.mean <= self.high:
            raise ValueError(
                f"the mean must lie in its interval: {self.low}, {self.mean}, {self.high}"
            )


@dataclass(frozen=True)
class Remark:
    """A finding in words, such as why a reported number cannot come from the printed algorithm."""

    study: str
    exhibit: str
    title: str
    text: str


@dataclass(frozen=True)
class Results:
    """The results of one or more studies.

    Parameters
    ----------
    title : str
        What was run.
    cells : tuple of Cell
    remarks : tuple of Remark
    certificates : mapping of str to dict
        By the key that cells refer to: "statement", "epsilon", "delta",
        "claim_is_proved" and "json", the certificate as plain JSON values.
    facts : mapping of str to str
        How it was run: version, permutations, preprocessing, duration.
    """

    title: str
    cells: tuple[Cell, ...]
    remarks: tuple[Remark, ...]
    certificates: Mapping[str, dict[str, Any]]
    facts: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain JSON values."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "title": self.title,
            "cells": [asdict(cell) for cell in self.cells],
            "remarks": [asdict(remark) for remark in self.remarks],
            "certificates": dict(self.certificates),
            "facts": dict(self.facts),
        }

    def to_json(self, path: str | Path) -> None:
        """Write everything to a JSON file, whole or not at all."""
        text = json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=1)
        write_atomically(Path(path), text.encode())

    @classmethod
    def from_json(cls, path: str | Path) -> Results:
        """Return the results that `to_json` wrote."""
        try:
            values = json.loads(Path(path).read_bytes())
        except ValueError as error:
            raise ValueError(f"{path} is not JSON: {error}") from None
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise ValueError(f"{path} does not hold results of a study")
        if values.get("format_version") != FORMAT_VERSION:
            raise ValueError(
                f"{path} has format {values.get('format_version')!r}, and this version reads "
                f"format {FORMAT_VERSION}"
            )
        try:
            return cls(
                title=values["title"],
                cells=tuple(_from_json(cell) for cell in values["cells"]),
                remarks=tuple(Remark(**remark) for remark in values["remarks"]),
                certificates=values["certificates"],
                facts=values["facts"],
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"{path} does not hold results of a study: {error}") from None

    def to_csv(self, path: str | Path) -> None:
        """Write the cells to a CSV file with a header, whole or not at all."""
        text = io.StringIO()
        writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(asdict(cell) for cell in self.cells)
        write_atomically(Path(path), text.getvalue().encode())

    @classmethod
    def from_csv(cls, path: str | Path, title: str = "") -> Results:
        """Return the cells that `to_csv` wrote; the file has nothing else."""
        with Path(path).open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file, strict=True)
            if tuple(reader.fieldnames or ()) != _COLUMNS:
                raise ValueError(f"{path} must have the columns {', '.join(_COLUMNS)}")
            try:
                cells = tuple(_read_cell(row) for row in reader)
            except (csv.Error, TypeError, ValueError) as error:
                raise ValueError(f"{path} does not hold results of a study: {error}") from None
        return cls(title, cells, (), {}, {})


_COLUMNS = tuple(each.name for each in fields(Cell) if each.name != "values")


def _from_json(cell: Mapping[str, Any]) -> Cell:
    return Cell(**{**cell, "values": tuple(map(float, cell.get("values", ())))})


def _read_cell(row: dict[str, str]) -> Cell:
    numbers = {name: float(row[name]) for name in ("x", "mean", "low", "high")}
    return Cell(**{**row, **numbers, "runs": int(row["runs"])})  # type: ignore[arg-type]
