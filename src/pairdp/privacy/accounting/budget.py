"""Privacy budgets (ε, δ), and the neighbouring relation they refer to."""

from __future__ import annotations

from dataclasses import dataclass

from pairdp._checks import integer, keep, positive, probability

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
