"""A study as a list of cells to fill: which number of which exhibit comes from which job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pairdp.studies.jobs import Job
from pairdp.studies.results import Cell, Remark, Results

T = TypeVar("T")
RUNS, QUICK_RUNS = 20, 3


@dataclass(frozen=True)
class Scale:
    """How much of a study is run.

    Parameters
    ----------
    runs : int
        Permutations, or draws of synthetic data, for each cell.
    quick : bool
        Whether to run only the first point of each exhibit, as a check that everything works.
    """

    runs: int = RUNS
    quick: bool = False

    def points(self, values: Sequence[T]) -> tuple[T, ...]:
        """Return the points of an exhibit that are run."""
        return tuple(values[:1]) if self.quick else tuple(values)


@dataclass(frozen=True)
class Position:
    """A point of an exhibit, where several series have a cell. See `Cell` for the fields."""

    exhibit: str
    panel: str
    measure: str
    protocol: str
    x_name: str
    x: float

    def cell(self, series: str, kind: str, job: Job) -> PlannedCell:
        """Return the cell of a series at this point."""
        return PlannedCell(**vars(self), series=series, kind=kind, job=job)


@dataclass(frozen=True)
class PlannedCell(Position):
    """A cell, and the job that its number comes from."""

    series: str
    kind: str
    job: Job


@dataclass(frozen=True)
class Study:
    """The experiments of a paper.

    Parameters
    ----------
    name, title : str
        "xue2021", and the paper.
    planned : tuple of PlannedCell
        What is run.
    remarks : callable
        From the results to findings in words.
    assumptions : str
        What the paper leaves open, and what was assumed.
    reported : tuple of Cell
        The numbers that the paper reports.
    """

    name: str
    title: str
    planned: tuple[PlannedCell, ...]
    remarks: Callable[[Results], Iterable[Remark]]
    assumptions: str
    reported: tuple[Cell, ...] = ()
