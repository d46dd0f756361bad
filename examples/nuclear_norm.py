"""Whether a nuclear-norm constraint helps private metric learning in high dimension.

Run with ``python examples/nuclear_norm.py`` (about two minutes). Yang 2021 ask whether metrics of
small nuclear norm, instead of small Frobenius norm, suffer less from the dimension. Here three
directions out of d tell two classes apart; pairwise SGD learns a metric on either set, without
noise and with certified noise, and 3 nearest neighbours judge it on held-out records.
"""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from pairdp.algorithms import PairwiseSGD
from pairdp.constraints import PSDFrobeniusBall, PSDNuclearBall
from pairdp.losses import HingeMetric
from pairdp.privacy import Budget, NoiseSource
from pairdp.problem import Problem

N, TEST, RUNS = 600, 600, 8
DIMENSIONS = (5, 10, 20, 40)
SETS = {"Frobenius": PSDFrobeniusBall(1.0), "nuclear": PSDNuclearBall(1.0)}
BUDGETS = {"without noise": None, "ε = 8": Budget(8.0, 1e-5), "ε = 2": Budget(2.0, 1e-5)}


def data(d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return records of norm at most 1 whose first three coordinates tell classes apart."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], N + TEST)
    x = rng.normal(size=(N + TEST, d))
    x[:, :3] = 0.5 * x[:, :3] + 0.8 * y[:, None]
    return x / (1.2 * np.linalg.norm(x, axis=1).max()), y


def accuracy(x: np.ndarray, y: np.ndarray, metric: np.ndarray) -> float:
    """Return how often three neighbours in a metric are right."""
    values, vectors = np.linalg.eigh(metric)
    z = x @ (vectors * np.sqrt(np.maximum(values, 0)))
    model = KNeighborsClassifier(3).fit(z[:N], y[:N])
    return float(model.score(z[N:], y[N:]))


def main() -> None:
    """Print mean accuracies and their standard errors."""
    print(f"3-NN accuracy, n = {N}, mean of {RUNS} data sets; rounded hinge, one pass")
    head = "".join(f"   {name + ', ' + budget:24s}" for budget in BUDGETS for name in SETS)
    print(f"{'d':>4s}   Euclid        {head}")
    for d in DIMENSIONS:
        sets = [data(d, seed) for seed in range(RUNS)]
        cells = [[accuracy(x, y, np.eye(d)) for x, y in sets]]
        for budget in BUDGETS.values():
            for constraint in SETS.values():
                problem = Problem(HingeMetric(width=0.5, temperature=0.1), constraint)
                plan = PairwiseSGD().plan(problem, N, d, budget)
                runs = []
                for seed, (x, y) in enumerate(sets):
                    fit = plan.run(problem.records(x[:N], y[:N]), NoiseSource(seed))
                    runs.append(accuracy(x, y, fit.parameters))
                cells.append(runs)
        row = "".join(
            f"   {np.mean(c):.3f} ± {np.std(c) / np.sqrt(RUNS):.3f}         " for c in cells
        )
        print(f"{d:4d}{row}")


if __name__ == "__main__":
    main()
