"""The privacy unit: all records of one person, and how many of them are used."""

from __future__ import annotations

from dataclasses import dataclass

from pairdp._checks import integer, keep, text

UNIT_RELATION = "replace-unit-or-null"
_MOST_RECORDS = 10**6


@dataclass(frozen=True)
class Unit:
    r"""All records of one person, of which at most k are used; a public fact.

    The first k rows of a unit, in the order of the rows, are used. The others are null records, as
    are rows without a unit. Two data sets are *neighbours* if they have the same n and the same
    assignment of rows to units, and differ in the contents of the rows of one unit: each of its
    rows may be replaced by any other, or by a null record, which covers removing the unit, and
    adding one in rows that were reserved for it.

    Which rows are used depends on the assignment alone, so the data sets that an algorithm reads
    differ in at most k records. Replacing these one by one gives a path of k + 1 data sets, each a
    neighbour of the next in the sense of single records. By the triangle inequality, a quantity
    that changes by at most Δ for any two such neighbours changes by at most kΔ along the path. The
    same holds for GDP: a mechanism that is μ-GDP for single records is kμ-GDP for units (Dong, Roth
    and Su 2022, Theorem 2.14).

    Parameters
    ----------
    name : str
        What a unit is, such as the name of the column that identifies it.
    max_records : int
        k, from 1 to 10⁶.

    Examples
    --------
    >>> Unit("patient_id", 3)
    Unit(name='patient_id', max_records=3)
    """

    name: str
    max_records: int

    def __post_init__(self) -> None:
        text("unit name", self.name)
        keep(self, "max_records", integer("max_records", self.max_records, at_most=_MOST_RECORDS))

    @property
    def relation_in_words(self) -> str:
        """The neighbouring relation, for statements."""
        used = "1 is" if self.max_records == 1 else f"{self.max_records} are"
        return (
            f"two data sets are neighbours when all records of one unit ({self.name}; at most "
            f"{used} used, and the others are null records), with their labels, are replaced by "
            "others or by null records (absent, unreadable); n is the public capacity, and which "
            "rows belong to one unit is the same in both"
        )


def records_of(unit: Unit | None) -> int:
    """Return the number of records that may differ between neighbours: k, or 1 without a unit."""
    return 1 if unit is None else unit.max_records


def check_unit(unit: object) -> None:
    """Raise an error for anything that is neither a Unit nor None."""
    if unit is not None and not isinstance(unit, Unit):
        raise TypeError(f"unit must be a Unit or None, got {unit!r} of type {type(unit).__name__}")
