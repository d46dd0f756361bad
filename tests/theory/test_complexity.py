"""Rademacher complexities are not below those that are measured."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp.theory import ball_complexity, nuclear_ball_complexity


def signed_sums(t: int, features: int, kind: str, data_norm: float) -> tuple[float, float]:
    """Return E‖Σσ_kA_k‖/t for the Euclidean and the operator norm, by simulation."""
    rng, euclidean, operator = np.random.default_rng(0), [], []
    rows = rng.normal(size=(50, features))
    rows *= data_norm / np.linalg.norm(rows, axis=1)[:, None]
    for _ in range(200):
        anchor, others = rows[rng.integers(50)], rows[rng.integers(50, size=t)]
        difference, signs = anchor - others, rng.choice([-1.0, 1.0], size=t)
        if kind == "ranking":
            total = signs @ difference
            euclidean.append(np.linalg.norm(total) / t)
        else:
            total = difference.T @ (signs[:, None] * difference)
            euclidean.append(np.linalg.norm(total) / t)
            operator.append(np.linalg.norm(total, 2) / t)
    return float(np.mean(euclidean)), float(np.mean(operator)) if operator else 0.0


@pytest.mark.parametrize("t", [5, 100])
@pytest.mark.parametrize("data_norm", [0.5, 1.0])
def test_measured_complexities_are_below(t: int, data_norm: float) -> None:
    ranking, _ = signed_sums(t, 5, "ranking", data_norm)
    assert ranking < ball_complexity(t, 1.0, 2 * data_norm) < 2 * ranking
    frobenius, nuclear = signed_sums(t, 5, "metric", data_norm)
    assert frobenius < ball_complexity(t, 1.0, 4 * data_norm**2) < 3 * frobenius
    assert nuclear < nuclear_ball_complexity(t, 5, 1.0, data_norm)


def test_a_known_fourth_moment_is_used() -> None:
    """Differences of rows on a sphere in d dimensions have χ of about 16·3/(4d) at most."""
    rng, d, t = np.random.default_rng(1), 20, 2000
    rows = rng.normal(size=(2, 20_000, d))
    rows /= np.linalg.norm(rows, axis=2)[:, :, None]
    differences = rows[0] - rows[1]
    squares = np.sum(differences**2, axis=1)
    moment = differences.T @ (squares[:, None] * differences) / len(differences)
    chi = 1.1 * float(np.linalg.norm(moment, 2))
    sums = []
    for _ in range(20):
        x = differences[rng.integers(20_000, size=t)]
        signs = rng.choice([-1.0, 1.0], size=t)
        sums.append(np.linalg.norm(x.T @ (signs[:, None] * x), 2) / t)
    bound = nuclear_ball_complexity(t, d, 1.0, fourth_moment=chi)
    assert np.mean(sums) < bound < nuclear_ball_complexity(t, d, 1.0)


def test_too_few_features_for_the_nuclear_ball() -> None:
    with pytest.raises(ValueError, match="at least 3"):
        nuclear_ball_complexity(10, 2, 1.0)
