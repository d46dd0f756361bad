"""Table 1 of Xue 2021 and Table 1 of Kang 2021: orders of the excess population risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class RiskRate:
    """One entry of a table; all losses are Lipschitz.

    Attributes
    ----------
    table : str
        The paper whose Table 1 it is from.
    work : str
        The paper that states the rate.
    case : {"strongly convex", "convex", "Polyak–Łojasiewicz"}
        What is assumed besides.
    budget : {"(ε, δ)", "ε"}
        The kind of privacy.
    upper, lower : str
        Orders, as the table prints them, without ln(1/δ) and other factors; empty if the table has
        none.
    holds : str
        "in expectation" or "with high probability".
    """

    table: str
    work: str
    case: Literal["strongly convex", "convex", "Polyak–Łojasiewicz"]
    budget: Literal["(ε, δ)", "ε"]
    upper: str
    lower: str = ""
    holds: str = "in expectation"


_STRONGLY = "Ω(1/n + d/(n²ε²))"
_STRONGLY_PURE = "Ω(1/n + d²/(n²ε²))"
_CONVEX = "Ω(1/√n + √d/(nε))"
_CONVEX_PURE = "Ω(1/√n + d/(nε))"
_HIGH = "with high probability"

RISK_RATES = (
    RiskRate(
        "Xue 2021", "Huai 2020", "strongly convex", "(ε, δ)", "O(√d/(√n·ε))", _STRONGLY, _HIGH
    ),
    RiskRate("Xue 2021", "Huai 2020", "strongly convex", "ε", "", _STRONGLY_PURE, _HIGH),
    RiskRate("Xue 2021", "Xue 2021", "strongly convex", "(ε, δ)", "O(1/n + d/(n²ε²))", _STRONGLY),
    RiskRate("Xue 2021", "Xue 2021", "strongly convex", "ε", "O(1/n + d²/(n²ε²))", _STRONGLY_PURE),
    RiskRate(
        "Xue 2021", "Huai 2020, Yang 2021", "convex", "(ε, δ)", "O(√d/(√n·ε))", _CONVEX, _HIGH
    ),
    RiskRate("Xue 2021", "Huai 2020, Yang 2021", "convex", "ε", "", _CONVEX_PURE, _HIGH),
    RiskRate("Xue 2021", "Xue 2021", "convex", "(ε, δ)", "O(1/√n + √d/(nε))", _CONVEX),
    RiskRate("Xue 2021", "Xue 2021", "convex", "ε", "O(1/√n + d/(nε))", _CONVEX_PURE),
    RiskRate("Kang 2021", "Huai 2020", "strongly convex", "(ε, δ)", "O(√p/(nε))", holds=_HIGH),
    RiskRate("Kang 2021", "Huai 2020", "convex", "(ε, δ)", "O(√p/(√n·ε))", holds=_HIGH),
    RiskRate("Kang 2021", "Yang 2021", "convex", "(ε, δ)", "O(√p/(√n·ε))", holds=_HIGH),
    RiskRate("Kang 2021", "Kang 2021", "Polyak–Łojasiewicz", "(ε, δ)", "O(√p/(nε))"),
    RiskRate("Kang 2021", "Kang 2021", "Polyak–Łojasiewicz", "(ε, δ)", "O(√p/(√n·ε))", holds=_HIGH),
)
"""The entries. Lower bounds are those of losses of one record (Bassily, Feldman, Talwar, Thakurta
2019), which are losses of pairs too. The table of Xue 2021 prints √(nε) for √n·ε."""
