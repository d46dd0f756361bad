r"""Records held out for evaluation, chosen by a public rule before any record is read.

**Why only the number of rows and a public seed may choose.** Parallel composition needs that the
records of the other part are the same for two neighbours. If the contents of records decide which
part they are in (a split that is stratified by label, that follows the order of a sorted or
deduplicated table, or that hashes the record), a replaced record can move others from one part to
the other: both parts change, and what they cost adds up. If every second record of each class is
held out, one flipped label moves all later records, and the cost grows with n.
Here a rule on row numbers decides.

**Units.** All rows of a unit must be in one part. It is the part of its first row, and depends on
n, the seed and on which rows belong to one unit: these are the same for two neighbours
(`pairdp.privacy.Unit`), even if the identifier of a unit is another. (A hash of identifiers would
move a unit whose identifier is replaced from one part to the other.) A row that belongs to several
units, such as the two persons of a pair, is used if all of them are in the same part. The sizes of
the parts follow from n alone: a row that finds its part full takes a place in the other one, as a
null record. So a unit contributes to one part only, at most as many records as are used of it, and
within this part two neighbours differ in the contents of these alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import integer, keep, real
from pairdp._reading import read_labels
from pairdp.privacy.accounting.unit import Unit
from pairdp.privacy.certificates.certificate import Certificate
from pairdp.privacy.certificates.combined import Split, certificates_in, is_combined
from pairdp.privacy.certificates.part import Part
from pairdp.privacy.certificates.statistic import is_of_statistic
from pairdp.unit_limit import unit_names

Mask = NDArray[np.bool_]
Places = NDArray[np.intp]

TRAINING, EVALUATION, SELECTION = "training", "evaluation", "selection"
_MOST_SEED = 2**32 - 1
_BY_CONTENT = (
    "{} must be a number above 0 and below 1, such as 0.2, got {}: which records are held out may "
    "depend on their number and on a public seed alone. A split by the contents of records "
    "(stratified, sorted, hashed, or given as indices or a mask) lets one record move others "
    "between the two parts, and then what both cost adds up, or is even more"
)


@dataclass(frozen=True)
class HeldOut(Split):
    """A share of the records for evaluation, and the others for training.

    Parameters
    ----------
    share : float
        The share of the records that is held out, above 0 and below 1.
    seed : int, default=0
        A public number that chooses the rows. It need not be secret, and must not be chosen by
        looking at the records.

    Examples
    --------
    >>> HeldOut(0.2).sizes(1000)
    (800, 200)
    >>> HeldOut(0.4).places(5).tolist()
    [True, False, True, False, False]
    """

    share: float
    seed: int = 0
    purpose: ClassVar[str] = EVALUATION
    """What the records that are held out are for, and the name of their part."""
    parameters: ClassVar[tuple[str, str]] = ("evaluation_share", "evaluation_seed")
    """What users call the share and the seed."""

    def __post_init__(self) -> None:
        share: object = self.share
        of_share, of_seed = self.parameters
        if isinstance(share, bool) or not isinstance(share, Real):
            # Labels or row numbers that depend on them are not quoted.
            given = repr(share) if isinstance(share, str | bool) else f"a {type(share).__name__}"
            raise ValueError(_BY_CONTENT.format(of_share, given))
        keep(self, "share", real(of_share, share))
        if not 0 < self.share < 1:
            raise ValueError(_BY_CONTENT.format(of_share, repr(self.share)))
        keep(self, "seed", integer(of_seed, self.seed, at_least=0, at_most=_MOST_SEED))

    def sizes(self, n: int) -> tuple[int, int]:
        """Return the numbers of records for training and for evaluation."""
        n = integer("n", n)
        held_out = round(self.share * n)
        if not 2 <= held_out <= n - 2:
            raise ValueError(
                f"{self.parameters[0]} = {self.share:g} of {n} records leaves {n - held_out} for "
                f"training and {held_out} for {self.purpose}: both need at least two"
            )
        return n - held_out, held_out

    def parts(self, n: int, unit: Unit | None = None) -> tuple[Part, ...]:
        """Return the parts, "training" and that of the records that are held out."""
        names = (TRAINING, self.purpose)
        return tuple(
            Part(name, size, by_unit=unit is not None)
            for name, size in zip(names, self.sizes(n), strict=True)
        )

    def rule(self, n: int, unit: Unit | None = None) -> str:
        """Return which rows are held out."""
        size = self.sizes(n)[1]
        sentence = (
            f"Which {size} of the {n} rows are for {self.purpose}, and not for training, was fixed "
            "by their numbers before any was read: they are the first of the permutation "
            f"numpy.random.RandomState({self.seed}).permutation({n})."
        )
        if unit is None:
            return sentence
        return (
            f"{sentence} All rows of one {unit.name} are in the part of its first row; rows that "
            "find this part full are not used."
        )

    def places(self, n: int) -> Mask:
        """Return which of n rows are for evaluation, without units."""
        held_out = np.zeros(n, dtype=np.bool_)
        # The stream of RandomState is the same in all versions of numpy.
        chosen = np.random.RandomState(self.seed).permutation(n)[: self.sizes(n)[1]]
        held_out[chosen] = True
        return held_out

    def rows(self, n: int) -> HeldOutRows:
        """Return what says of each batch of rows which are held out."""
        return HeldOutRows(self, n)


@dataclass(frozen=True)
class HeldOutForSelection(HeldOut):
    """A share of the records on which one of several models is chosen, the others for training."""

    purpose: ClassVar[str] = SELECTION
    parameters: ClassVar[tuple[str, str]] = ("held_out", "held_out_seed")


class Placed(NamedTuple):
    """Where the rows of a batch are.

    Attributes
    ----------
    training, evaluation : array of int
        The rows of the two parts.
    groups : list or None
        The unit of each row, None for rows that are null records in their part, since their unit is
        in the other, or since they have none.
    """

    training: Places
    evaluation: Places
    groups: list[Any] | None

    def groups_of(self, rows: Places) -> tuple[list[Any], ...]:
        """Return the units of some rows, or nothing without units."""
        return () if self.groups is None else ([self.groups[row] for row in rows.tolist()],)


class HeldOutRows:
    """Assigns the rows of one data set to training or evaluation, batch by batch.

    With units it holds their identifiers in memory, and cannot be pickled.

    Parameters
    ----------
    held_out : HeldOut
        The rule.
    n : int
        The public number of rows.
    """

    def __init__(self, held_out: HeldOut, n: int) -> None:
        self._places = held_out.places(n)
        self._room = list(held_out.sizes(n))
        self._part_of: dict[str, bool] = {}
        self._next = 0

    def of_batch(self, count: int, groups: ArrayLike | None = None) -> Placed:
        """Return where the next rows are.

        Parameters
        ----------
        count : int
            The number of rows of the batch.
        groups : array-like of shape (count,), optional
            The unit of each row, for all batches or for none.
        """
        stop = self._next + count
        if stop > self._places.size:
            raise ValueError(f"the batches have more than n = {self._places.size} records")
        numbered = self._places[self._next : stop]
        self._next = stop
        if groups is None:
            return Placed(np.flatnonzero(~numbered), np.flatnonzero(numbered), None)
        names = unit_names(groups)
        if len(names) != count:
            raise ValueError(f"groups must have a unit for each of {count} rows, got {len(names)}")
        evaluation, used = numbered.copy(), read_labels(groups).tolist()
        for row, units in enumerate(names):
            evaluation[row], is_used = self._place(units, bool(numbered[row]))
            if not is_used:
                used[row] = None
        return Placed(np.flatnonzero(~evaluation), np.flatnonzero(evaluation), used)

    def finish(self) -> None:
        """Raise an error if there were fewer rows than n."""
        if self._next != self._places.size:
            raise ValueError(f"the batches have {self._next} records, not {self._places.size}")

    def _place(self, units: Sequence[str], numbered: bool) -> tuple[bool, bool]:
        """Return whether a row is in the part for evaluation, and whether it is used there."""
        found = {self._part_of.setdefault(name, numbered) for name in units if name}
        in_one_part = len(found) == 1 and all(units)
        wanted = next(iter(found)) if in_one_part else numbered
        part = wanted if self._room[wanted] else not wanted
        self._room[part] -= 1
        return part, in_one_part and part == wanted

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("the units of records are raw data and cannot be pickled")


def certificate_of(certificate: Certificate, part: str) -> Certificate | None:
    """Return the only certificate for a part, "training" or "evaluation", of a combined one.

    A certificate that is not a combined one is for training. None if there is none, or several; of
    the models of a search, the chosen one is the first.
    """
    if is_of_statistic(certificate):
        return _chosen_of_search(certificate) if part == TRAINING else None
    if not is_combined(certificate):
        return certificate if part == TRAINING else None
    combined = certificates_in(certificate)
    found = [own for name, own in combined if name == part]
    chosen = part == TRAINING and any(name == SELECTION for name, _ in combined)
    return found[0] if len(found) == 1 or (found and chosen) else None


def _chosen_of_search(certificate: Certificate) -> Certificate | None:
    """Return the first certificate among the facts of a search that fits candidates repeatedly."""
    match (certificate.to_dict()["plan"] or {}).get("statistic"):  # type: ignore[attr-defined]
        case {"object": "RepeatedSearch", "fields": {"candidates": {"tuple": [str(first), *_]}}}:
            return replace(Certificate.from_json(first), noise_source=certificate.noise_source)
    return None
