"""A study as a list of places to fill: which number of which exhibit comes from which job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

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
        Permutations, or draws of synthetic data, for each number.
    quick : bool
        Whether only few points of each exhibit are run, to see that everything works.
    """

    runs: int = RUNS
    quick: bool = False

    def points(self, values: Sequence[T]) -> tuple[T, ...]:
        """Return all points of an exhibit, or its first one when in a hurry."""
        return tuple(values[:1]) if self.quick else tuple(values)


@dataclass(frozen=True)
class Place:
    """Where a number belongs, and the job and measure that it comes from. See `Cell`."""

    exhibit: str
    panel: str
    measure: str
    series: str
    kind: str
    protocol: str
    x_name: str
    x: float
    job: Job
    note: str = ""


@dataclass(frozen=True)
class Spot:
    """A point of an exhibit, at which there are several series. See `Cell`."""

    exhibit: str
    panel: str
    measure: str
    protocol: str
    x_name: str
    x: float

    def place(self, series: str, kind: str, job: Job, note: str = "") -> Place:
        """Return the place of a series at this point."""
        return Place(
            self.exhibit, self.panel, self.measure, series, kind, self.protocol, self.x_name,
            float(self.x), job, note,
        )  # fmt: skip


@dataclass(frozen=True)
class Study:
    """A paper's experiments.

    Parameters
    ----------
    name, title : str
        "xue2021", and the paper.
    places : tuple of Place
        What is run.
    figures : tuple of Cell
        What the paper prints.
    remarks : callable
        From the results of this study to findings in words.
    reading : str
        How the paper was read.
    """

    name: str
    title: str
    places: tuple[Place, ...]
    figures: tuple[Cell, ...]
    remarks: Callable[[Results], Iterable[Remark]]
    reading: str = ""


def figure(study: str, exhibit: str, panel: str, measure: str, **more: Any) -> Cell:
    """Return a number that a paper prints."""
    value = more.pop("value")
    return Cell(
        study, exhibit, panel, measure, kind="paper", protocol="", mean=value, low=value,
        high=value, runs=0, certificate="", **more,
    )  # fmt: skip
