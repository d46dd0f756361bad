"""Audit every algorithm on its worst neighbours; draw docs/audit.svg and docs/audit-pure.svg.

Run with ``python examples/audit_all.py``, which also prints the numbers; it takes minutes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pairdp import Budget
from pairdp.algorithms import (
    Algorithm,
    EpochGradientDescent,
    FisherMetric,
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
from pairdp.drawing import Axis, Figure, Point, Series, Style, write_svg
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
    """Return the algorithm with few steps if it has steps, as every sample is a run."""
    noisy = isinstance(algorithm, NoisyGradientDescent)
    if noisy or (isinstance(algorithm, GradientDescent) and algorithm.output == "average"):
        return replace(algorithm, **FEW)
    if isinstance(algorithm, EpochGradientDescent):
        return replace(algorithm, step_size=0.5)  # larger ones reach the boundary of the ball
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
    "Fisher metric": (FisherMetric(buckets=3), METRIC),
}


def audited(
    name: str, algorithm: Algorithm, problem: Problem, budget: Budget
) -> AuditReport | None:
    """Return the report of an algorithm and print it as a row of a table; None without a plan."""
    try:
        plan = algorithm.plan(problem, N, FEATURES, budget)
    except ValueError:
        return None  # it has no pure form
    first = audit_plan(plan, climbs=10, runs=100)
    how, runs = ("draws", DRAWS) if "draws" in first.notes[0] else ("runs", RUNS)
    report = audit_plan(plan, climbs=10, runs=runs)
    print(
        f"| {name} | {budget.epsilon:g}, {budget.delta:g} | {report.certificate_epsilon:.4g} | "
        f"{report.lower_bound:.3g} | {how} | {report.verdict} |",
        flush=True,
    )
    return report


def to_figure(budget: Budget, reports: dict[str, AuditReport]) -> Figure:
    """Return a bar for each audited ε, with a line from there to the ε of the certificate."""
    series = [
        Series(
            name,
            (Point(0, report.lower_bound, (report.lower_bound, report.certificate_epsilon)),),
            Style(1 if "draws" in report.notes[0] else 5),
        )
        for name, report in reports.items()
    ]
    return Figure(
        f"ε = {budget.epsilon:g}, δ = {budget.delta:g}",
        Axis(""),
        Axis("audited ε: dark by draws of the noise, light by full runs"),
        tuple(series),
        mark="bar",
        intervals="up to the ε of the certificate",
    )


def printed() -> dict[str, AuditReport]:
    """Return audits of printed noise whose claims are false."""
    dpgdc2 = NoisyGradientDescent(steps=1, step_size=0.1)
    kang = NoisyGradientDescent(
        "last", 1, 0.1, projected=False, printed_rule="kang", printed_lipschitz=1.0
    )
    free = Problem(TightLoss(), L2Ball(10.0))
    # Tuned: a random first iterate would need a full run for each draw.
    noise: Any = {"calibration": "printed", "schedule": "tuned", "runs": DRAWS}
    return {
        "DPGDC2 as printed, T = 1": audit_algorithm(dpgdc2, free, N, 1, Budget(2.0, 1e-5), **noise),
        "Kang 2021 as printed, metric, G = 1": audit_algorithm(
            kang, METRIC, N, FEATURES, Budget(1.0, 1e-5), **noise
        ),
    }


def main() -> None:
    """Audit all, print the reports, and draw the figures."""
    docs = Path(__file__).parents[1] / "docs"
    for file, budget in (("audit.svg", APPROXIMATE), ("audit-pure.svg", PURE)):
        found = {name: audited(name, *case, budget) for name, case in CASES.items()}
        reports = {name: report for name, report in found.items() if report is not None}
        (docs / file).write_text(write_svg(to_figure(budget, reports)), "utf-8")
    for name, report in printed().items():
        print(
            f"| {name} | {report.claimed.epsilon:g}, {report.claimed.delta:g} | "
            f"{report.lower_bound:.4g} | {report.verdict} |"
        )


if __name__ == "__main__":
    main()
