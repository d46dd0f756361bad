"""Records to compare algorithms on: synthetic ones, or those that the user says are public."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import integer, keep, positive
from pairdp.studies.jobs import Split

Array = NDArray[np.float64]
_SHIFTED = 3
_FEWEST = 10


@dataclass(frozen=True)
class SyntheticRecords:
    r"""Two classes of equal probability, normal around opposite points, in the unit ball.

    .. math::
        x = \frac{z + y·s·(e_1 + e_2 + e_3)}{2\sqrt d}, \quad z ∼ N(0, I_d), \quad y = ±1,

    clipped to norm 1. The first three features separate the classes (all of them, if there are
    fewer), and the others do not. Every repeat draws new records.

    Parameters
    ----------
    n : int
        Number of records to fit to.
    features : int
        d.
    separation : float
        s. With the default, the best AUC for three features or more is about 0.89.
    test : int
        Number of other records, to score on.
    seed : int
        Of the draws.
    """

    n: int
    features: int = 10
    separation: float = 0.5
    test: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        keep(self, "n", integer("n", self.n, at_least=_FEWEST))
        keep(self, "features", integer("n_features", self.features))
        keep(self, "separation", positive("separation", self.separation))
        keep(self, "test", integer("test", self.test, at_least=_FEWEST))
        keep(self, "seed", integer("seed", self.seed, at_least=0))

    @property
    def words(self) -> str:
        """What the records are."""
        return f"synthetic records: n = {self.n}, {self.features} features, two classes"

    def split(self, run: int) -> Split:
        """Return the records of a repeat, the same for every algorithm."""
        rng = np.random.default_rng([self.seed, run])
        x, y = self._draw(rng, self.n)
        return Split(x, y, *self._draw(rng, self.test))

    def _draw(self, rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        y = np.where(rng.permutation(n) < n / 2, 1.0, -1.0)
        x = rng.normal(size=(n, self.features))
        x[:, :_SHIFTED] += self.separation * y[:, None]
        x /= 2 * np.sqrt(self.features)
        return x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True)), y


@dataclass(frozen=True, eq=False)
class PublicRecords:
    """Records that are public, or whose scores may be published for another reason.

    **Nothing here is private**: models are scored on the records themselves. Every repeat fits to
    n random records and scores on the others.

    Parameters
    ----------
    x : array-like of shape (n_samples, n_features)
        Rows; algorithms clip them to norm 1.
    y : array-like of shape (n_samples,)
        Labels. The larger of two is ranked higher.
    n : int, optional
        Number of records to fit to; by default two thirds of them.
    seed : int
        Of the permutations.
    """

    x: Array
    y: NDArray[Any]
    n: int = 0
    seed: int = 0
    labels: NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        x, y = np.array(self.x, np.float64), np.asarray(self.y)
        if x.ndim != 2 or y.shape != (len(x),):
            raise ValueError(
                f"public_data must be rows and one label for each, got shapes {x.shape} and "
                f"{y.shape}"
            )
        if not np.all(np.isfinite(x)):
            raise ValueError("the rows of public_data must be finite numbers")
        keep(self, "x", x)
        keep(self, "seed", integer("seed", self.seed, at_least=0))
        labels, coded = np.unique(y, return_inverse=True)
        keep(self, "labels", labels)
        keep(self, "y", np.where(coded == 1, 1.0, -1.0) if labels.size == 2 else coded * 1.0)
        n = integer("n", self.n or 2 * len(x) // 3, at_least=_FEWEST)
        if n > len(x) - _FEWEST:
            raise ValueError(
                f"public_data has {len(x)} records: with n = {n}, fewer than {_FEWEST} are left "
                "to score on"
            )
        keep(self, "n", n)

    def __repr__(self) -> str:
        return f"PublicRecords({self._digest}, n={self.n}, seed={self.seed})"

    @cached_property
    def _digest(self) -> str:
        content = np.ascontiguousarray(self.x).tobytes() + np.asarray(self.y, np.float64).tobytes()
        return hashlib.sha256(content).hexdigest()[:16]

    @property
    def features(self) -> int:
        """Number of features."""
        return int(self.x.shape[1])

    @property
    def words(self) -> str:
        """What the records are."""
        return (
            f"public records: n = {self.n} of {len(self.x)}, {self.features} features, "
            f"{self.labels.size} classes"
        )

    def split(self, run: int) -> Split:
        """Return n random records and the others, the same for every algorithm."""
        order = np.random.default_rng([self.seed, run]).permutation(len(self.x))
        fit, rest = order[: self.n], order[self.n :]
        return Split(self.x[fit], self.y[fit], self.x[rest], self.y[rest])


def public_records(data: tuple[ArrayLike, ArrayLike], n: int | None, seed: int) -> PublicRecords:
    """Return the records of a pair (X, y)."""
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise TypeError("public_data must be a pair (X, y) of rows and labels")
    return PublicRecords(data[0], data[1], n or 0, seed)  # type: ignore[arg-type]
