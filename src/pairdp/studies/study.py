"""A study as a list of cells to fill: which number of which exhibit comes from which job."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pairdp.studies.jobs import Job
from pairdp.studies.results import Cell, Remark, Results

T = TypeVar("T")
RUNS, QUICK_RUNS = 20, 3
BY_THEOREM = ", the theorem's schedule"


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

    def printed(self, series: str, job: Any, *, has_theorem: bool) -> Iterator[PlannedCell]:
        """Yield the cells of a job with printed noise.

        The schedule is that of pairdp; where a theorem states one, there is a second cell with the
        theorem's schedule.
        """
        noisy = replace(job, calibration="printed", schedule="tuned")
        yield self.cell(series, "printed", noisy)
        if has_theorem:
            by_theorem = replace(noisy, schedule="theorem")
            yield self.cell(series + BY_THEOREM, "printed", by_theorem)


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

    @property
    def exhibits(self) -> tuple[str, ...]:
        """Names of the tables and figures, and of exhibits that are not the paper's."""
        return tuple(dict.fromkeys(cell.exhibit for cell in self.planned))

    @property
    def datasets(self) -> tuple[str, ...]:
        """Data sets of the cells, and "synthetic" and the like where there is none."""
        return tuple(dict.fromkeys(_dataset(cell) for cell in self.planned))

    def only(self, exhibits: Collection[str] = (), datasets: Collection[str] = ()) -> Study:
        """Return the study with some of its exhibits and data sets; all, if none are named.

        "Table 4" stands for "Table 4" and for its variants, "Table 4, ...".

        Raises
        ------
        ValueError
            If there is no such exhibit or data set, or no cell has both; the message lists those
            that there are.
        """
        _check_known("exhibit", exhibits, self.exhibits, self.name)
        _check_known("data set", datasets, self.datasets, self.name)
        chosen = {name.lower() for name in datasets}
        kept = {
            name
            for name in self.exhibits
            if not exhibits or any(_is_part(name, wanted) for wanted in exhibits)
        }

        def is_kept(cell: PlannedCell | Cell) -> bool:
            return cell.exhibit in kept and (not datasets or _dataset(cell) in chosen)

        def remarks(results: Results) -> Iterator[Remark]:
            for remark in self.remarks(results):
                if not kept.isdisjoint(_exhibits_of(remark)):
                    yield remark

        planned = tuple(filter(is_kept, self.planned))
        if not planned:
            raise ValueError(self._nothing(kept, datasets))
        return replace(
            self,
            planned=planned,
            reported=tuple(filter(is_kept, self.reported)),
            remarks=remarks,
        )

    def _nothing(self, exhibits: Collection[str], datasets: Collection[str]) -> str:
        """Return that exhibits have none of the data sets, with those that they have."""
        has = []
        for exhibit in self.exhibits:
            if exhibit in exhibits:
                cells = (cell for cell in self.planned if cell.exhibit == exhibit)
                has.append(f"{exhibit} has: {'; '.join(dict.fromkeys(map(_dataset, cells)))}")
        return f"{self.name} has no cell of {', '.join(datasets)} there; {'. '.join(has)}"


def _is_part(name: str, wanted: str) -> bool:
    name, wanted = name.lower(), wanted.lower()
    return name == wanted or name.startswith(f"{wanted},")


def _dataset(cell: PlannedCell | Cell) -> str:
    return cell.panel.split(",")[0].lower()


def _check_known(kind: str, wanted: Iterable[str], known: Sequence[str], study: str) -> None:
    for name in wanted:
        if not any(_is_part(each, name) for each in known):
            raise ValueError(f"{study} has no {kind} {name!r}; it has: {'; '.join(known)}")


def _exhibits_of(remark: Remark) -> list[str]:
    """Return the exhibits of a remark: "Tables 2 and 3" are two."""
    several = re.fullmatch(r"(Table|Figure)s .*", remark.exhibit)
    if several is None:
        return [remark.exhibit]
    return [f"{several[1]} {number}" for number in re.findall(r"\d+", remark.exhibit)]
