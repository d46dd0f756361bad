"""What the tests of ledgers share."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from scipy.optimize import brentq
from scipy.stats import norm

from pairdp._sealed import seal, unseal
from pairdp.privacy import Budget


def gaussian_delta(epsilon: float, mu: float) -> float:
    low = -mu / 2 - epsilon / mu
    return float(norm.cdf(low + mu) - math.exp(epsilon) * norm.cdf(low))


def gaussian_limit(budget: Budget) -> float:
    return float(brentq(lambda m: gaussian_delta(budget.epsilon, m) - budget.delta, 0.01, 10))


def rewrite(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    document = unseal(path.read_bytes())
    change(document)
    path.write_text(seal(document), encoding="utf-8")


def names_in(directory: Path) -> set[str]:
    return {entry.name for entry in directory.iterdir()}
