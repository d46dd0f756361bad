"""Audit every algorithm on its worst neighbours and draw docs/audit.svg.

Run with ``python examples/audit_all.py`` after ``pip install "pairdp[plot]"``; it takes minutes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from pairdp import Budget
from pairdp.algorithms import (
    Algorithm,
    EpochGradientDescent,
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    PairwiseSGD,
    ScatterMetric,
    WithThreshold,
)
from pairdp.algorithms.registry import algorithms
from pairdp.audit import AuditReport, TightLoss, audit_algorithm, audit_plan
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import LeastSquaresRanking, LogisticMetric, LogisticPointwise, LogisticRanking
from pairdp.online import OnlineDescent, OnlineMoments
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.problem import Problem

N, FEATURES = 4, 2
APPROXIMATE, PURE = Budget(4.0, 1e-5), Budget(2.0)
DRAWS, RUNS = 10_000_000, 4000
TIGHT = Problem(TightLoss(), L2Ball(10.0), 0.5)
SQUARES = Problem(LeastSquaresRanking(), L2Ball(1.0))
METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
POINTS = PointwiseProblem(LogisticPointwise(), L2Ball(1.0), 0.1)
FEW = {"steps": 2, "step_size": 0.2}


def short(algorithm: Any) -> Any:
    """Return the algorithm with few steps, where it has such, as every sample is a run."""
    noisy = isinstance(algorithm, NoisyGradientDescent)
    if noisy or (isinstance(algorithm, GradientDescent) and algorithm.output == "average"):
        return replace(algorithm, **FEW)
    if isinstance(algorithm, EpochGradientDescent):
        return replace(algorithm, step_size=0.5)  # else it runs into the edge of the ball
    return replace(algorithm, steps=3) if isinstance(algorithm, GradientDescent) else algorithm


CASES: dict[str, tuple[Algorithm, Problem]] = {
    **{
        name: (short(algorithm), TIGHT)
        for name, algorithm in algorithms("pairs", published=True).items()
    },
    **{
        name: (short(algorithm), POINTS)
        for name, algorithm in algorithms("records", published=True).items()
    },
    "mini-batches of 3": (NoisyGradientDescent(**FEW, batch_size=3), TIGHT),  # type: ignore[arg-type]
    "pairwise SGD in passes": (PairwiseSGD(), TIGHT),
    "online, noise in gradients": (OnlineDescent(), TIGHT),
    "online, noise on models": (OnlineDescent(noise="models"), TIGHT),
    "online moments": (OnlineMoments(), SQUARES),
    "minimiser": (MinimizerRelease(), TIGHT),
    "descent with threshold": (WithThreshold(GradientDescent(steps=2)), TIGHT),
    "logistic ranking, DPGDSC": (
        short(algorithms("pairs", published=True)["DPGDSC"]),
        Problem(LogisticRanking(), L2Ball(1.0), 0.5),
    ),
    "logistic metric, DPGDC": (short(algorithms("pairs", published=True)["DPGDC"]), METRIC),
    "moments of classes": (MomentRelease(), SQUARES),
    "moments of pairs": (MomentRelease("pair"), SQUARES),
    "metric from scatter": (ScatterMetric(), METRIC),
}


def audited(algorithm: Algorithm, problem: Problem, budget: Budget) -> AuditReport | None:
    """Return the report of an algorithm, by draws of its noise where that can be done."""
    try:
        plan = algorithm.plan(problem, N, FEATURES, budget)
    except ValueError:
        return None  # it has no pure form
    first = audit_plan(plan, climbs=10, runs=100)
    runs = DRAWS if "draws" in first.notes[0] else RUNS
    return audit_plan(plan, climbs=10, runs=runs)


def told(name: str, algorithm: Algorithm, problem: Problem, budget: Budget) -> AuditReport | None:
    """Return the report of an algorithm, and print it as a row of a table."""
    report = audited(algorithm, problem, budget)
    if report is not None:
        how = "draws" if "draws" in report.notes[0] else "runs"
        print(
            f"| {name} | {budget.epsilon:g}, {budget.delta:g} | {report.certificate_epsilon:.4g} | "
            f"{report.lower_bound:.3g} | {how} | {report.verdict} |",
            flush=True,
        )
    return report


def printed() -> dict[str, AuditReport]:
    """Return audits of noise as papers print it that does not hold."""
    dpgdc2 = NoisyGradientDescent(steps=1, step_size=0.1)
    kang = NoisyGradientDescent(
        "last", 1, 0.1, projected=False, printed_rule="kang", printed_lipschitz=1.0
    )
    free = Problem(TightLoss(), L2Ball(10.0))
    return {
        "DPGDC2 as printed, T = 1": audit_algorithm(
            dpgdc2, free, N, 1, Budget(2.0, 1e-5), calibration="printed", runs=DRAWS
        ),
        "Kang 2021 as printed, metric, G = 1": audit_algorithm(
            kang, METRIC, N, FEATURES, Budget(1.0, 1e-5), calibration="printed", runs=DRAWS
        ),
    }


def main() -> None:
    """Audit all, print what was found, and draw the picture."""
    budgets = (APPROXIMATE, PURE)
    found = [
        {name: told(name, *case, budget) for name, case in CASES.items()} for budget in budgets
    ]
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 6.4), sharey=True)
    for axes, budget, reports in zip(panels, budgets, found, strict=True):
        for place, report in enumerate(reports.values()):
            if report is None:
                axes.text(0.02, place, "no pure form", va="center", fontsize=8, color="gray")
                continue
            drawn = "draws" in report.notes[0]
            color = "tab:blue" if drawn else "tab:cyan"
            axes.barh(place, report.lower_bound, color=color, height=0.62)
            if report.lower_bound == 0:
                axes.text(0.02, place, "0", va="center", fontsize=8, color=color)
            axes.plot([report.certificate_epsilon] * 2, [place - 0.4, place + 0.4], "k-", lw=2)
        axes.set_xlim(0, 1.08 * budget.epsilon)
        axes.set_title(f"ε = {budget.epsilon:g}, δ = {budget.delta:g}", fontsize=11)
        axes.set_xlabel("ε")
        axes.grid(axis="x", alpha=0.3)
    panels[0].set_yticks(range(len(CASES)), list(CASES), fontsize=9)
    panels[0].invert_yaxis()
    for label, color in (("draws of the noise", "tab:blue"), ("end to end", "tab:cyan")):
        panels[0].barh([0], [0], color=color, label=f"audited ε, {label}")
    panels[0].plot([], [], "k-", lw=2, label="certificate ε")
    figure.legend(loc="lower center", ncols=3, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    target = Path(__file__).parents[1] / "docs" / "audit.svg"
    figure.savefig(target, metadata={"Date": None})
    print(f"wrote {target.name}")
    for name, report in printed().items():
        print(
            f"| {name} | {report.claimed.epsilon:g}, {report.claimed.delta:g} | "
            f"{report.lower_bound:.4g} | {report.verdict} |"
        )


if __name__ == "__main__":
    main()
