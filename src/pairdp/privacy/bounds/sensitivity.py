r"""Sensitivities, each given by the name of a proved bound and its inputs.

Anyone must be able to recompute the numbers of a certificate, so a sensitivity is stored as the
*name* of a proved bound with its public inputs. Each bound has a formula and a second route to the
same value, which `verify` also computes: for example, a recursion evaluated step by step instead of
its closed form. New bounds are added with `register_bound`.

A replaced record may become any other record or a null record, which counts in n and adds zero to
every sum; other records may be null too. Every bound must hold for these cases, and its module says
why. Bounds for descent take D, the change of the pairs of a record, from `pairdp.problem.Problem`,
where D covers pairs that become zero. Contraction and smoothness hold with fewer pairs as well.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from pairdp._checks import between, integer, keep, positive, real, text
from pairdp._discovery import find_registered, import_modules

ROUNDING_SLACK = 1e-9
"""Relative slack on every certified sensitivity, for rounding in what is released."""

SUMMING = 1e-12
"""Error of a computed average of n ≤ 10¹⁰ terms, relative to their largest norm.

The error of the sum itself is less than half of this, for any batch sizes (proof in
`pairdp._sums`); the rest covers the few roundings after it. Every bound includes the errors on both
neighbouring data sets: relative to a sensitivity of 2R/n they are below 1e-6 for n = 10⁶, and
1 % for n = 10¹⁰."""

_INSTEAD = "rescale the data, or use less extreme parameters"
_VALUES = (1e-200, 1e200)
"""Outside this range, squares of sensitivities and of noise overflow or underflow."""

Number = float | int


@dataclass(frozen=True)
class Bound:
    """A proved bound: its statement, its formula and a second route to its value.

    Attributes
    ----------
    name : str
        Its name in certificates.
    words : str
        The bound in words, for the statement.
    formula : callable
        The bound from its inputs, given by keyword.
    second_route : callable or None
        The same value from the same inputs, computed in another way; None if the value is taken
        on trust.
    rests_on : tuple of {"loss", "convexity"}
        What it assumes about the loss: the constants among its inputs, and convexity.
    per_record : str
        The input that is multiplied by k if k records are replaced, where the proof shows that this
        suffices. If empty, the whole bound is multiplied by k, which the triangle inequality always
        allows.
    largest : str
        An input that no change exceeds, for any number of records, such as the diameter of a set.
    """

    name: str
    words: str
    formula: Callable[..., float]
    second_route: Callable[..., float] | None
    rests_on: tuple[Literal["loss", "convexity"], ...] = ()
    per_record: str = ""
    largest: str = ""

    def routes(self) -> Iterator[tuple[str, Callable[..., float]]]:
        """Yield the formula and the second route, with their names."""
        yield "its formula", self.formula
        if self.second_route is not None:
            yield "its second route", self.second_route

    def for_records(
        self, route: Callable[..., float], inputs: Mapping[str, Number], records: int
    ) -> float:
        r"""Return the bound for k replaced records, by one of its routes.

        Replacing k records one by one gives k + 1 data sets, each a neighbour of the next, so a
        quantity that changes by at most Δ for neighbours changes by at most kΔ.
        """
        if records == 1:
            return route(**inputs)
        if self.per_record:
            return route(**{**inputs, self.per_record: records * inputs[self.per_record]})
        return min(records * route(**inputs), inputs.get(self.largest, math.inf))


_PACKAGE = "pairdp.privacy.bounds"
_BOUNDS: dict[str, Bound] = {}


def register_bound(bound: Bound) -> Bound:
    """Register a bound for certificates and `verify`, in this process.

    Raises
    ------
    ValueError
        If the name is taken: the name in a certificate must be unambiguous.
    """
    if not f"{bound.formula.__module__}.".startswith(f"{_PACKAGE}."):
        import_modules(_PACKAGE)  # names of this library cannot be replaced
    if bound.name in _BOUNDS:
        raise ValueError(f"a bound named {bound.name!r} is already registered")
    _BOUNDS[text("name", bound.name)] = bound
    return bound


def find_bound(name: str) -> Bound:
    """Return a registered bound."""
    bound = find_registered(_BOUNDS, name, _PACKAGE)
    if bound is None:
        known = ", ".join(repr(n) for n in sorted(_BOUNDS))
        raise KeyError(
            f"no bound named {name!r} is registered: if it is of your own, import its module first "
            f"(--import on the command line); known: {known}"
        )
    return bound


@dataclass(frozen=True)
class Sensitivity:
    """A sensitivity and the bound it comes from.

    Parameters
    ----------
    bound : str
        Name of a registered bound.
    inputs : mapping of str to number
        The public inputs of the bound.
    value : float
        The ℓ2 sensitivity, with `ROUNDING_SLACK`.
    records : int, default=1
        k: how many records are replaced.

    Examples
    --------
    >>> s = Sensitivity.of("average over pairs", diameter=4.0, n=100)
    >>> round(s.value, 6)
    0.04
    """

    bound: str
    inputs: Mapping[str, Number]
    value: float
    records: int = 1

    def __post_init__(self) -> None:
        text("bound", self.bound)
        keep(self, "records", integer("records", self.records))
        inputs: dict[str, Number] = {}
        for name, value in self.inputs.items():
            number = real(f"input {name}", value)
            if not math.isfinite(number):
                raise ValueError(f"input {name} must be finite: omit it if it is unbounded")
            inputs[name] = int(value) if isinstance(value, numbers.Integral) else number
        keep(self, "inputs", MappingProxyType(inputs))
        keep(self, "value", between("sensitivity", self.value, *_VALUES, _INSTEAD))

    def __hash__(self) -> int:
        return hash((self.bound, tuple(sorted(self.inputs.items())), self.value, self.records))

    def __reduce__(self) -> tuple[object, ...]:
        return Sensitivity, (self.bound, dict(self.inputs), self.value, self.records)

    @classmethod
    def of(cls, bound: str, **inputs: Number) -> Sensitivity:
        """Return the sensitivity given by a named bound."""
        formula = find_bound(bound).formula
        try:
            inspect.signature(formula).bind(**inputs)
        except TypeError as error:
            takes = ", ".join(inspect.signature(formula).parameters)
            raise TypeError(f"the bound {bound!r} takes {takes}: {error}") from None
        return cls(bound, inputs, formula(**inputs) * (1 + ROUNDING_SLACK))

    def for_records(self, records: int) -> Sensitivity:
        """Return the sensitivity if this many records are replaced.

        Examples
        --------
        >>> s = Sensitivity.of("average over pairs", diameter=4.0, n=100)
        >>> round(s.for_records(3).value, 6)
        0.12
        """
        bound = find_bound(self.bound)
        value = bound.for_records(bound.formula, self.inputs, records) * (1 + ROUNDING_SLACK)
        return replace(self, value=value, records=records)

    @classmethod
    def stated(cls, value: float) -> Sensitivity:
        """Return a sensitivity that is taken on trust; the statement says so."""
        return cls.of("stated", value=value)


def _stated(value: float) -> float:
    return positive("value", value)


register_bound(
    Bound(
        "stated",
        "stated by the author of the plan, and not derived by this library",
        _stated,
        None,
    )
)
