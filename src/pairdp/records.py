"""Records: the data of every fit, with rows clipped to a public norm and labels coded.

A **null record** stands for a record that is absent or cannot be read. It counts among the n
records, whose number is public, and contributes zero to every sum: each pair with it has value and
gradient zero. In a proof it is one more value that a record may have, besides all (x, y) with
|x| ≤ R. A bound is the largest change over all values of the replaced record and of the others, so
it must hold with null records too, and every bound of this library does (see
`pairdp.problem.Problem.record_diameter` and `pairdp.privacy.bounds`). The guarantee therefore
covers removing a record, and adding one in the place of a null record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._reading import Invalid, uses_null_records
from pairdp.clipping import check_data_norm, clip_rows
from pairdp.engines.local import InProcess
from pairdp.engines.parts import Part, Parts
from pairdp.engines.scratch import Scratch
from pairdp.gathering import Batch, gather, unused_rows
from pairdp.label_coding import Array, Mask, check_target_bound, code_labels, label_keys
from pairdp.unit_limit import UnitLimit

Keys = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RecordFacts:
    """What is public of the records of a data set, wherever they are; see `Records`."""

    n: int
    features: int
    data_norm: float
    binary: bool
    target_bound: float | None = None
    max_records: int | None = None


class PublicFacts:
    """What is public of records that are stored in another form than `Records`."""

    facts: RecordFacts

    @property
    def n(self) -> int:
        """Number of records, which is public."""
        return self.facts.n

    @property
    def features(self) -> int:
        """Number of features of their rows, which is public."""
        return self.facts.features

    @property
    def data_norm(self) -> float:
        """R, which rows are clipped to."""
        return self.facts.data_norm

    @property
    def binary(self) -> bool:
        """Whether labels are -1 and +1."""
        return self.facts.binary

    @property
    def target_bound(self) -> float | None:
        """The bound that targets are clipped to; None if labels are classes."""
        return self.facts.target_bound

    @property
    def max_records(self) -> int | None:
        """How many records of each unit may be used; None if they were not limited."""
        return self.facts.max_records


class Records:
    """n records: features clipped to norm ``data_norm``, and their labels.

    Parameters
    ----------
    x : array-like of shape (n, d)
        Features; must be finite.
    y : array-like of shape (n,)
        Labels. With ``binary`` they must be -1 and +1; otherwise any hashable values.
    data_norm : float
        R. Rows of larger norm are scaled down to it.
    binary : bool
        Whether labels are -1 and +1 (ranking) or names of classes (metric learning).
    target_bound : float, optional
        Y. If given, labels are numbers (targets of regression, graded responses of ranking) and
        clipped to ±Y; ``binary`` is then ignored.
    invalid : {"error", "null"}
        What to do with a record whose features include NaN, infinity or something that is not a
        number, or whose label is not accepted: raise an error, or make it a null record. An error
        reveals something about the data to anyone who sees it; null records reveal nothing.
    groups : array-like of shape (n,), optional
        The unit (person) of each record, with ``limit``. They are not kept.
    limit : UnitLimit, optional
        Decides from the groups which records are used; all others become null records.

    Attributes
    ----------
    x, y : array
        The clipped features and the coded labels, as private as the data. A null record has zero
        features and a special label: 0 among labels -1 and +1 and among targets, -1 among codes.
    null : array of bool
        Which records are null.
    max_records : int or None
        How many records of each unit may be used; None if they were not limited.
    start : int
        The number of records before these, if they are a part of a data set.
    scratch : Scratch or None
        What functions keep from call to call, if they are a part of a data set.
    """

    start: int = 0
    scratch: Scratch | None = None

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        *,
        data_norm: float = 1.0,
        binary: bool = True,
        target_bound: float | None = None,
        invalid: Invalid = "error",
        groups: ArrayLike | None = None,
        limit: UnitLimit | None = None,
    ) -> None:
        self._configure(data_norm, binary, target_bound, limit)
        null = uses_null_records(invalid)
        rows = clip_rows(x, self.data_norm, invalid)
        labels, unreadable = code_labels(y, self.binary, self.target_bound, null=null)
        self._keys = label_keys(y, labels) if self._by_name else None
        unused = unused_rows(limit, groups, len(rows))
        self._fill(rows, labels, unreadable if unused is None else unreadable | unused)

    def _configure(
        self, data_norm: float, binary: bool, target_bound: float | None, limit: UnitLimit | None
    ) -> None:
        self.max_records = None if limit is None else limit.max_records
        self.data_norm = check_data_norm(data_norm)
        self.target_bound = check_target_bound(target_bound)
        self.binary = binary and target_bound is None

    def _fill(self, rows: Array, y: Array, unreadable: Mask) -> None:
        """Store clipped rows and coded labels; unreadable ones make null records."""
        if y.shape != (len(rows),):
            raise ValueError(
                f"y must have a label for each of the {len(rows)} rows of x, got shape {y.shape}"
            )
        self.null = unreadable | np.isnan(rows[:, 0])
        rows[self.null] = 0.0
        y[self.null] = 0.0 if self.binary or self.target_bound is not None else -1.0
        self.x, self.y = rows, y
        self._freeze()

    def _freeze(self) -> None:
        for array in (self.x, self.y, self.null):
            array.setflags(write=False)

    @classmethod
    def gather(
        cls,
        batches: Iterable[Batch],
        n: int,
        features: int,
        *,
        data_norm: float = 1.0,
        binary: bool = True,
        target_bound: float | None = None,
        invalid: Invalid = "error",
        limit: UnitLimit | None = None,
    ) -> Records:
        """Return n records that come in batches of features and labels, and groups with a limit.

        Each batch is clipped into one table, so that nothing is held in memory twice.
        """
        records = object.__new__(cls)
        records._configure(data_norm, binary, target_bound, limit)
        found = gather(
            batches,
            n,
            partial(clip_rows, data_norm=records.data_norm, invalid=invalid, features=features),
            binary=records.binary,
            target_bound=records.target_bound,
            invalid=invalid,
            limit=limit,
        )
        records._keys = found.keys
        records._fill(found.kept, found.y, found.unreadable)
        return records

    @classmethod
    def of_arrays(
        cls,
        facts: RecordFacts,
        x: Array,
        y: Array,
        null: Mask,
        keys: Keys | None,
        start: int = 0,
        scratch: Scratch | None = None,
    ) -> Records:
        """Return some of the records of a data set, clipped and coded before, without copying."""
        records = object.__new__(cls)
        records.data_norm, records.binary = facts.data_norm, facts.binary
        records.target_bound, records.max_records = facts.target_bound, facts.max_records
        records.x, records.y, records.null = x.view(), y.view(), null.view()
        records._keys, records.start, records.scratch = keys, start, scratch
        records._freeze()
        return records

    @property
    def facts(self) -> RecordFacts:
        """What is public of them."""
        return RecordFacts(
            self.n, self.features, self.data_norm, self.binary, self.target_bound, self.max_records
        )

    @property
    def keys(self) -> Keys | None:
        """The keys of the names of classes (`label_keys`); None if labels are numbers."""
        return self._keys

    def map_sum(self, function: Callable[..., Any], *shared: Any) -> Any:
        """Return ``function(records, *shared)``; for records in parts, its sum over all parts."""
        return function(self, *shared)

    def map(self, function: Callable[..., Any], *shared: Any) -> Parts:
        """Return one part with ``function(records, *shared)`` as its value."""
        return Parts(InProcess(), [Part(0, self.n, function(self, *shared))], self.n)

    def part(self, rows: slice) -> Records:
        """Return some of the records, without copying them."""
        keys = None if self._keys is None else self._keys[rows]
        return self._with(self.x[rows], self.y[rows], self.null[rows], keys)

    def rows(self, places: NDArray[np.integer[Any]]) -> Records:
        """Return the records at some indices, copied."""
        keys = None if self._keys is None else self._keys[places]
        return self._with(self.x[places], self.y[places], self.null[places], keys)

    def beside(self, x: Array, y: Array) -> Records:
        """Return other records that were clipped and coded like these, without copying them.

        Null records are recognised by their label, which is impossible for targets.
        """
        if self.target_bound is not None:
            raise ValueError("null records among targets cannot be recognised by their label")
        null = np.equal(y, 0.0) if self.binary else np.less(y, 0.0)
        return self._with(x.view(), y.view(), null, None)

    def _with(self, x: Array, y: Array, null: Mask, keys: Keys | None) -> Records:
        some = object.__new__(Records)
        some.data_norm, some.binary, some.x, some.y = self.data_norm, self.binary, x, y
        some.target_bound, some.null = self.target_bound, null
        some.max_records, some._keys = self.max_records, keys
        some._freeze()
        return some

    @property
    def n(self) -> int:
        """Number of records, which is public."""
        return int(self.x.shape[0])

    @property
    def features(self) -> int:
        """Number of features, which is public."""
        return int(self.x.shape[1])

    @property
    def _by_name(self) -> bool:
        """Whether labels are names of classes."""
        return not self.binary and self.target_bound is None

    def buckets(self, count: int) -> NDArray[np.intp]:
        """Return a bucket from 0 to ``count`` - 1 for each record; that of a null record is none.

        The bucket is a public function of the label of the record alone, whatever the other labels
        are: the remainder of its key (see `pairdp.label_coding.label_keys`). Classes may share one.
        """
        if self._keys is None:
            raise ValueError("the names of classes are not known: labels are numbers, or coded")
        return np.asarray(self._keys % count, dtype=np.intp)

    def targets_are_within(self, bound: float) -> bool:
        """Return whether labels are known to be numbers within a bound."""
        if self.target_bound is None:
            return self.binary and bound >= 1
        return self.target_bound <= bound

    @cached_property
    def positive(self) -> NDArray[np.intp]:
        """1 for records labelled +1, else 0."""
        return (self.y > 0).astype(np.intp)

    @cached_property
    def has_null(self) -> bool:
        """Whether any record is null; as private as the data."""
        return bool(self.null.any())

    @cached_property
    def evaluable(self) -> Array:
        """Labels at which any loss can be evaluated: null records have a valid one.

        The result for a null record is then replaced by zero. Null records keep their positions,
        since rounding at the kink of a hinge must not depend on the position of a record.
        """
        if not self.has_null:
            return self.y
        return np.where(self.null, 0.0 if self.target_bound is not None else 1.0, self.y)

    def __repr__(self) -> str:
        return f"Records(n={self.n}, features={self.features}, data_norm={self.data_norm:g})"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("records contain raw data and cannot be pickled: pickle the release")
