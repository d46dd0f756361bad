"""What `PrivateSearch` finds and costs on adult and breast cancer, against one fit by "auto".

Free candidates are eight ridges on the same noisy moments, and eight scorecards on the same noisy
histograms and gradients, with other smoothing and shrinkage. In each of ten runs, with another
split and other noise, the AUC on test records of the chosen candidate is compared with that of the
best of the eight, and with what the plan said beforehand. Paid candidates are kinds of models,
which share the budget; eight shares of the budget for second moments are paid for in two ways. All
are compared with `PrivateRanker` with its defaults, which has the whole budget on all records.
Nothing was chosen by looking at these results.
"""

from __future__ import annotations

import warnings
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from benchmarks.utility.tables import DELTA, Split, mixed_table, paper_table
from pairdp import (
    NoSignalWarning,
    PrivateRanker,
    PrivateScorecard,
    PrivateSearch,
    SearchWarning,
)
from pairdp.algorithms import MomentRelease
from pairdp.algorithms.plan import Progress
from pairdp.selection.run import SearchRecords, fit_candidates, parts_of, source_of

EPSILON = 1.0
RUNS, FEWER = 10, 5
CLOSE = 0.005
RIDGES = (0.0, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 1.0)
FREE: dict[str, tuple[Any, Any]] = {
    "ridges": (PrivateRanker, [{"algorithm": MomentRelease(ridge=ridge)} for ridge in RIDGES]),
    "scorecards": (
        PrivateScorecard,
        {"smoothing": [0.0, 1.0, 10.0, 100.0], "shrinkage": [0.0, 0.5]},
    ),
}
PAID: dict[str, list[dict[str, Any]]] = {
    "2 models": [{"model": "linear"}, {"model": "additive"}],
    "3 models": [{"model": "linear"}, {"model": "additive"}, {"model": "quadratic"}],
    "4 algorithms": [
        {"model": "additive"},
        {"model": "quadratic"},
        {"algorithm": "moments"},
        {"algorithm": "DPGDC2"},
    ],
}
SHARES = [{"algorithm": MomentRelease(share=s)} for s in np.geomspace(0.01, 0.6, 8).tolist()]
PAID |= {"8 shares, split": SHARES, "8 shares, drawn": SHARES}
TABLES = (("adult", 32_561, 0.24), ("cancer_wdbc", 380, 0.37))


@cache
def table(name: str, n: int, seed: int) -> Split:
    """Return records to learn from and to judge on; adult has its own test part."""
    return mixed_table(name, n, seed) if name == "adult" else paper_table(name, n, seed)


def records(name: str, n: int, run: int) -> Split:
    """Return the records of a run."""
    return table(name, n, 0 if name == "adult" else run)


@cache
def auto(name: str, n: int) -> float:
    """Return the mean AUC of `PrivateRanker` with its defaults."""
    areas = []
    for run in range(FEWER):
        split = records(name, n, run)
        ranker = PrivateRanker(EPSILON, DELTA, schema=split.schema, random_state=run)
        areas.append(ranker.fit(split.train).score(split.test))
    return float(np.mean(areas))


def free_runs(name: str, n: int, share: float, kind: str) -> dict[str, Any]:
    """Return how often a search is close to the best of free candidates, and the AUCs."""
    lost, chosen, best, spread = [], [], [], []
    for run in range(RUNS):
        split = records(name, n, run)
        made, candidates = FREE[kind]
        search = PrivateSearch(
            made(EPSILON, DELTA, schema=split.schema),
            candidates,
            held_out_seed=run,
            share=share,
            random_state=run,
        ).fit(split.train)
        plan = search.plan_
        training, _ = parts_of(plan, SearchRecords(split.train))
        models = fit_candidates(plan, training, source_of(plan, run), None, Progress(False))
        areas = [model.score(split.test) for model in models]
        lost.append(max(areas) - areas[search.best_index_])
        chosen.append(areas[search.best_index_])
        best.append(max(areas))
        spread.append(max(areas) - min(areas))
    return {
        "plan": plan,
        "close": int(np.sum(np.array(lost) <= CLOSE)),
        "worst": max(lost),
        "spread": np.mean(spread),
        "chosen": np.mean(chosen),
        "best": np.mean(best),
    }


def paid_runs(
    name: str, n: int, share: float, candidates: list[dict[str, Any]], method: Any
) -> tuple[float, float, bool]:
    """Return the mean AUC of the search, its predicted cost, and whether it warned."""
    found = []
    for run in range(FEWER):
        split = records(name, n, run)
        ranker = PrivateRanker(EPSILON, DELTA, schema=split.schema)
        search = PrivateSearch(
            ranker, candidates, held_out_seed=run, share=share, random_state=run, method=method
        ).fit(split.train)
        found.append(search.score(split.test))
    plan = search.plan_
    return float(np.mean(found)), plan.cost, bool(plan.warnings)


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore", SearchWarning)  # the tables have a column for them
    warnings.simplefilter("ignore", NoSignalWarning)
    print(f"ε = {EPSILON:g}, δ = {DELTA:g}; a fifth of the records is held out")
    print(f"8 free candidates, {RUNS} runs, within {CLOSE} of the best candidate")
    head = "close   worst   spread  chosen  best    auto    said before"
    print(f"  data          n     candidates  {head}")
    for (name, n, share), kind in product(TABLES, FREE):
        row = free_runs(name, n, share, kind)
        likely = row["plan"].selection.likely_loss(share)
        said = f"at most {likely:.4f} in 9 of 10" + (": too few" if likely > CLOSE else "")
        print(
            f"  {name:12s} {n:6d}  {kind:10s}  {row['close']:2d}/{RUNS}  {row['worst']:.4f}  "
            f"{row['spread']:.4f}  {row['chosen']:.4f}  {row['best']:.4f}  {auto(name, n):.4f}  "
            f"{said}",
            flush=True,
        )
    print(f"paid candidates, {FEWER} runs")
    print("  data          n     candidates       search  auto    difference  predicted  warned")
    for name, n, share in TABLES:
        for label, candidates in PAID.items():
            method = "repeat" if label.endswith("drawn") else "split"
            found, cost, warned = paid_runs(name, n, share, candidates, method)
            print(
                f"  {name:12s} {n:6d}  {label:15s}  {found:.4f}  {auto(name, n):.4f}  "
                f"{found - auto(name, n):+.4f}     {-cost:+.4f}    {'yes' if warned else 'no'}",
                flush=True,
            )


if __name__ == "__main__":
    main()
