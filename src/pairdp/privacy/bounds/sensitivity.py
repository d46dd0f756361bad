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

import numpy as np

from pairdp._checks import between, integer, non_negative, positive, real, text
from pairdp._discovery import find_registered, import_modules

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
_MOST_STEPS = 10**7


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


_PACKAGE = "pairdp.privacy.bounds"
_BOUNDS: dict[str, Bound] = {}


def register_bound(bound: Bound) -> Bound:
    """Make a bound known to certificates and to `verify`, in this process.

    Raises
    ------
    ValueError
        If another bound has the name: a certificate must mean one thing.
    """
    if not f"{bound.formula.__module__}.".startswith(f"{_PACKAGE}."):
        import_modules(_PACKAGE)  # so that no bound of this library loses its name to another
    if bound.name in _BOUNDS:
        raise ValueError(f"a bound named {bound.name!r} is already registered")
    _BOUNDS[text("name", bound.name)] = bound
    return bound


def find_bound(name: str) -> Bound:
    """Return a registered bound."""
    bound = find_registered(_BOUNDS, name, _PACKAGE)
    if bound is None:
        known = ", ".join(repr(n) for n in sorted(_BOUNDS))
        raise KeyError(f"no bound named {name!r} is registered; known: {known}")
    return bound


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


def _average_over_pairs(diameter: float, n: int) -> float:
    return positive("diameter", diameter) / integer("n", n, at_least=2)


def _count_changed_pairs(diameter: float, n: int) -> float:
    partners, pairs = n - 1, n * (n - 1)
    changed_ordered_pairs = 2 * partners
    return changed_ordered_pairs * (diameter / 2) / pairs


def _class_sums(data_norm: float, n: int) -> float:
    # What is released is computed, so the error of two averages is added.
    return 2 * positive("data_norm", data_norm) * (1 / integer("n", n, at_least=2) + SUMMING)


def _worst_class_sums(data_norm: float, n: int) -> float:
    # Affine in the number of other positives, so the ends are worst; x = -x' at the bound.
    changes = []
    for positives in (0, n - 1):
        negatives = n - 1 - positives
        changes += [2 * data_norm * negatives, 2 * data_norm * positives]  # the label stays
        changes.append(2 * data_norm * positives + 2 * data_norm * negatives)  # it flips
    return max(changes) / (n * (n - 1)) + 2 * SUMMING * data_norm


def _drifts(
    record_diameter: float, n: int, step_size: float, contraction: float, steps: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return how far the iterates 1..T of two neighbouring runs are apart at most."""
    moved = _average_over_pairs(record_diameter, n) * positive("step_size", step_size)
    q = non_negative("contraction", contraction)
    t = np.arange(1, integer("steps", steps, at_most=_MOST_STEPS) + 1, dtype=np.float64)
    with np.errstate(over="ignore"):
        if q == 1:
            return moved * t
        if q == 0:
            return np.full(t.size, moved)
        return moved * np.expm1(t * math.log(q)) / (q - 1)


def _last_iterate(
    record_diameter: float,
    n: int,
    step_size: float,
    contraction: float,
    steps: int,
    diameter: float = math.inf,
) -> float:
    drift = float(_drifts(record_diameter, n, step_size, contraction, steps)[-1])
    return min(positive("diameter", diameter, finite=False), drift)


def _average_iterate(
    record_diameter: float,
    n: int,
    step_size: float,
    contraction: float,
    steps: int,
    diameter: float = math.inf,
) -> float:
    with np.errstate(over="ignore"):
        drift = float(_drifts(record_diameter, n, step_size, contraction, steps).mean())
    return min(positive("diameter", diameter, finite=False), drift)


def _unrolled(
    record_diameter: float, n: int, step_size: float, contraction: float, steps: int
) -> tuple[float, float]:
    drift, total = 0.0, 0.0
    moved = step_size * _count_changed_pairs(record_diameter, n)
    for _ in range(steps):
        drift = contraction * drift + moved
        total += drift
    return drift, total / steps


def _unrolled_last(diameter: float = math.inf, **inputs: float) -> float:
    return min(diameter, _unrolled(**inputs)[0])  # type: ignore[arg-type]


def _unrolled_average(diameter: float = math.inf, **inputs: float) -> float:
    return min(diameter, _unrolled(**inputs)[1])  # type: ignore[arg-type]


register_bound(
    Bound(
        "stated",
        "stated by whoever made the plan, and not derived by this library",
        _stated,
        None,
    )
)
register_bound(
    Bound(
        "average over pairs",
        "the average of f over all n(n-1) ordered pairs moves by at most D/n, where D bounds how "
        "far f(z,p) + f(p,z) moves when z is replaced (for a symmetric f, twice as far as f), by "
        "another record or by a null record, for which it is zero: one record is in 2(n-1) of the "
        "pairs",
        _average_over_pairs,
        _count_changed_pairs,
        ("loss",),
    )
)
register_bound(
    Bound(
        "difference of class sums",
        "(n₋ Σ₊x - n₊ Σ₋x)/(n(n-1)), for records of norm at most R, moves by at most 2R/n: "
        "by 2R times the size of the other class when the label stays or the record becomes null, "
        "and by the sum of n-1 differences of two records when it flips",
        _class_sums,
        _worst_class_sums,
    )
)
register_bound(
    Bound(
        "last iterate of gradient descent",
        "two neighbouring runs drift apart by at most s·η a step, where s = D/n is how far the "
        "gradient of the average moves, shrunk by the contraction q of a step: "
        "s·η·(1-q^T)/(1-q), or the diameter of the constraint set if less",
        _last_iterate,
        _unrolled_last,
        ("loss", "convexity"),
    )
)
register_bound(
    Bound(
        "average iterate of gradient descent",
        "the average over the iterates 1..T of how far two neighbouring runs of gradient "
        "descent can be apart, or the diameter of the constraint set if less",
        _average_iterate,
        _unrolled_average,
        ("loss", "convexity"),
    )
)
