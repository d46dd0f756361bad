"""What the tests of ledgers share."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scipy.optimize import brentq
from scipy.stats import norm

from pairdp._sealed import seal, unseal
from pairdp.privacy import Budget
from pairdp.privacy.ledger.document import _chain


def gaussian_delta(epsilon: float, mu: float) -> float:
    low = -mu / 2 - epsilon / mu
    return float(norm.cdf(low + mu) - math.exp(epsilon) * norm.cdf(low))


def gaussian_limit(budget: Budget) -> float:
    return float(brentq(lambda m: gaussian_delta(budget.epsilon, m) - budget.delta, 0.01, 10))


def rechained(document: dict[str, Any]) -> dict[str, Any]:
    """Return a ledger's document whose entries form a chain again, after they were changed."""
    for what in ("spends", "streams"):
        if isinstance(document.get(what), list):
            entries = [
                {key: value for key, value in entry.items() if key != "chain"}
                if isinstance(entry, dict)
                else entry
                for entry in document[what]
            ]
            links = _chain(document["identity"], what, entries)[1:]
            document[what] = [
                {**entry, "chain": link} if isinstance(entry, dict) else entry
                for entry, link in zip(entries, links, strict=True)
            ]
    return document


def rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = unseal(path.read_bytes())
    change(document)
    path.write_text(seal(rechained(document)), encoding="utf-8")


def names_in(directory: Path) -> set[str]:
    """Return what is in a directory, besides the word that a ledger is there."""
    return {entry.name for entry in directory.iterdir()} - {".ledger.json.identity"}
