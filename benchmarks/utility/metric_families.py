"""Synthetic data for metrics: families with irrelevant or redundant features, and others."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from benchmarks.auto_metric import FAMILIES as ELSEWHERE
from benchmarks.auto_metric import Data

Labelled = tuple[np.ndarray, np.ndarray]


def _irrelevant(rng: np.random.Generator, n: int, d: int, k: int) -> Labelled:
    """Make a fifth of the features know the class."""
    y, x, m = rng.integers(k, size=n), rng.normal(size=(n, d)), max(1, d // 5)
    x[:, :m] += rng.normal(size=(k, m))[y] * rng.uniform(1, 2)
    return x, y


def _redundant(rng: np.random.Generator, n: int, d: int, k: int) -> Labelled:
    """Make noisy copies of a few features, of which one knows the class."""
    y, m = rng.integers(k, size=n), max(2, d // 4)
    hidden = rng.normal(size=(n, m))
    hidden[:, :1] += rng.normal(size=(k, 1))[y] * rng.uniform(1, 2.5)
    return hidden[:, rng.integers(m, size=d)] + 0.5 * rng.normal(size=(n, d)), y


def _scales(rng: np.random.Generator, n: int, d: int, k: int) -> Labelled:
    """Make features of very different scales within one public range."""
    x, y = _irrelevant(rng, n, d, k)
    tails = rng.random(size=(n, d)) < 0.002
    return np.where(tails, x * np.exp(rng.uniform(0, 3, size=d)), x), y


def _rotated(rng: np.random.Generator, n: int, d: int, k: int) -> Labelled:
    """Make a few directions know the class, none of them a feature."""
    x, y = _irrelevant(rng, n, d, k)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (x * np.exp(0.5 * rng.normal(size=d))) @ turn, y


def _correlated(rng: np.random.Generator, n: int, d: int, k: int) -> Labelled:
    """Make class means differ under strongly correlated noise."""
    y, loud = rng.integers(k, size=n), rng.normal(size=(n, max(1, d // 3)))
    x = 0.5 * rng.normal(size=(n, d)) + loud @ rng.normal(size=(loud.shape[1], d))
    return x + 0.7 * rng.normal(size=(k, d))[y], y


def _flags(rng: np.random.Generator, n: int, d: int, k: int) -> Labelled:
    """Make zeros and ones, a third of which know the class."""
    y = rng.choice(k, size=n, p=rng.dirichlet(np.full(k, 3.0)))
    shift = 1.5 * rng.normal(size=(k, d)) * (rng.random(d) < 0.34)
    share = 1 / (1 + np.exp(1 - 1.5 * rng.normal(size=d) - shift))
    return (rng.random((n, d)) < share[y]) + 0.05 * rng.normal(size=(n, d)), y


def _nothing(rng: np.random.Generator, n: int, d: int, k: int) -> Labelled:
    """Make features that know nothing of the class."""
    return rng.normal(size=(n, d)), rng.integers(k, size=n)


def _few(rng: np.random.Generator, n: int, d: int, k: int) -> Labelled:
    """Make two to six features know the class, and the others as loud as these or louder."""
    y, x, m = rng.integers(k, size=n), rng.normal(size=(n, d)), int(rng.integers(2, 7))
    x[:, m:] *= rng.choice([1.0, 2.0, 4.0])
    x[:, :m] += rng.normal(size=(k, m))[y] * rng.uniform(0.8, 1.8)
    return x, y


def _some_loud(rng: np.random.Generator, n: int, d: int, k: int) -> Labelled:
    """Make a few features know the class, and the others of all scales up to five times theirs."""
    x, y = _few(rng, n, d, k)
    return x * np.exp(rng.uniform(0, math.log(5), size=d) * (np.arange(d) >= 6)), y


def _copies(rng: np.random.Generator, n: int, d: int, k: int) -> Labelled:
    """Make noisy copies of up to eight features, half of which know the class."""
    m, y = int(rng.integers(2, 5)), rng.integers(k, size=n)
    hidden = rng.normal(size=(n, 2 * m))
    hidden[:, :m] += rng.normal(size=(k, m))[y] * rng.uniform(0.8, 1.8)
    noise = rng.uniform(0.3, 1) * rng.normal(size=(n, d))
    return hidden[:, rng.integers(2 * m, size=d)] + noise, y


def _copied_noise(rng: np.random.Generator, n: int, d: int, k: int) -> Labelled:
    """Make a few features that know the class, and copies of two that do not."""
    m, y = int(rng.integers(2, 5)), rng.integers(k, size=n)
    hidden = rng.normal(size=(n, m + 2))
    hidden[:, :m] += rng.normal(size=(k, m))[y] * rng.uniform(0.8, 1.8)
    source = np.concatenate([np.arange(m), rng.integers(m, m + 2, size=d - m)])
    return hidden[:, source] + 0.4 * rng.normal(size=(n, d)), y


def _isotropic(rng: np.random.Generator, n: int, d: int, k: int) -> Labelled:
    """Make every feature know as much of the class as every other."""
    y = rng.integers(k, size=n)
    return rng.normal(size=(n, d)) + rng.normal(size=(k, d))[y] * rng.uniform(1, 3) / math.sqrt(
        d
    ), y


REDUNDANT: dict[str, Callable[..., Labelled]] = {
    "few": _few,
    "some loud": _some_loud,
    "copies": _copies,
    "copied noise": _copied_noise,
    "irrelevant": _irrelevant,
    "redundant": _redundant,
    "scales": _scales,
    "flags": _flags,
    "answers": ELSEWHERE["answers"],
    "skewed": ELSEWHERE["skewed"],
}
"""Families with irrelevant or redundant features."""

OTHERS: dict[str, Callable[..., Labelled]] = {
    "rotated": _rotated,
    "correlated": _correlated,
    "isotropic": _isotropic,
    "nothing": _nothing,
    **{name: make for name, make in ELSEWHERE.items() if name not in REDUNDANT},
}
_ONE_SCALE = ("few", "some loud", "copies", "copied noise")


def drawn(family: str, n: int, held: int, d: int, k: int, seed: int) -> Data:
    """Return data of a family in the unit ball, scaled by ranges of features or by one range."""
    rng = np.random.default_rng([seed, n, d, *family.encode()])
    x, y = {**REDUNDANT, **OTHERS}[family](rng, n + held, d, k)
    x = x - x.mean(axis=0) * rng.integers(2)
    x = x / np.abs(x).max(axis=None if family in _ONE_SCALE else 0) / math.sqrt(d)
    return Data(x[:n], y[:n], x[n:], y[n:])
