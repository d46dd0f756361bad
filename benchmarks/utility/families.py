"""Synthetic families that constants may be tuned on (`TUNED_ON`); see `held_out` for the others.

Every family has a schema with public ranges that are wider than the data, as people have them.
"""

from __future__ import annotations

import numpy as np

from benchmarks.utility.populations import (
    Drawn,
    Family,
    Rng,
    categories,
    numbers,
    positive_numbers,
    random_categories,
    standardised,
)


def _linear(rng: Rng, n: int) -> Drawn:
    """8 independent normal numbers of one scale, linear log-odds."""
    x = rng.normal(size=(n, 8))
    return Drawn(*numbers(rng, x), x @ rng.normal(size=8))


def _badly_scaled(rng: Rng, n: int) -> Drawn:
    """12 normal numbers whose ranges are up to a hundred times too wide, linear log-odds."""
    x = rng.normal(size=(n, 12)) * 10.0 ** rng.integers(-2, 4, 12)
    columns, forms = numbers(rng, x)
    for name in list(forms)[::2]:  # a range of which the data fills a small part, not in the middle
        low, high = forms[name]
        factor, shift = 10.0 ** rng.uniform(0.5, 2), rng.uniform(-0.8, 0.8)
        middle, half = (low + high) / 2, (high - low) / 2
        ends = (middle + half * factor * (shift + sign) for sign in (-1, 1))
        forms[name] = [float(f"{end:.3g}") for end in ends]
    return Drawn(columns, forms, standardised(x) @ rng.normal(size=12))


def _collinear(rng: Rng, n: int) -> Drawn:
    """10 numbers that three factors nearly determine; half of the signal is in small contrasts."""
    factors = rng.normal(size=(n, 3))
    noise = 0.25 * rng.normal(size=(n, 10))
    x = factors @ rng.normal(size=(3, 10)) + noise
    small = standardised(noise @ rng.normal(size=(10, 1)))[:, 0]
    return Drawn(*numbers(rng, x), standardised(factors @ rng.normal(size=(3, 1)))[:, 0] + small)


def _skewed(rng: Rng, n: int) -> Drawn:
    """10 lognormal numbers, of which the logarithms of six have monotone effects."""
    logs = rng.normal(size=(n, 10)) @ np.linalg.cholesky(0.7 * np.eye(10) + 0.3)
    x = np.exp(logs * rng.uniform(0.7, 1.5, 10) + rng.uniform(0, 5, 10))
    effects = rng.normal(size=10) * (np.arange(10) < 6)
    return Drawn(*positive_numbers(rng, x), np.tanh(logs) @ effects)


def _curved(rng: Rng, n: int) -> Drawn:
    """8 numbers, of which five have smooth effects that are not monotone."""
    x = rng.normal(size=(n, 8))
    phases, rates = rng.uniform(0, 2 * np.pi, 5), rng.uniform(0.8, 2, 5)
    return Drawn(*numbers(rng, x), np.sin(rates * x[:, :5] + phases).sum(axis=1))


def _products(rng: Rng, n: int) -> Drawn:
    """8 numbers: linear effects, and as much signal in four products of two of them."""
    x = rng.normal(size=(n, 8))
    pairs = [rng.choice(8, 2, replace=False) for _ in range(4)]
    both = np.sum([rng.normal() * x[:, i] * x[:, j] for i, j in pairs], axis=0)
    linear = x @ rng.normal(size=8)
    return Drawn(*numbers(rng, x), linear / linear.std() + both / both.std())


def _mixed(rng: Rng, n: int) -> Drawn:
    """5 numbers, two of them lognormal, and 5 categories; a tenth of some cells is missing."""
    x = rng.normal(size=(n, 5)) @ np.linalg.cholesky(0.6 * np.eye(5) + 0.4)
    codes, effects = random_categories(rng, n, [2, 3, 5, 8, 12])
    score = standardised(x @ rng.normal(size=(5, 1)))[:, 0] + standardised(effects)
    x[:, :2] = np.exp(x[:, :2] + 2)
    gaps = rng.random((n, 5)) < 0.1 * (np.arange(5) % 2 == 0)
    first, ranges = numbers(rng, np.where(gaps, np.nan, x), missing="indicator")
    second, lists = categories(codes, [2, 3, 5, 8, 12])
    return Drawn({**first, **second}, {**ranges, **lists}, score)


def _rare(rng: Rng, n: int) -> Drawn:
    """8 numbers, four of them lognormal, and a category; 2 % of the second class."""
    x = rng.normal(size=(n, 8))
    codes, effects = random_categories(rng, n, [6])
    score = x @ rng.normal(size=8) + effects
    x[:, :4] = np.exp(x[:, :4])
    first, ranges = numbers(rng, x)
    second, lists = categories(codes, [6])
    return Drawn({**first, **second}, {**ranges, **lists}, score)


def _no_signal(rng: Rng, n: int) -> Drawn:
    """6 normal and lognormal numbers and 2 categories, labels drawn without them."""
    x = rng.normal(size=(n, 6))
    x[:, 3:] = np.exp(x[:, 3:])
    codes, effects = random_categories(rng, n, [4, 7])
    first, ranges = numbers(rng, x)
    second, lists = categories(codes, [4, 7])
    return Drawn({**first, **second}, {**ranges, **lists}, effects)


TUNED_ON = {
    "linear": Family(_linear),
    "badly-scaled": Family(_badly_scaled),
    "collinear": Family(_collinear),
    "skewed": Family(_skewed),
    "curved": Family(_curved),
    "products": Family(_products),
    "mixed": Family(_mixed),
    "rare": Family(_rare, rate=0.02, strength=2.5),
    "no-signal": Family(_no_signal, strength=0.0),
}
"""Families that constants may be tuned on, by name."""
