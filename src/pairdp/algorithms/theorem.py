"""Steps and step sizes that a theorem states: taken to the letter, or refused with the arithmetic.

Where a theorem states only an order, its constant is taken as one. Numbers of steps are rounded up.
"""

from __future__ import annotations

import math
from typing import NamedTuple

MOST_STEPS = 10**7
_OR_ELSE = 'or use schedule="tuned"'


class ChosenSteps(NamedTuple):
    """η and T, how they were chosen, and where this departs from a paper."""

    step_size: float
    steps: int
    reasons: tuple[str, ...]
    departures: tuple[str, ...] = ()


class Theorem:
    """A theorem that states a schedule, with the reasons and departures of a plan that follows it.

    Parameters
    ----------
    algorithm : str
        Name of the algorithm, for error messages.
    source : str
        The theorem, such as "Theorem 1 of Xue 2021".
    """

    def __init__(self, algorithm: str, source: str) -> None:
        self.algorithm, self.source = algorithm, source
        self.reasons: list[str] = []
        self.departures: list[str] = []

    def chosen(self, step_size: float, steps: int) -> ChosenSteps:
        """Return η and T with all reasons and departures."""
        return ChosenSteps(step_size, steps, tuple(self.reasons), tuple(self.departures))

    def both_given(self, step_size: float, steps: int) -> ChosenSteps:
        """Return η and T that replace both of the theorem, whether or not it states any."""
        self.departures.append(
            f"steps = {steps} and step_size = {step_size:.6g} are given, and not those of "
            f"{self.source}"
        )
        return self.chosen(step_size, steps)

    def steps(self, formula: str, value: float, given: int | None, *, at_least: float = 0.0) -> int:
        """Return T: the given one, which is a departure, or that of the theorem.

        Parameters
        ----------
        formula : str
            The formula of T, with its numbers.
        value : float
            Its value.
        given : int, optional
            The T that replaces it.
        at_least : float
            The value below which, and at zero, the theorem makes no sense.
        """
        stated = f"{self.source} has T = {formula} = {value:.6g}"
        if given is not None:
            self.departures.append(f"steps = {given} is given, where {stated}")
            return given
        if value < at_least or value <= 0:
            raise ValueError(
                f"{self.algorithm}: {stated}, which is less than one step: use more records or a "
                f"larger epsilon, give steps, {_OR_ELSE}"
            )
        if value > MOST_STEPS:
            raise ValueError(
                f"{self.algorithm}: {stated}, which is more than {MOST_STEPS:.0e} steps: give "
                f"steps, {_OR_ELSE}"
            )
        self.reasons.append(f"steps: {stated}")
        return math.ceil(value)

    def step_size(
        self,
        formula: str,
        value: float,
        given: float | None,
        *,
        largest: tuple[str, float] | None = None,
    ) -> float:
        """Return η: the given one, which is a departure, or that of the theorem.

        Parameters
        ----------
        formula, value, given
            As for `steps`.
        largest : pair of str and float, optional
            The largest η that the theorem admits, as a formula and a number.
        """
        stated = f"{self.source} has η = {formula} = {value:.6g}"
        if given is not None:
            self.departures.append(f"step_size = {given:.6g} is given, where {stated}")
            return given
        if largest is not None and value > largest[1] * (1 + 1e-12):
            raise ValueError(
                f"{self.algorithm}: {stated}, and needs η ≤ {largest[0]} = {largest[1]:.6g}: use "
                f"more records, give step_size, {_OR_ELSE}"
            )
        self.reasons.append(f"step_size: {stated}")
        return value
