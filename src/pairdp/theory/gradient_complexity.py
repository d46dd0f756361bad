"""Tables 1 and 2 of Wang 2024: how many gradients private learning computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_OPTIMAL = "O(1/√n + √(d·ln(1/δ))/(nε))"


@dataclass(frozen=True)
class GradientComplexity:
    """One row of a table; all losses are convex.

    Attributes
    ----------
    work, method : str
        The paper, and how it adds noise.
    smoothness : {"smooth", "any", "Hölder"}
        What the loss must be; a is the Hölder exponent.
    low_noise : bool
        Whether the best parameters must have zero risk.
    gradients, excess_risk : str
        Orders, as the table prints them.
    lipschitz : bool
        Whether the loss must be Lipschitz.
    """

    work: str
    method: str
    smoothness: Literal["smooth", "any", "Hölder"]
    low_noise: bool
    gradients: str
    excess_risk: str
    lipschitz: bool = True


TABLE = (
    GradientComplexity(
        "Huai 2020", "output noise, descent", "smooth", False, "O(n²)", "O(√(d·ln(1/δ))/(√n·ε))"
    ),
    GradientComplexity("Xue 2021", "localized descent", "smooth", False, "O(n³·ln(1/δ))", _OPTIMAL),
    GradientComplexity(
        "Yang, Lei, Wang et al. 2021",
        "localized SGD",
        "smooth",
        False,
        "O(n·ln(1/δ))",
        "O(1/√n + √(d·ln^(3/2)(1/δ))/(nε))",
    ),
    GradientComplexity(
        "Yang, Lei, Wang et al. 2021", "localized SGD", "any", False, "O(n²·ln(1/δ))", _OPTIMAL
    ),
    GradientComplexity("Wang 2024", "SGD, noisy gradients", "smooth", False, "O(n)", _OPTIMAL),
    GradientComplexity(
        "Wang 2024", "SGD, noisy gradients", "smooth", True, "O(n)", "O(√(d·ln(1/δ))/(nε))"
    ),
    GradientComplexity(
        "Wang 2024", "SGD, noisy gradients", "Hölder", False, "O(n^((2-a)/(1+a)) + n)", _OPTIMAL
    ),
    GradientComplexity(
        "Wang 2024",
        "SGD, noisy gradients",
        "Hölder",
        True,
        "O(n^(2/(1+a)))",
        "O(n^(-(1+a)/2) + √(d·ln(1/δ))/(nε))",
    ),
)
"""The rows of Table 2, for pairs. The utility of Huai 2020 is printed with √(nε) for √n·ε."""

_PRIVATE_SGD = "SGD, noisy gradients"
POINTWISE_TABLE = (
    GradientComplexity(
        "Bassily et al. 2019",
        _PRIVATE_SGD,
        "smooth",
        False,
        "O(n^1.5·√ε + (nε)^2.5/(d·ln(1/δ)))",
        _OPTIMAL,
    ),
    GradientComplexity(
        "Bassily et al. 2019",
        _PRIVATE_SGD,
        "any",
        False,
        "O(n^4.5·√ε + n^6.5·ε^4.5/(d·ln(1/δ))²)",
        _OPTIMAL,
    ),
    GradientComplexity("Bassily et al. 2020", _PRIVATE_SGD, "any", False, "O(n²)", _OPTIMAL),
    GradientComplexity(
        "Wang et al. 2022", _PRIVATE_SGD, "smooth", False, "O(n)", _OPTIMAL, lipschitz=False
    ),
    GradientComplexity(
        "Wang et al. 2022",
        _PRIVATE_SGD,
        "Hölder",
        False,
        "O(n^((2-a)/(1+a)) + n)",
        _OPTIMAL,
        lipschitz=False,
    ),
    *(row for row in TABLE if row.work == "Wang 2024"),
)
"""The rows of Table 1, for single records; the four of Wang 2024 itself are those of Table 2."""
