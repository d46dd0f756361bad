"""δ with a bound on its error, the result of every second route."""

from __future__ import annotations

from typing import NamedTuple


class DeltaEstimate(NamedTuple):
    """δ(ε), and a bound on its error."""

    delta: float
    error: float
