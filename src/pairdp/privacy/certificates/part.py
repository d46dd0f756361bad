"""Parts of the records, and what releases on them cost together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pairdp._checks import flag, integer, keep, text
from pairdp._sealed import fields_of
from pairdp.privacy.accounting.events import Event, ParallelEvent, SequentialEvent


@dataclass(frozen=True)
class Part:
    """A part of the records, fixed before the data is read.

    Parameters
    ----------
    name : str
        Its name. Parts of one split with different names are disjoint.
    size : int
        The public number of its records.
    within : Part, optional
        The part that is split; all records by default.
    split : int, default=0
        Which split of ``within``. Parts of different splits may have records in common.
    by_unit : bool, default=False
        Whether all records of a unit that are used are in the same part.
    """

    name: str
    size: int
    within: Part | None = None
    split: int = 0
    by_unit: bool = False

    def __post_init__(self) -> None:
        text("part name", self.name)
        keep(self, "size", integer("part size", self.size))
        keep(self, "split", integer("split", self.split, at_least=0))
        flag("by_unit", self.by_unit)
        if self.within is not None and not isinstance(self.within, Part):
            raise TypeError(f"within must be a Part or None, got {self.within!r}")

    @property
    def chain(self) -> tuple[Part, ...]:
        """The parts that contain it, the outermost first, and itself."""
        return (self,) if self.within is None else (*self.within.chain, self)

    def describe(self) -> str:
        """Return it in words."""
        return ", of ".join(f"the {part.size} records of {part.name}" for part in self.chain[::-1])

    def to_dict(self) -> dict[str, object]:
        """Return the part as plain JSON values."""
        values: dict[str, object] = {"name": self.name, "size": self.size}
        if self.within is not None:
            values["within"] = self.within.to_dict()
        if self.split:
            values["split"] = self.split
        if self.by_unit:
            values["by_unit"] = True
        return values

    @staticmethod
    def from_dict(values: object) -> Part:
        """Return the part that `to_dict` wrote; anything else is an error."""
        optional = {"within", "split", "by_unit"}
        fields = fields_of("part", values, required={"name", "size"}, optional=optional)
        inner = fields.get("within")
        return Part(
            fields["name"],
            fields["size"],
            None if inner is None else Part.from_dict(inner),
            fields.get("split", 0),
            fields.get("by_unit", False),
        )


def moved_into(part: Part | None, outer: Part | None, split: int) -> Part | None:
    """Return a part of some records as a part of ``outer``, of which these are all records.

    ``split`` takes the place of the split of the records, so that it can be told from others of
    ``outer``.
    """
    if part is None:
        return outer
    if part.within is None:
        return replace(part, within=outer, split=split)
    return replace(part, within=moved_into(part.within, outer, split))


def composed(placed: Iterable[tuple[Part | None, Event]]) -> tuple[Event, ...]:
    r"""Return the events of releases on parts, composed so that all of them are on all records.

    Releases on the same part compose in sequence, those on parts of one split in parallel, and
    splits of the same records in sequence.

    **Why this holds, also if releases use the outputs of earlier ones on other parts.** Let D and
    D' differ in one record (or in the records of one unit, all of which are in one part of each
    split). Let :math:`K_t(\cdot \mid D, h)` be the distribution of release t given the outputs h of
    all earlier ones. Parts are fixed before the data is read, so the changed record is in at most
    one part P of each split, in both data sets. If release t is on another part of that split, then
    :math:`K_t(\cdot \mid D, h) = K_t(\cdot \mid D', h)` for every h: it costs nothing. If it is on
    P, then the pair is, for every h, dominated by the event of the release. By adaptive composition
    (of a dominating pair for each step; Zhu, Dong and Wang 2022, Theorem 10), all outputs together
    cost the sequence of the events on P, and those on all records. Which part contains the record
    is not known, so that the worst part counts; for claims (ε_j, δ_j) of the parts of one split,
    this is (max ε_j, max δ_j).
    """
    return _composed([(() if part is None else part.chain, event) for part, event in placed])


def _composed(placed: Sequence[tuple[tuple[Part, ...], Event]]) -> tuple[Event, ...]:
    here = [event for chain, event in placed if not chain]
    splits: dict[int, dict[str, list[tuple[tuple[Part, ...], Event]]]] = {}
    for chain, event in placed:
        if chain:
            parts = splits.setdefault(chain[0].split, {})
            parts.setdefault(chain[0].name, []).append((chain[1:], event))
    for parts in splits.values():
        events = (SequentialEvent(_composed(inner)) for inner in parts.values())
        here.append(ParallelEvent(tuple(events)))
    return tuple(here)


def misplaced(parts: Iterable[Part], n: int) -> Iterator[str]:
    """Yield one sentence for each way in which parts of n records cannot be disjoint."""
    splits: dict[tuple[Part | None, int], dict[str, int]] = {}
    seen = dict.fromkeys(place for part in parts for place in part.chain)
    for part in seen:
        sizes = splits.setdefault((part.within, part.split), {})
        if sizes.setdefault(part.name, part.size) != part.size:
            yield f"part {part.name} has two sizes"
    for (within, _), sizes in splits.items():
        total, most = sum(sizes.values()), n if within is None else within.size
        if total > most:
            limit = f"n = {n}" if within is None else f"the {most} of {within.name}"
            yield f"the parts have {total} records, more than {limit}: they cannot be disjoint"
