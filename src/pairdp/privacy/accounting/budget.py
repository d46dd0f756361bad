"""Privacy budgets (ε, δ), and the neighbouring relation they refer to."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from pairdp._checks import integer, keep, one_of, positive, probability

RELATION = "replace-one-or-null"
RELATION_IN_WORDS = (
    "two data sets are neighbours when one record, with its label, is replaced by another or by a "
    "null record (absent, unreadable); n is the public capacity"
)


_LARGEST_DELTA, _ONCE_IN = 1e-6, 100


def default_delta(n: int) -> float:
    r"""Return the default δ, min(10⁻⁶, 1/(100n)).

    An algorithm that publishes each record with probability δ is (0, δ)-private. With the default,
    such an algorithm publishes any record at all with probability at most nδ ≤ 1/100, for every n.
    Up to n = 10²⁰ the default is also below 1/n^1.1, which the literature recommends. For up to
    10⁴ records it is 10⁻⁶.

    Parameters
    ----------
    n : int
        The public number of records, or the horizon of a stream.

    Examples
    --------
    >>> default_delta(500)
    1e-06
    >>> default_delta(1_000_000)
    1e-08
    """
    return min(_LARGEST_DELTA, 1 / (_ONCE_IN * integer("n", n)))


def check_budget(budget: object) -> None:
    """Raise an error for anything that is not a Budget."""
    if not isinstance(budget, Budget):
        raise TypeError(f"budget must be a Budget, got {budget!r} of type {type(budget).__name__}")


@dataclass(frozen=True)
class Budget:
    """An (ε, δ) differential privacy budget under replace-one, with n public.

    A record is replaced by another or by a null record, which counts in n and contributes zero.
    Removing a record, and adding one in the place of a null record, are therefore covered as well.

    Parameters
    ----------
    epsilon : float
        Positive and finite.
    delta : float, default=0
        At least 0 and below 1. Zero is pure ε-differential privacy. A useful δ is far below 1/n:
        publishing one random record is (0, 1/n)-private.

    Examples
    --------
    >>> Budget(1.0, 1e-6)
    Budget(epsilon=1.0, delta=1e-06)
    >>> Budget(0.5).is_pure
    True
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        keep(self, "epsilon", positive("epsilon", self.epsilon))
        keep(self, "delta", probability("delta", self.delta))

    @property
    def is_pure(self) -> bool:
        """Whether δ is zero."""
        return self.delta == 0

    @property
    def relation(self) -> str:
        """The neighbouring relation, the same for every budget."""
        return RELATION

    def split(
        self,
        parts: int | Iterable[float],
        *,
        composition: Literal["basic", "gaussian"] = "basic",
    ) -> tuple[Budget, ...]:
        r"""Return budgets of several releases that together stay within this one.

        Parameters
        ----------
        parts : int or iterable of float
            The number of equal parts, or a positive weight for each part.
        composition : {"basic", "gaussian"}, default="basic"
            "basic" is valid for any releases, of any kind and chosen in any way. "gaussian" gives
            larger parts, and is valid only if **all** releases add Gaussian noise to values of
            known sensitivity: let a `BudgetLedger` with the whole budget pay for them, which
            refuses what does not fit.

        Notes
        -----
        "basic": with shares s_i = w_i / Σw, part i is (s_i ε, s_i δ), computed in rational
        arithmetic and rounded down to floats. So Σ ε_i ≤ ε and Σ δ_i ≤ δ hold exactly, and releases
        within their parts are (Σ ε_i, Σ δ_i)-private together.

        "gaussian": let µ be the largest GDP parameter with δ_µ(ε) ≤ δ. Part i is (ε_i, δ), with the
        same δ and the ε_i of µ_i = µ√s_i at that δ. A Gaussian release within part i has at most
        µ_i, and Gaussian releases compose to √Σµ_i² ≤ µ. By basic composition the parts exceed the
        budget: for four equal parts of ε = 1, each has ε_i of about 0.48 instead of 0.25.

        Examples
        --------
        >>> Budget(1.0, 1e-6).split(4)[0]
        Budget(epsilon=0.25, delta=2.5e-07)
        >>> [part.epsilon for part in Budget(1.0).split([2, 1, 1])]
        [0.5, 0.25, 0.25]
        >>> round(Budget(1.0, 1e-6).split(4, composition="gaussian")[0].epsilon, 2)
        0.48
        """
        one_of("composition", composition, "basic", "gaussian")
        shares = _shares(parts)
        if composition == "basic":
            return tuple(
                Budget(_below(share * Fraction(self.epsilon)), _below(share * Fraction(self.delta)))
                for share in shares
            )
        if self.is_pure:
            raise ValueError(
                'a pure budget has no Gaussian releases: split it with composition="basic", or '
                "use a budget with δ > 0"
            )
        from pairdp.privacy.accounting import gaussian

        whole = gaussian.gdp_mu(self.epsilon, self.delta)
        # The margin covers the rounding of µ_i, of ε_i, and of µ that a plan finds for ε_i.
        scales = (whole * math.sqrt(share) * (1 - 1e-9) for share in shares)
        epsilons = [gaussian.epsilon(mu, self.delta) for mu in scales]
        if 0 in epsilons:
            raise ValueError(
                f"δ = {self.delta:g} is so large that a part would be (0, δ)-private: use fewer "
                "parts, or a smaller δ"
            )
        return tuple(Budget(epsilon, self.delta) for epsilon in epsilons)


def _shares(parts: int | Iterable[float]) -> list[Fraction]:
    """Return the weights of parts divided by their sum, exactly."""
    if isinstance(parts, int | numbers.Number):
        count = integer("parts", parts)
        return [Fraction(1, count)] * count
    weights = [Fraction(positive("weight", weight)) for weight in parts]
    if not weights:
        raise ValueError("parts must be a number of parts or a weight for each, got no weights")
    return [weight / sum(weights) for weight in weights]


def _below(exact: Fraction) -> float:
    """Return the largest float that is at most a non-negative number."""
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0.0)
