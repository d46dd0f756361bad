"""The demonstration: plan a private AUC ranker on real data, and state its privacy.

Run with ``python -m pairdp.demo`` or ``make demo``. A plan needs only public facts,
so nothing but the number of records and of features is taken from the data.
"""

from __future__ import annotations

import math

from sklearn.datasets import load_breast_cancer

from pairdp.privacy import (
    Budget,
    Certificate,
    GaussianMechanism,
    Release,
    Sensitivity,
    verify,
)

_DELTA = 1e-6
_EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0)
_DATA_NORM = 1.0


def plan_ranker(n: int, dimension: int, budget: Budget) -> Certificate:
    """Return the certificate of a ranker from one noisy difference of class sums.

    The direction :math:`v = (n_-Σ_+x - n_+Σ_-x)/(n(n-1))` is the gradient at zero of every
    smooth pairwise ranking loss over all pairs, up to a factor; scoring by v ranks
    positives above negatives. Its replace-one sensitivity is 2R/n.
    """
    sensitivity = Sensitivity.of("difference of class sums", data_norm=_DATA_NORM, n=n)
    mechanism = GaussianMechanism.calibrate(budget, sensitivity.value)
    return Certificate(
        algorithm="A linear AUC ranker from the difference of class sums",
        budget=budget,
        n=n,
        releases=(Release("ranking direction", mechanism, sensitivity, dimension),),
        problem={"data_norm": _DATA_NORM, "features": dimension, "constraint": None},
        assumptions=(
            f"Every record is clipped to norm {_DATA_NORM:g} after scaling by public bounds.",
            "Labels are binary.",
        ),
    )


def _table(n: int, dimension: int) -> list[str]:
    sensitivity = Sensitivity.of("difference of class sums", data_norm=_DATA_NORM, n=n).value
    lines = ["     ε   noise (certified)   noise (textbook formula)   norm of all the noise"]
    for epsilon in _EPSILONS:
        budget = Budget(epsilon, _DELTA)
        ours = GaussianMechanism.calibrate(budget, sensitivity)
        printed = GaussianMechanism.calibrate(budget, sensitivity, calibration="printed")
        lines.append(
            f"{epsilon:6.1f}   {ours.scale:17.5f}   {printed.scale:24.5f}   "
            f"{ours.scale * math.sqrt(dimension):21.4f}"
        )
    return lines


def main() -> None:
    """Print the plan of a private ranker on the breast-cancer data, and its certificate."""
    n, dimension = load_breast_cancer().data.shape
    budget = Budget(1.0, _DELTA)
    certificate = plan_ranker(n, dimension, budget)
    print(f"Breast-cancer data: n = {n} records, {dimension} features.")
    print(f"\nPlanning a private ranker at δ = {_DELTA:g}, from these two numbers alone:\n")
    print("\n".join(_table(n, dimension)))
    print(f"\nThe privacy statement at ε = {budget.epsilon:g}\n{'-' * 31}")
    print(certificate.statement())
    print("\nChecked by other routes than it was made\n" + "-" * 40)
    print(verify(certificate.to_json()))


if __name__ == "__main__":
    main()
