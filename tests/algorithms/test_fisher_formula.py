"""The Fisher metric without noise, against its formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pairdp import NoiseSource
from pairdp.algorithms import FisherMetric
from pairdp.algorithms.neighbour_error import Contrasts, neighbour_error
from pairdp.constraints import PSDFrobeniusBall
from pairdp.losses import LogisticMetric
from pairdp.problem import Problem


def by_hand(x: np.ndarray, y: np.ndarray, form: str) -> tuple[np.ndarray, float]:
    """Return the metric without noise, and a, from the formulas."""
    n, d = x.shape

    def scaled(center: np.ndarray, unit: np.ndarray | float) -> np.ndarray:
        z = (x - center) / unit
        return z / np.maximum(1.0, np.linalg.norm(z, axis=1))[:, None]

    def quantile(center: np.ndarray, share: float) -> float:
        """Return a quantile of distances, as if they were even between powers of two."""
        places = np.ceil(np.log2(np.linalg.norm(x - center, axis=1)))
        shares = [np.mean(places <= place) for place in np.arange(-20, 2)]
        return float(2 ** np.interp(share, shares, np.arange(-20, 2)))

    unit = quantile(np.zeros(d), 0.7)
    center = unit * scaled(np.zeros(d), unit).mean(axis=0)
    unit, classes = quantile(center, 0.3) * np.ones(d), y[:, None] == np.unique(y)
    sizes, sums, weights = [], [], []
    for _ in range(3):
        z = math.sqrt(d) * unit * scaled(center, unit)
        sizes.append(math.sqrt(math.pi / 2) * np.abs(z).mean(axis=0))
        sums.append(classes.T @ z / n)
        weights.append(1 / unit**2)
        unit = np.average(sizes, axis=0, weights=weights)
    deviations = unit
    z = math.sqrt(d) * scaled(center, deviations)
    shares = np.bincount(y) / n
    whole = np.average(sums, axis=0, weights=np.repeat(np.array(weights)[:, None], 3, axis=1))
    whole = whole / deviations
    means = (whole - shares[:, None] * whole.sum(axis=0)) / shares[:, None]
    # So many records that the largest prior variance, 256 times that of sampling, is certain.
    scatter = (256 / 257) ** 2 * (means.T * shares) @ means
    left = 256 / 257 * d * (len(shares) - 1) / n
    withins = [np.diag(1 - np.minimum(np.diag(scatter), 0.9))]
    if form == "full":
        total = z.T @ z / n
        off = total[~np.eye(d, dtype=bool)]
        kept = max(0.0, 1 - 1 / n / np.mean(off**2))
        within = kept * total + (1 - kept) * np.diag(np.diag(total)) - scatter
        withins.append(within + 0.05 * np.trace(within) / d * np.eye(d))
    flat = np.diag(deviations**2) / np.mean(deviations**2)
    own = 0.3 * flat * np.diag(scatter) / np.diag(scatter).max()

    def stretched(alone: float, times: float) -> np.ndarray:
        metric = np.zeros((d, d))
        for within in withins:
            inverse = np.linalg.inv(within)
            largest = np.linalg.eigvals(inverse @ scatter).real.max()
            part = inverse @ scatter @ inverse
            rest = times * (0.03 / 10**alone + 0.3 * left / np.trace(scatter))
            part += largest * (10**alone * own + rest * flat)
            metric += part / np.trace(part)
        return metric

    one, other = np.triu_indices(len(shares), 1)
    apart = 256 / 257 * (means[one] - means[other])
    sampled = 256 / 257 * (1 / shares[one] + 1 / shares[other]) / n
    contrasts = Contrasts(
        apart, np.outer(sampled, np.ones(d)), np.column_stack([shares[one], shares[other]])
    )
    tried = flat, stretched(0.0, 1.0), stretched(1.0, 1.0)
    errors = [neighbour_error(metric, withins[-1], contrasts, n) for metric in tried]
    gain, gain_alone = errors[0] - errors[1], errors[0] - errors[2]
    alone = min(max((gain_alone / gain - 0.85) / 0.15, 0.0), 1.0)
    metric = stretched(alone, min(max(0.15 / gain, 0.2), 8.0))
    metric /= np.outer(deviations, deviations)
    return metric / np.trace(metric), alone


# Where features separate less, the largest prior variance is a little less certain.
@pytest.mark.parametrize(("weak", "atol"), [(1.0, 1e-9), (0.4, 1e-6)])
@pytest.mark.parametrize("form", ["diagonal", "full"])
def test_without_noise_it_is_the_formula(form: str, weak: float, atol: float) -> None:
    rng, n, d = np.random.default_rng(0), 100_000, 10
    y = rng.integers(3, size=n)
    x = 0.02 * rng.normal(size=(n, d)) @ (np.eye(d) + 0.2 * rng.normal(size=(d, d)))
    j = np.arange(d)
    x += 0.02 * np.array([j % 3, 1 + j % 2, 4 - j % 5])[y] * np.where(j < 5, 1.0, weak)
    x *= np.where(j < 5, 0.5, 2.0)
    problem = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
    plan = FisherMetric(form).plan(problem, n, d, None)  # type: ignore[arg-type]
    found = plan.run(problem.records(x, y), NoiseSource(0)).parameters
    assert np.linalg.cond(found) > 10
    expected, alone = by_hand(x, y, form)
    # Features alone say enough only if some of them separate classes better than others.
    assert (0 < alone < 1) if weak < 1 else alone == 0
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)
