"""AUC of "auto" with conditioned descent among its candidates, and without it, on synthetic data.

It is measured on shapes of data that it was not tuned on, `HELD_OUT` of `auto_ranker`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.auto_ranker import HELD_OUT, MOST, Setting, data, settings
from pairdp.algorithms import ConditionedDescent
from pairdp.algorithms.choice import Candidate
from pairdp.algorithms.choice.ranking import choose_ranker
from pairdp.privacy import Budget, NoiseSource
from pairdp.privacy.accounting.gaussian import gdp_mu

Array = NDArray[np.float64]
Parts = tuple[Array, Array, Array, Array]
COUNT, RUNS = 140, 5
RANGES = ((0.0, 2.0), (2.0, 5.0), (5.0, 20.0), (20.0, 100.0), (5.0, 100.0), (100.0, np.inf))


def _area(candidate: Candidate, setting: Setting, parts: Parts) -> float:
    """Return the mean AUC of some runs."""
    x, y, test_x, test_y = parts
    plan = candidate.algorithm.plan(candidate.problem, setting.n, setting.features, setting.budget)
    records = candidate.problem.records(x, y)
    return float(
        np.mean(
            [
                roc_auc_score(
                    test_y, test_x @ plan.run(records, NoiseSource(i), progress=False).parameters
                )
                for i in range(RUNS)
            ]
        )
    )


def main() -> None:
    """Print mean AUC by nµ/d and by shape, with the standard error of the difference."""
    rows = defaultdict(list)
    for drawn in settings(HELD_OUT, COUNT, 2025, MOST):
        setting = drawn
        if drawn.budget.is_pure:
            setting = replace(drawn, budget=Budget(drawn.budget.epsilon, 1e-6))
        choice = choose_ranker(setting.n, setting.features, setting.budget)
        others = (c for c in choice.candidates if not isinstance(c.algorithm, ConditionedDescent))
        before, parts = next(others), data(setting)
        old = _area(before, setting, parts)
        new = old if before is choice.best else _area(choice.best, setting, parts)
        mu = gdp_mu(setting.budget.epsilon, setting.budget.delta)
        ratio = setting.n * mu / setting.features
        rows[setting.shape].append((old, new))
        for low, high in RANGES:
            if low <= ratio < high:
                rows[f"nµ/d from {low:g} to {high:g}"].append((old, new))
    print(f"{COUNT} data sets, n = 100 to {MOST}, d = 2 to 100, ε = 0.1 to 8, δ > 0, replace one")
    print(f"  {'':24s} {'without':>8s} {'with':>8s} {'difference':>16s}  data sets")
    for name, pairs in sorted(rows.items()):
        old_areas, new_areas = np.array(pairs).T
        gain = new_areas - old_areas
        error = gain.std() / np.sqrt(len(gain))
        print(
            f"  {name:24s} {old_areas.mean():8.3f} {new_areas.mean():8.3f} "
            f"{gain.mean():+8.3f} ± {error:.3f}  {len(gain)}"
        )


if __name__ == "__main__":
    main()
