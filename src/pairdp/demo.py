"""The demonstration: fit private AUC rankers to real data, and state their privacy.

Run with ``python -m pairdp.demo`` or ``make demo``. Plans need only public facts. The data are
public, so the demonstration may look at how well each model ranks held-out records.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from pairdp.algorithms import Algorithm, MinimizerRelease, MomentRelease, published
from pairdp.constraints import L2Ball
from pairdp.losses import LeastSquaresRanking, LogisticRanking
from pairdp.privacy import Budget, NoiseSource, verify
from pairdp.problem import Problem

Array = NDArray[np.float64]
_DELTA = 1e-6
_EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0)
_HELD_OUT = 169
_SEEDS = 8
# Round upper bounds of the ten measures (mean, error, worst), as a clinic would know them.
_UPPER = (
    (30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.35, 0.1),
    (3, 5, 25, 550, 0.04, 0.15, 0.4, 0.06, 0.08, 0.03),
    (40, 50, 260, 4300, 0.25, 1.1, 1.3, 0.3, 0.7, 0.21),
)


def _load() -> tuple[Array, Array]:
    """Return features scaled into the unit ball by public bounds, and labels (+1: malignant)."""
    data = load_breast_cancer()
    upper = np.ravel(_UPPER)
    x = (2 * np.clip(data.data / upper, 0.0, 1.0) - 1) / math.sqrt(upper.size)
    return x, np.where(data.target == 0, 1.0, -1.0)


def _contestants() -> dict[str, tuple[Algorithm, Problem]]:
    logistic = Problem(LogisticRanking(temperature=0.2), L2Ball(1.0), regularization=1.0)
    convex = Problem(LogisticRanking(temperature=0.2), L2Ball(1.0))
    return {
        "moment release": (MomentRelease(), Problem(LeastSquaresRanking(), L2Ball(1.0))),
        "minimiser release": (MinimizerRelease(), logistic),
        "DPGDSC": (published("DPGDSC"), logistic),
        "DPEGD": (published("DPEGD"), convex),
    }


def _area(algorithm: Algorithm, problem: Problem, budget: Budget | None, calibration: str) -> float:
    """Return the mean AUC on held-out records, over splits and seeds."""
    x, y = _load()
    n = len(y) - _HELD_OUT
    plan = algorithm.plan(problem, n, x.shape[1], budget, calibration=calibration)  # type: ignore[arg-type]
    areas = []
    for seed in range(_SEEDS):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:n], order[n:]
        fit = plan.run(problem.records(x[train], y[train]), NoiseSource(seed))
        areas.append(float(roc_auc_score(y[test], x[test] @ fit.parameters)))
    return float(np.mean(areas))


def _table() -> list[str]:
    head = "".join(f"   ε = {epsilon:<4g}" for epsilon in _EPSILONS)
    lines = [f"{'':34s}{head}   no noise"]
    for name, (algorithm, problem) in _contestants().items():
        for calibration in ("certified", "printed"):
            if calibration == "printed" and not name.startswith("DP"):
                continue
            budgets = [Budget(epsilon, _DELTA) for epsilon in _EPSILONS]
            areas = [_area(algorithm, problem, budget, calibration) for budget in budgets]
            if calibration == "certified":
                areas.append(_area(algorithm, problem, None, calibration))
            label = f"{name}, {calibration}"
            lines.append(f"{label:34s}" + "".join(f"   {area:8.3f}" for area in areas))
    return lines


def main() -> None:
    """Print how private rankers do on the breast-cancer data, and one privacy statement."""
    x, _ = _load()
    n = len(x) - _HELD_OUT
    size = f"{n} records to learn from, {_HELD_OUT} held out, {x.shape[1]} features"
    print(f"Breast-cancer data: {size}.")
    print(f"\nAUC on held-out records at δ = {_DELTA:g}, mean of {_SEEDS} splits\n")
    print("\n".join(_table()))
    algorithm, problem = _contestants()["moment release"]
    plan = algorithm.plan(problem, n, x.shape[1], Budget(1.0, _DELTA))
    fit = plan.run(problem.records(*(part[:n] for part in _load())))
    print(f"\nThe privacy statement of one fit at ε = 1\n{'-' * 41}")
    print(fit.certificate.statement())
    print("\nChecked by other routes than it was made\n" + "-" * 40)
    print(verify(fit.certificate.to_json()))


if __name__ == "__main__":
    main()
