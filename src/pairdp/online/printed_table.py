"""Comparison of the printed noise of Huai 2020 and certified noise, for streams of several lengths.

Run with ``python -m pairdp.online.printed_table``. AUC maximisation with the logistic loss on a
unit ball, ε = 1, δ = 1/n; printed noise is computed without burn-in (T₁ = 0), which would be longer
than the stream in most rows. Both readings are compared by the noise on the model: noise in
gradients is propagated through the steps (contracted by 1 - ηα each, without projection, which only
reduces it).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.printed.huai2020 import burn_in
from pairdp.constraints import L2Ball
from pairdp.losses import LogisticRanking
from pairdp.online.descent import OnlineDescent
from pairdp.privacy import Budget
from pairdp.privacy.bounds.stream_models import stream_drift
from pairdp.privacy.bounds.stream_schedule import stream_steps
from pairdp.problem import Problem

Array = NDArray[np.float64]
SIZES = (100, 1000, 10_000)
ALPHAS = (1e-3, 1e-2, 0.1, 1.0)


def noise_by_step(n: int, alpha: float) -> dict[str, Array]:
    """Return the standard deviation of the noise on the models of steps 2 … n."""
    problem = Problem(LogisticRanking(), L2Ball(1.0), alpha)
    budget = Budget(1.0, 1 / n)
    on_models = OnlineDescent(noise="models")
    printed = on_models.plan(problem, n, 2, budget, calibration="printed", schedule="tuned")
    models = on_models.plan(problem, n, 2, budget)
    gradients = OnlineDescent().plan(problem, n, 2, budget)
    scales = [plan.certificate.releases[0].mechanism.scale for plan in (printed, models, gradients)]  # type: ignore[union-attr]
    inputs = models.certificate.releases[0].sensitivity
    units = stream_drift(**dict(inputs.inputs)).moves()  # type: ignore[union-attr]
    return {
        "printed": scales[0] / np.arange(2, n + 1),
        "models": scales[1] * units[1:],
        "gradients": scales[2] * _propagated(problem, n),
    }


def _propagated(problem: Problem, n: int) -> Array:
    """Return the noise on models that results from unit noise in gradients."""
    alpha = problem.regularization
    smoothness = problem.loss.smoothness(problem.domain()) + alpha
    found, variance = [], 0.0
    for eta in stream_steps(n, alpha, smoothness).tolist():
        variance = (1 - eta * alpha) ** 2 * variance + eta**2
        found.append(math.sqrt(variance))
    return np.array(found)


def gain_row(n: int, alpha: float) -> dict[str, float]:
    """Return the printed noise at the end, and the reduction factors of both readings.

    ``…_end`` is at the end of the stream, ``…_rms`` the root mean square over the stream.
    """
    noise = noise_by_step(n, alpha)
    row = {"printed": float(noise["printed"][-1])}
    for name in ("models", "gradients"):
        row[f"{name}_end"] = row["printed"] / float(noise[name][-1])
        squares = [float(np.mean(noise[key] ** 2)) for key in ("printed", name)]
        row[f"{name}_rms"] = math.sqrt(squares[0] / squares[1])
    return row


def main() -> None:
    """Print the table."""
    print("Huai 2020, Algorithm 1: σ of the last model at ε = 1, δ = 1/n, logistic AUC, B = 1,")
    print("and the reduction by certified noise (in brackets: root mean square over the stream)")
    print(f"{'n':>7s} {'α':>6s} {'burn-in':>10s} {'printed σ':>10s}   noise on models", end="")
    print("   noise in gradients")
    for n in SIZES:
        for alpha in ALPHAS:
            problem = Problem(LogisticRanking(), L2Ball(1.0), alpha)
            steps = burn_in(problem.loss.smoothness(problem.domain()) + alpha, alpha)
            row = gain_row(n, alpha)
            cells = "   ".join(
                f"{row[f'{name}_end']:7.1f}x [{row[f'{name}_rms']:6.0f}x]"
                for name in ("models", "gradients")
            )
            print(f"{n:7d} {alpha:6g} {steps:10.3g} {row['printed']:10.4g}   {cells}")


if __name__ == "__main__":
    main()
