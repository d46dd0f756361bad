"""Steps and step sizes that a theorem states: taken to the letter, or refused with the arithmetic.

Where a theorem states only an order, its constant is taken as one, and where it leaves a number
open, one is chosen. Numbers of steps are rounded. Each of these is a departure of the plan.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pairdp.problem import ProblemConstants

MOST_STEPS = 10**7
ORDER = "states the order"
"""What a theorem does that states T or η up to a constant; see `Theorem.steps`."""
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

    def order_of(self, symbol: str, factors: str = "constant") -> str:
        """Return the departure of a T or η that the theorem states as an order."""
        return f"{self.source} states {symbol} as an order: one is taken for its {factors}"

    def use_risk_smoothness(self, constants: ProblemConstants, *literal: str) -> None:
        """Add the departure that L is that of the risk, and not of the loss of a pair.

        Parameters
        ----------
        constants : ProblemConstants
            Constants of the problem. If both L are equal, there is no departure.
        *literal : str
            What the schedule is with the L of a pair; none and empty ones if nothing depends on it.
        """
        risk, pair = constants.smoothness, constants.pair_smoothness
        changed = " and ".join(filter(None, literal))
        if changed and not math.isclose(risk, pair, rel_tol=1e-9):
            self.departures.append(
                f"L = {risk:.6g} is the smoothness of the risk, where the paper assumes that of "
                f"the loss of a pair: with L = {pair:.6g}, {changed}"
            )

    def steps(
        self,
        formula: str,
        value: float,
        given: int | None,
        *,
        at_least: float = 0.0,
        states: str = "has",
        departure: str = "",
        nearest: bool = False,
    ) -> int:
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
        states : str
            How the theorem relates to the formula, as a verb.
        departure : str
            Where the formula departs from the theorem, if it does.
        nearest : bool
            Whether T is rounded to the nearest integer, at least 1, and not up.
        """
        stated = f"{self.source} {states} T = {formula} = {value:.6g}"
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
        steps = max(1, round(value)) if nearest else math.ceil(value)
        if departure:
            self.departures.append(departure)
        if not math.isclose(steps, value, rel_tol=1e-12):
            self.departures.append(f"T = {value:.6g} is rounded to {steps}")
        return steps

    def step_size(
        self,
        formula: str,
        value: float,
        given: float | None,
        *,
        largest: tuple[str, float] | None = None,
        states: str = "has",
        departure: str = "",
    ) -> float:
        """Return η: the given one, which is a departure, or that of the theorem.

        Parameters
        ----------
        formula, value, given, states, departure
            As for `steps`.
        largest : pair of str and float, optional
            The largest η that the theorem admits, as a formula and a number.
        """
        stated = f"{self.source} {states} η = {formula} = {value:.6g}"
        if given is not None:
            self.departures.append(f"step_size = {given:.6g} is given, where {stated}")
            return given
        if largest is not None and value > largest[1] * (1 + 1e-12):
            raise ValueError(
                f"{self.algorithm}: {stated}, above the largest that it admits, {largest[0]} = "
                f"{largest[1]:.6g}: use more records, give step_size, {_OR_ELSE}"
            )
        self.reasons.append(f"step_size: {stated}")
        if departure:
            self.departures.append(departure)
        return value
