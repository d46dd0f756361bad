"""Synthetic families for reports only: nothing may be chosen by looking at results on them."""

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


def _heavy_tails(rng: Rng, n: int) -> Drawn:
    """15 numbers with tails of Student's t (3 df), in correlated blocks of five; linear."""
    factor = np.kron(np.eye(3), np.linalg.cholesky(0.4 * np.eye(5) + 0.6))
    x = rng.standard_t(3, size=(n, 15)) @ factor.T
    return Drawn(*numbers(rng, x), np.clip(x, -4, 4) @ rng.normal(size=15))


def _measurements(rng: Rng, n: int) -> Drawn:
    """20 readings of one random curve, which are strongly correlated; linear in its slopes."""
    walk = np.cumsum(rng.normal(size=(n, 20)), axis=1)
    x = walk + 0.5 * rng.normal(size=(n, 20)) + rng.uniform(50, 100)
    slopes = walk[:, [6, 13, 19]] - walk[:, [0, 6, 13]]
    return Drawn(*numbers(rng, x, slack=(0.5, 2.0)), slopes @ rng.normal(size=3))


def _counts(rng: Rng, n: int) -> Drawn:
    """10 counts, most of them zero or small, with effects that saturate."""
    activity = rng.gamma(2, 0.5, size=(n, 1))
    x = rng.poisson(activity * 10.0 ** rng.uniform(-0.7, 0.7, 10)).astype(float)
    return Drawn(*positive_numbers(rng, x + 0.0), np.log1p(x) @ rng.normal(size=10))


def _thresholds(rng: Rng, n: int) -> Drawn:
    """10 uniform or exponential numbers with steps at unknown places, in both directions."""
    x = np.where(np.arange(10) % 2 == 0, rng.random((n, 10)), rng.exponential(size=(n, 10)))
    score = np.zeros(n)
    for place in range(10):
        for cut in np.quantile(x[:, place], rng.uniform(0.1, 0.9, 2)):
            score += rng.normal() * (x[:, place] > cut)
    return Drawn(*numbers(rng, x), score)


def _trees(rng: Rng, n: int) -> Drawn:
    """8 numbers and 2 categories; a sum of 12 random trees of depth 3."""
    x = rng.normal(size=(n, 8)) @ np.linalg.cholesky(0.8 * np.eye(8) + 0.2)
    codes, _ = random_categories(rng, n, [4, 6])
    both, score = np.hstack([x, codes]), np.zeros(n)
    for _ in range(12):
        leaf = np.zeros(n, dtype=int)
        for _ in range(3):
            place = rng.integers(10)
            leaf = 2 * leaf + (both[:, place] > np.quantile(both[:, place], rng.uniform(0.2, 0.8)))
        score += rng.normal(size=8)[leaf]
    first, ranges = numbers(rng, x)
    second, lists = categories(codes, [4, 6])
    return Drawn({**first, **second}, {**ranges, **lists}, score)


def _exclusive(rng: Rng, n: int) -> Drawn:
    """8 uniform numbers: which quarter of a plane two of them are in, and a weak linear part."""
    x = rng.uniform(-1, 1, size=(n, 8))
    score = np.sign(x[:, 0] * x[:, 1]) + 0.7 * np.sign(x[:, 2] * x[:, 3])
    return Drawn(*numbers(rng, x), score + x @ rng.normal(size=8) * 0.7)


def _survey(rng: Rng, n: int) -> Drawn:
    """12 answers from 1 to 5, age, 3 categories of up to 20 values; gaps that mean something."""
    mood = rng.normal(size=(n, 2))
    answers = mood @ rng.normal(size=(2, 12)) + rng.normal(size=(n, 12))
    x = np.clip(np.round(1.2 * answers + 3), 1, 5)
    age = rng.gamma(9, 5, size=n) + 15
    codes, effects = random_categories(rng, n, [5, 10, 20])
    silent = rng.random((n, 12)) < 0.05 + 0.15 * (mood[:, :1] > 1)
    score = mood @ rng.normal(size=2) + 0.8 * standardised(effects) + np.abs(age - 50) / 15
    first = {f"q{i}": np.where(silent[:, i], np.nan, x[:, i]) for i in range(12)}
    forms = {name: {"range": [1, 5], "integer": True, "missing": "indicator"} for name in first}
    second, lists = categories(codes, [5, 10, 20])
    return Drawn({**first, "age": age, **second}, {**forms, "age": [0, 120], **lists}, score)


def _claims(rng: Rng, n: int) -> Drawn:
    """6 amounts over several powers of ten, 3 categories, 2 % of the second class."""
    logs = rng.normal(size=(n, 6))
    x = np.exp(1.5 * logs + 6)
    x[rng.random((n, 6)) < 0.3] = 0.0
    codes, effects = random_categories(rng, n, [3, 6, 9])
    score = np.log1p(x) @ rng.normal(size=6) / 2 + effects
    first, ranges = positive_numbers(rng, x)
    second, lists = categories(codes, [3, 6, 9])
    return Drawn({**first, **second}, {**ranges, **lists}, score)


def _noise(rng: Rng, n: int) -> Drawn:
    """12 uniform numbers, labels drawn without them."""
    x = rng.random((n, 12))
    return Drawn(*numbers(rng, x), x[:, 0])


HELD_OUT = {
    "heavy-tails": Family(_heavy_tails),
    "measurements": Family(_measurements, strength=2.5),
    "counts": Family(_counts),
    "thresholds": Family(_thresholds),
    "trees": Family(_trees, rate=0.25),
    "exclusive": Family(_exclusive, rate=0.5),
    "survey": Family(_survey, rate=0.3),
    "claims": Family(_claims, rate=0.02, strength=2.5),
    "noise": Family(_noise, strength=0.0),
}
"""Families for reports only, by name."""
