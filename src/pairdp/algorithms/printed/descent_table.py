"""Comparison of the printed and the required noise of published descent algorithms.

Run with ``python -m pairdp.algorithms.printed.descent_table``. For each algorithm, ε and δ:

- *printed*: the paper's σ, and the ε that it provides at δ, for any loss that the paper's theorem
  admits (their record diameter is 4G) and for the logistic loss;
- *required*: the smallest σ for any admissible loss, by exact accounting;
- *certified*: what this library uses for the logistic loss.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.algorithm import Algorithm
from pairdp.algorithms.plan import Plan
from pairdp.algorithms.registry import algorithms
from pairdp.constraints import Constraint, L2Ball, PSDFrobeniusBall
from pairdp.losses import Domain, LogisticMetric, LogisticRanking, PairwiseLoss
from pairdp.privacy import Budget
from pairdp.problem import Problem

Array = NDArray[np.float64]
EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0, 8.0)
_STEPS, _STEP_SIZE, _CONVEXITY = 100, 0.2, 0.1
_STRONGLY_CONVEX = ("DPGDSC", "OffPairStrC", "Kang2021")


@dataclass(frozen=True)
class AnyLoss(PairwiseLoss):
    """A loss of which only G and L are known, as in the papers: D_o = 2G and D_h = 4G."""

    of: PairwiseLoss

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Whether the loss is convex."""
        return self.of.convex

    @property
    def matrix(self) -> bool:  # type: ignore[override]
        """Whether the parameter is a matrix."""
        return self.of.matrix

    def value(self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array) -> Array:
        """Return the loss of each pair."""
        return self.of.value(parameters, x, y, other_x, other_y)

    def gradient(
        self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array
    ) -> Array:
        """Return a gradient for each pair."""
        return self.of.gradient(parameters, x, y, other_x, other_y)

    def lipschitz(self, domain: Domain) -> float:
        """Return G at the full radius, as in the papers."""
        return self.of.lipschitz(domain)

    def smoothness(self, domain: Domain) -> float:
        """Return L."""
        return self.of.smoothness(domain)


@dataclass(frozen=True)
class Row:
    """One row of the table; scales are those of the first release."""

    algorithm: str
    epsilon: float
    delta: float
    printed: float
    required: float
    certified: float
    true_epsilon_any_loss: float
    true_epsilon: float

    @property
    def is_about_one_loss(self) -> bool:
        """Whether the paper's claim is about this loss only, with the constant that it states."""
        return "its G" in self.algorithm

    @property
    def claim_holds(self) -> bool:
        """Whether the printed noise provides the printed ε for every loss of the claim."""
        truth = self.true_epsilon if self.is_about_one_loss else self.true_epsilon_any_loss
        return truth <= self.epsilon * (1 + 1e-9)


def _fixed(name: str, algorithm: Algorithm) -> Algorithm:
    """Return the algorithm with the steps of the table, so that all columns are comparable."""
    fields = {field.name for field in dataclasses.fields(algorithm)}  # type: ignore[arg-type]
    fixed: dict[str, object] = {}
    if "steps" in fields:
        fixed["steps"] = _STEPS
    if "step_size" in fields:
        fixed["step_size"] = _STEP_SIZE
    if "strong_convexity" in fields and name not in _STRONGLY_CONVEX:
        fixed["strong_convexity"] = _CONVEXITY
    return dataclasses.replace(algorithm, **fixed)  # type: ignore[type-var]


def _scale(plan: Plan) -> float:
    return float(getattr(plan.certificate.releases[0].mechanism, "scale"))  # noqa: B009


def _cases() -> Iterator[tuple[str, Algorithm, PairwiseLoss, Constraint]]:
    for name, algorithm in algorithms("pairs", published=True).items():
        if name.startswith(("Wang", "Yang")):  # see sgd_table
            continue
        yield name, _fixed(name, algorithm), LogisticRanking(), L2Ball(1.0)
    kang = _fixed("Kang2021", algorithms("pairs", published=True)["Kang2021"])
    for words, loss, constraint, stated in (
        ("Kang2021, ranking, its G = 2", LogisticRanking(), L2Ball(1.0), 2.0),
        ("Kang2021, metric, its G = 1", LogisticMetric(), PSDFrobeniusBall(1.0), 1.0),
    ):
        yield (
            words,
            dataclasses.replace(kang, printed_lipschitz=stated),  # type: ignore[type-var]
            loss,
            constraint,
        )


def noise_table(
    n: int = 1000,
    features: int = 10,
    epsilons: Sequence[float] = EPSILONS,
    deltas: Iterable[float] | None = None,
) -> list[Row]:
    """Return the table for n records.

    Parameters
    ----------
    n, features : int
        Public size of the data.
    epsilons : sequence of float
        The budgets' ε.
    deltas : iterable of float, optional
        The budgets' δ; 1/n, 1e-5 and 1e-8 by default.
    """
    rows = []
    for name, algorithm, loss, constraint in _cases():
        strong = _CONVEXITY if name.startswith(_STRONGLY_CONVEX) else 0.0
        own = Problem(loss, constraint, strong)
        any_loss = Problem(AnyLoss(loss), constraint, strong)
        for delta in deltas if deltas is not None else (1 / n, 1e-5, 1e-8):
            for epsilon in epsilons:
                budget = Budget(epsilon, delta)

                def plan(problem: Problem, calibration: str, budget: Budget = budget) -> Plan:
                    return algorithm.plan(  # noqa: B023
                        problem,
                        n,
                        features,
                        budget,
                        calibration=calibration,  # type: ignore[arg-type]
                        schedule="tuned",  # the same steps for all columns
                    )

                printed = plan(own, "printed")
                rows.append(
                    Row(
                        name,
                        epsilon,
                        delta,
                        _scale(printed),
                        _scale(plan(any_loss, "certified")),
                        _scale(plan(own, "certified")),
                        plan(any_loss, "printed").true_epsilon,
                        printed.true_epsilon,
                    )
                )
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--n", type=int, default=1000, help="number of records")
    parser.add_argument("--features", type=int, default=10, help="number of features")
    chosen = parser.parse_args(arguments)
    print(
        f"Noise of one run at n = {chosen.n}, {chosen.features} features, R = B = 1, λ = "
        f"{_CONVEXITY:g} where strongly convex, T = {_STEPS}, η = {_STEP_SIZE:g}"
    )
    head = f"{'algorithm':30s} {'δ':>8s} {'ε':>4s} {'printed σ':>11s} {'required':>11s}"
    print(f"{head} {'certified':>11s} {'gain':>6s}  true ε (any loss)  true ε (this loss)")
    for row in noise_table(chosen.n, chosen.features):
        flag = "" if row.claim_holds else "  CLAIM FALSE OR UNPROVED"
        print(
            f"{row.algorithm:30s} {row.delta:8.1e} {row.epsilon:4g} {row.printed:11.5g} "
            f"{row.required:11.5g} {row.certified:11.5g} {row.printed / row.certified:5.1f}x  "
            f"{row.true_epsilon_any_loss:17.4g}  {row.true_epsilon:18.4g}{flag}"
        )


if __name__ == "__main__":
    main()
