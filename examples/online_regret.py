"""Average regret of private streams against their length, on the papers' data.

Run with ``python examples/online_regret.py --data DIR``, where DIR has the CSV files of the data
sets (see `pairdp.studies.data`). It prints tables, and writes online-regret.html with the figures
of all data sets, and docs/online-regret.svg and docs/online-regret-metric.svg for diabetes.

Every stream has the same budget, ε = 1 and δ = 1e-5. Each row is divided by its norm (the protocol
"paper"). Regret is that of Huai 2020, with respect to the best fixed model in hindsight (equation
4), and to the best one on held-out records (equation 5), both divided by n - 1. The former
decreases in part because a fixed model overfits few records; the latter does not. The bounds of
`regret_bound` stand beside the regret that is measured, where there is one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from pairdp import Budget, NoiseSource
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.drawing import Axis, Figure, Point, Series, Style, write_group, write_page, write_svg
from pairdp.losses import LeastSquaresRanking, LogisticMetric
from pairdp.online import (
    ONPAIRC,
    ONPAIRGRADIENT,
    OnlineAlgorithm,
    OnlineDescent,
    OnlineMoments,
)
from pairdp.problem import Problem
from pairdp.studies.protocols import prepared
from pairdp.studies.regret import RegretBound, generalized_regret, regret, regret_bound

BUDGET = Budget(1.0, 1e-5)
SIZES = (50, 150, 400, 800)
DATA = ("diabetes", "retinopathy", "hepatitis", "cancer_wdbc", "cancer_original")
AUC = Problem(LeastSquaresRanking(), L2Ball(1.0))
METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))


class Stream(NamedTuple):
    """A task and the algorithm for a stream of n records."""

    problem: Problem
    algorithm: Callable[[int], OnlineAlgorithm]


STREAMS = {
    "AUC, moments": Stream(AUC, lambda n: OnlineMoments()),
    "AUC, OnPairGradient": Stream(AUC, lambda n: ONPAIRGRADIENT),
    "AUC, OnPairC": Stream(AUC, lambda n: ONPAIRC),
    "AUC, batches of √n": Stream(AUC, lambda n: OnlineDescent(batch_size=round(n**0.5))),
    "metric, OnPairGradient": Stream(METRIC, lambda n: ONPAIRGRADIENT),
    "metric, OnPairC": Stream(METRIC, lambda n: ONPAIRC),
    "metric, batches of √n": Stream(METRIC, lambda n: OnlineDescent(batch_size=round(n**0.5))),
}


def average_regrets(
    name: str,
    stream: str,
    n: int,
    seed: int,
    directory: Path | None,
    budget: Budget | None = BUDGET,
) -> tuple[float, float]:
    """Return both average regrets of one stream; the second is NaN if few are held out."""
    problem, algorithm = STREAMS[stream]
    x, y = prepared(name, "paper", directory)
    order = np.random.default_rng(seed).permutation(len(y))
    learnt, held_out = order[:n], order[n:]
    records = problem.records(x[learnt], y[learnt])
    chosen = algorithm(n)
    plan = chosen.plan(problem, n, x.shape[1], budget)
    models = plan.run(records, NoiseSource(seed), progress=False).statistics["models"]
    size = plan.settings.batch_size
    in_hindsight = regret(problem, records, models, batch_size=size, tolerance=2e-3).average
    if held_out.size < 30:
        return in_hindsight, float("nan")
    others = problem.records(x[held_out], y[held_out])
    on_others = generalized_regret(
        problem, others, models, batch_size=size, n=n, tolerance=2e-3
    ).average
    return in_hindsight, on_others


def table(
    names: Iterable[str], directory: Path | None, permutations: int, jobs: int
) -> dict[tuple[str, str, int], np.ndarray]:
    """Return both regrets for every data set, stream, size and permutation."""
    lengths = {name: len(prepared(name, "paper", directory).y) for name in names}
    cells = [
        (name, stream, n)
        for name in lengths
        for stream in STREAMS
        for n in SIZES
        if n <= lengths[name]
    ]
    found = Parallel(n_jobs=jobs)(
        delayed(average_regrets)(*cell, seed, directory)
        for cell in cells
        for seed in range(permutations)
    )
    return dict(zip(cells, np.array(found).reshape(len(cells), permutations, 2), strict=True))


def bound(name: str, stream: str, n: int, directory: Path | None) -> RegretBound | None:
    """Return the bound on the regret of a stream, None if none is proved."""
    problem, algorithm = STREAMS[stream]
    features = prepared(name, "paper", directory).x.shape[1]
    try:
        return regret_bound(algorithm(n).plan(problem, n, features, BUDGET), problem)
    except ValueError:
        return None


def show_bounds(cells: Iterable[tuple[str, str, int]], directory: Path | None) -> None:
    """Print the bounds on average regret."""
    print("\nbounds on average regret; in brackets: vacuous, any models of the set have less")
    rows: dict[tuple[str, str], list[str]] = {}
    for name, stream, n in cells:
        proved = bound(name, stream, n, directory)
        if proved is not None:
            shown = f"{proved.average:.3g}"
            row = rows.setdefault((name, stream), [])
            row.append(f"n = {n}: {f'({shown})' if proved.is_vacuous else shown}")
    for (name, stream), shown_bounds in rows.items():
        print(f"{name:16s} {stream:36s} {'   '.join(shown_bounds)}")


def show(found: dict[tuple[str, str, int], np.ndarray]) -> None:
    """Print means with their standard errors."""
    for which, title in enumerate(("in hindsight (equation 4)", "on held-out records (5)")):
        print(f"\naverage regret {title}")
        print(f"{'':53s}" + "".join(f"n = {n:<12d}" for n in SIZES))
        for name in dict.fromkeys(cell[0] for cell in found):
            for stream in STREAMS:
                cells = [found.get((name, stream, n)) for n in SIZES]
                shown = "".join(
                    f"{c[:, which].mean():.3f} ± {c[:, which].std(ddof=1) / len(c) ** 0.5:.3f}   "
                    if c is not None and not np.isnan(c[:, which]).any()
                    else " " * 16
                    for c in cells
                )
                print(f"{name:16s} {stream:36s} {shown}")


def to_figure(found: dict[tuple[str, str, int], np.ndarray], name: str, task: str) -> Figure:
    """Return the figure of regret in hindsight as n grows, on one data set."""
    streams = [stream for stream in STREAMS if stream.startswith(task)]
    labels = list(dict.fromkeys(stream.split(", ")[1] for stream in STREAMS))
    series = []
    for stream in streams:
        points = []
        for n in (n for n in SIZES if (name, stream, n) in found):
            runs = found[name, stream, n][:, 0]
            mean, error = float(runs.mean()), float(runs.std(ddof=1) / len(runs) ** 0.5)
            points.append(Point(n, mean, (mean - error, mean + error)))
        label = stream.removeprefix(f"{task}, ")
        style = Style(labels.index(label), labels.index(label))
        series.append(Series(label, tuple(points), style))
    return Figure(
        f"{task}: {name}",
        Axis("records in the stream n", "n", scale="log"),
        Axis("average regret", scale="linear", include=(0.0,)),
        tuple(series),
        intervals="standard errors of the mean",
    )


def draw(found: dict[tuple[str, str, int], np.ndarray], page: Path, docs: Path) -> None:
    """Write a page with all figures, and the figures of diabetes for the documentation."""
    names = list(dict.fromkeys(cell[0] for cell in found))
    groups = {task: [to_figure(found, name, task) for name in names] for task in ("AUC", "metric")}
    body = "".join(write_group(task, figures) for task, figures in groups.items())
    every = [figure for figures in groups.values() for figure in figures]
    page.write_text(write_page("Average regret of private streams", body, every), "utf-8")
    for task, figures in groups.items():
        target = docs / ("online-regret.svg" if task == "AUC" else "online-regret-metric.svg")
        if "diabetes" in names:
            target.write_text(write_svg(figures[names.index("diabetes")]), "utf-8")


def main() -> None:
    """Print the tables and draw the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="directory of the data sets")
    parser.add_argument("--dataset", action="append", choices=DATA, help="run this one only")
    parser.add_argument("--permutations", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--page", type=Path, default=Path("online-regret.html"))
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    given = parser.parse_args()
    found = table(given.dataset or DATA, given.data, given.permutations, given.jobs)
    show(found)
    show_bounds(found, given.data)
    draw(found, given.page, given.docs)


if __name__ == "__main__":
    main()
