"""Average regret of private streams against their length, on the papers' data.

Run with ``python examples/online_regret.py --data DIR``, DIR having the data sets' CSVs (see
`pairdp.studies.data`); it needs the extra ``plot``, prints tables and writes
docs/online-regret.svg.

Every stream has the same budget, ε = 1 and δ = 1e-5. Features are standardised by all records, as
the papers evidently did, so this is a study of streams and no private analysis. Regret is that of
Huai 2020: against the best fixed model in hindsight (equation 4), and against the best one on
held-out records (equation 5), both over n - 1. Part of the first falls because a fixed model fits
few records too well; the second has none of that.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from pairdp import Budget, NoiseSource
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import LeastSquaresRanking, LogisticMetric
from pairdp.online import OnlineAlgorithm, OnlineDescent, OnlineMoments
from pairdp.problem import Problem
from pairdp.studies.protocols import prepared
from pairdp.studies.regret import generalized_regret, regret

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
    "AUC, OnPairC": Stream(AUC, lambda n: OnlineDescent()),
    "AUC, OnPairC with noise on models": Stream(AUC, lambda n: OnlineDescent(noise="models")),
    "AUC, batches of √n": Stream(AUC, lambda n: OnlineDescent(batch_size=round(n**0.5))),
    "metric, OnPairC": Stream(METRIC, lambda n: OnlineDescent()),
    "metric, OnPairC with noise on models": Stream(METRIC, lambda n: OnlineDescent(noise="models")),
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
    """Return both average regrets of one stream; NaN for the second when few are held out."""
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
    directory: Path | None, permutations: int, jobs: int
) -> dict[tuple[str, str, int], np.ndarray]:
    """Return both regrets of every stream, data set and size, for each permutation."""
    lengths = {name: len(prepared(name, "paper", directory).y) for name in DATA}
    cells = [
        (name, stream, n)
        for name in DATA
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


def show(found: dict[tuple[str, str, int], np.ndarray]) -> None:
    """Print means with their standard errors."""
    for which, title in enumerate(("in hindsight (equation 4)", "on held-out records (5)")):
        print(f"\naverage regret {title}")
        print(f"{'':53s}" + "".join(f"n = {n:<12d}" for n in SIZES))
        for name in DATA:
            for stream in STREAMS:
                cells = [found.get((name, stream, n)) for n in SIZES]
                shown = "".join(
                    f"{c[:, which].mean():.3f} ± {c[:, which].std(ddof=1) / len(c) ** 0.5:.3f}   "
                    if c is not None and not np.isnan(c[:, which]).any()
                    else " " * 16
                    for c in cells
                )
                print(f"{name:16s} {stream:36s} {shown}")


def picture(found: dict[tuple[str, str, int], np.ndarray], path: Path) -> None:
    """Draw regret in hindsight against n."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "pairdp"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(DATA), figsize=(3 * len(DATA), 6.3), sharex=True)
    labels = list(dict.fromkeys(stream.split(", ")[1] for stream in STREAMS))
    for column, name in enumerate(DATA):
        for row, task in enumerate(("AUC", "metric")):
            axis = axes[row, column]
            for stream in (s for s in STREAMS if s.startswith(task)):
                sizes = [n for n in SIZES if (name, stream, n) in found]
                cells = [found[name, stream, n][:, 0] for n in sizes]
                label = stream.removeprefix(f"{task}, ")
                axis.errorbar(
                    sizes,
                    [c.mean() for c in cells],
                    [c.std(ddof=1) / len(c) ** 0.5 for c in cells],
                    marker="o",
                    markersize=3,
                    label=label,
                    color=f"C{labels.index(label)}",
                )
            axis.set_xscale("log")
            axis.set_ylim(bottom=0)
            axis.set_title(f"{task}: {name}", fontsize=10)
            axis.set_xticks(SIZES, [str(n) for n in SIZES])
            axis.minorticks_off()
            axis.grid(alpha=0.3)
    for row in range(2):
        axes[row, 0].set_ylabel("average regret")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.supxlabel("records in the stream", fontsize=11)
    figure.legend(handles, names, loc="upper center", ncols=len(labels), frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Print the tables and draw the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="where the data sets' CSVs are")
    parser.add_argument("--permutations", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("docs/online-regret.svg"))
    given = parser.parse_args()
    found = table(given.data, given.permutations, given.jobs)
    show(found)
    picture(found, given.out)


if __name__ == "__main__":
    main()
