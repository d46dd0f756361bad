r"""Named bounds on how far one record can move a released value.

A certificate must let anyone recompute its numbers, so a sensitivity is kept as
the *name* of a proved bound with the public numbers that go into it. Each bound
has its formula and a second route to the same value, which `verify` takes: a
recursion unrolled step by step against its closed form, a count of the changed
pairs against their average. New bounds are added with `register_bound`.

A record that is replaced may become any other, or a null record, which counts in n and adds zero
to every sum; others may be null too. Every bound must hold for these, and its module says why.
Those for descent take D, how far the pairs of a record move, from `pairdp.problem.Problem`, where
it covers pairs that become zero; contraction and smoothness only gain by fewer pairs. So they hold.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from pairdp._checks import between, positive, real, text

ROUNDING_SLACK = 1e-9
"""Relative slack on every certified sensitivity, for rounding in what is released."""

SUMMING = 1e-12
"""Error of a computed average of n ≤ 10¹⁰ terms, relative to their largest norm.

The sum itself is off by less than half of this, whatever the batches it was made in; `pairdp._sums`
has the proof. The rest is for the few roundings after it. Neighbouring data sets have two such
errors, and both enter each bound: against a mean that moves by 2R/n they are below 1e-6 of it for
n = 10⁶, and 1 % for n = 10¹⁰."""

_INSTEAD = "rescale the data, or give less extreme parameters"
_VALUES = (1e-200, 1e200)
"""Beyond these, squares of sensitivities and of noise overflow or lose digits."""

Number = float | int


@dataclass(frozen=True)
class Bound:
    """A proved bound: its formula, another route to it, and what it says.

    Attributes
    ----------
    name : str
        What certificates call it.
    words : str
        The bound in words, for the statement.
    formula : callable
        The bound from its inputs, given by keyword.
    second_route : callable or None
        The same from the same inputs, computed otherwise; None when the value is
        taken on trust.
    rests_on : tuple of {"loss", "convexity"}
        What it takes for granted of the loss that was minimised: constants among its inputs, and
        that the loss is convex.
    """

    name: str
    words: str
    formula: Callable[..., float]
    second_route: Callable[..., float] | None
    rests_on: tuple[Literal["loss", "convexity"], ...] = ()


_BOUNDS: dict[str, Bound] = {}


def register_bound(bound: Bound) -> Bound:
    """Make a bound known to certificates and to `verify`, in this process.

    Raises
    ------
    ValueError
        If another bound has the name: a certificate must mean one thing.
    """
    if bound.name in _BOUNDS:
        raise ValueError(f"a bound named {bound.name!r} is already registered")
    _BOUNDS[text("name", bound.name)] = bound
    return bound


def find_bound(name: str) -> Bound:
    """Return a registered bound."""
    try:
        return _BOUNDS[name]
    except KeyError:
        known = ", ".join(repr(n) for n in sorted(_BOUNDS))
        raise KeyError(f"no bound named {name!r} is registered; known: {known}") from None


@dataclass(frozen=True)
class Sensitivity:
    """A sensitivity with where it comes from.

    Parameters
    ----------
    bound : str
        Name of a registered bound.
    inputs : mapping of str to number
        The public numbers that go into it.
    value : float
        The replace-one ℓ2 sensitivity, with `ROUNDING_SLACK`.

    Examples
    --------
    >>> s = Sensitivity.of("average over pairs", diameter=4.0, n=100)
    >>> round(s.value, 6)
    0.04
    """

    bound: str
    inputs: Mapping[str, Number]
    value: float

    def __post_init__(self) -> None:
        text("bound", self.bound)
        inputs: dict[str, Number] = {}
        for name, value in self.inputs.items():
            number = real(f"input {name}", value)
            if not math.isfinite(number):
                raise ValueError(f"input {name} must be finite: leave an unbounded one out")
            inputs[name] = int(value) if isinstance(value, numbers.Integral) else number
        object.__setattr__(self, "inputs", MappingProxyType(inputs))
        object.__setattr__(self, "value", between("sensitivity", self.value, *_VALUES, _INSTEAD))

    def __hash__(self) -> int:
        return hash((self.bound, tuple(sorted(self.inputs.items())), self.value))

    def __reduce__(self) -> tuple[object, ...]:
        return Sensitivity, (self.bound, dict(self.inputs), self.value)

    @classmethod
    def of(cls, bound: str, **inputs: Number) -> Sensitivity:
        """Return the sensitivity that a named bound gives."""
        formula = find_bound(bound).formula
        try:
            inspect.signature(formula).bind(**inputs)
        except TypeError as error:
            takes = ", ".join(inspect.signature(formula).parameters)
            raise TypeError(f"the bound {bound!r} takes {takes}: {error}") from None
        return cls(bound, inputs, formula(**inputs) * (1 + ROUNDING_SLACK))

    @classmethod
    def stated(cls, value: float) -> Sensitivity:
        """Return a sensitivity taken on trust, which the statement will say."""
        return cls.of("stated", value=value)


def _stated(value: float) -> float:
    return positive("value", value)


register_bound(
    Bound(
        "stated",
        "stated by whoever made the plan, and not derived by this library",
        _stated,
        None,
    )
)
