"""Moments of two classes as sums that parts of the records add up to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.pairs.products import weighted_rows
from pairdp.records import Records

Array = NDArray[np.float64]
_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Sums over some records; those of disjoint parts add up. They are not private.

    Attributes
    ----------
    n, positives, negatives : int
        How many records, and how many of them are labelled +1 and -1; the others are null.
    signed, plain : arrays of shape (d,)
        Σyx and Σx.
    ups, downs : arrays of shape (d, d)
        Σxxᵀ over the positives and over the negatives.
    data_norm : float
        R, which the records were clipped to.
    """

    n: int
    positives: int
    negatives: int
    signed: Array
    plain: Array
    ups: Array
    downs: Array
    data_norm: float

    @classmethod
    def of(cls, records: Records) -> ClassMoments:
        """Return the sums of some records, without copying more than a block of them."""
        if not records.binary:
            raise ValueError("moments of classes are of records with labels -1 and +1")
        grams = np.zeros((2, records.features, records.features))
        for start in range(0, records.n, _BLOCK):
            some = slice(start, start + _BLOCK)
            x, positive = records.x[some], records.positive[some] == 1
            for gram, chosen in zip(grams, (positive, ~positive), strict=True):
                part = x[chosen]
                gram += part.T @ part
        ups, downs = (grams + grams.transpose(0, 2, 1)) / 2
        return cls(
            records.n,
            int(records.positive.sum()),
            int(np.count_nonzero(records.y < 0)),
            weighted_rows(records.x, records.y),
            weighted_rows(records.x, np.ones(records.n)),
            ups,
            downs,
            records.data_norm,
        )

    @property
    def binary(self) -> bool:
        """Whether labels are -1 and +1, as they must be."""
        return True

    @property
    def features(self) -> int:
        """Number of features."""
        return int(self.plain.size)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        return ClassMoments(
            self.n + other.n,
            self.positives + other.positives,
            self.negatives + other.negatives,
            self.signed + other.signed,
            self.plain + other.plain,
            self.ups + other.ups,
            self.downs + other.downs,
            max(self.data_norm, other.data_norm),
        )

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("moments of raw data are not pickled: pickle the release instead")

    def __repr__(self) -> str:
        return f"ClassMoments(n={self.n}, features={self.features})"
