"""The content of a ledger file: a JSON document with a digest.

A ledger has a random identity, and its entries form a hash chain: each has a digest of itself and
of the digest before it, starting with the identity. A file *extends* what was seen of a ledger if
it has the same identity, at least as many entries, and the same digest at the last entry that was
seen; it then has all entries that were seen, in order. Every entry has a random number, so that no
two histories are equal by accident.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from pairdp._checks import text
from pairdp._sealed import digest, fields_of, seal, unseal
from pairdp.privacy.accounting.budget import RELATION, Budget
from pairdp.privacy.accounting.unit import UNIT_RELATION
from pairdp.privacy.ledger.balance import Balance
from pairdp.privacy.ledger.entries import (
    Action,
    Spend,
    StreamEntry,
    optional_text,
    random_name,
)

FORMAT = "pairdp ledger"
FORMAT_VERSION = 3
"""Version 3 added the data set, the unit, and the facts of an entry. A file of version 2 has none,
and is read as such; its entries keep their digests, since an entry states only the facts that it
has."""
_OLDEST_VERSION = 2


class Seen(NamedTuple):
    """What is remembered of a ledger: its identity, and the length and end of each chain."""

    identity: str
    spends: tuple[int, str]
    streams: tuple[int, str]


@dataclass(frozen=True)
class LedgerState:
    """The state of a ledger.

    Attributes
    ----------
    budget : Budget
        What all releases together may spend.
    adaptive : bool
        Whether costs may be chosen after seeing earlier results.
    identity : str
        A random name; no two ledgers have the same.
    spends : tuple of Spend
        What was spent.
    streams : tuple of StreamEntry
        The streams that were saved and resumed.
    named : str or None
        The data set that the ledger was created for, if it was named.
    unit : str or None
        The name of the unit that the budget protects; None for single records.
    """

    budget: Budget
    adaptive: bool
    identity: str = field(default_factory=random_name)
    spends: tuple[Spend, ...] = ()
    streams: tuple[StreamEntry, ...] = ()
    named: str | None = None
    unit: str | None = None

    @property
    def data_set(self) -> str | None:
        """The data set that the ledger is tied to: as created, or that of the first entry."""
        stated = (spend.facts.data_set for spend in self.spends)
        return self.named or next((name for name in stated if name is not None), None)

    def balance(self) -> Balance:
        """Return what is spent and left."""
        return Balance(self.budget, self.adaptive, tuple(spend.event for spend in self.spends))

    def with_spend(self, spend: Spend) -> LedgerState:
        """Return the ledger with one more entry."""
        return replace(self, spends=(*self.spends, spend))

    def with_stream(self, entry: StreamEntry) -> LedgerState:
        """Return the ledger with one more entry about streams."""
        return replace(self, streams=(*self.streams, entry))

    def actions(self, token: str) -> set[Action]:
        """Return the actions that were recorded for the token of a stream."""
        return {entry.action for entry in self.streams if entry.token == token}

    @cached_property
    def _chains(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (
            _chain(self.identity, "spends", (s.to_dict() for s in self.spends)),
            _chain(self.identity, "streams", (s.to_dict() for s in self.streams)),
        )

    def seen(self) -> Seen:
        """Return what to remember of this state."""
        spends, streams = ((len(chain), chain[-1]) for chain in self._chains)
        return Seen(self.identity, spends, streams)

    def extends(self, seen: Seen) -> bool:
        """Return whether it contains everything that was seen, in the same order."""
        return self.identity == seen.identity and all(
            length <= len(chain) and chain[length - 1] == head
            for chain, (length, head) in zip(self._chains, seen[1:], strict=True)
        )

    def to_bytes(self) -> bytes:
        """Return the content of the ledger file."""
        spends, streams = self._chains
        document = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            **({"relation": RELATION} if self.unit is None else _of_unit(self.unit)),
            "identity": self.identity,
            "budget": {"epsilon": self.budget.epsilon, "delta": self.budget.delta},
            "adaptive": self.adaptive,
            "data_set": self.named,
            "spends": _chained(self.spends, spends),
            "streams": _chained(self.streams, streams),
        }
        return seal(document).encode()

    @classmethod
    def from_bytes(cls, document: bytes) -> LedgerState:
        """Return the ledger with the content of a file.

        Raises
        ------
        ValueError or TypeError
            If it is not a ledger file, or was changed or damaged.
        """
        values = unseal(document)
        if values.get("format") != FORMAT:
            raise ValueError(f"its format is {values.get('format')!r}, not {FORMAT!r}")
        version = values.get("format_version")
        if type(version) is not int or not _OLDEST_VERSION <= version <= FORMAT_VERSION:
            advice = "use a newer pairdp"
            if isinstance(version, int) and version < _OLDEST_VERSION:
                advice = "it was made before ledgers had an identity, and cannot be continued"
            raise ValueError(
                f"its format version {version!r} is not {_OLDEST_VERSION} to {FORMAT_VERSION}: "
                f"{advice}"
            )
        required = {
            "format", "format_version", "relation", "identity", "budget", "adaptive", "spends",
            "streams",
        }  # fmt: skip
        if version > _OLDEST_VERSION:
            required.add("data_set")
        fields = fields_of(
            "ledger", values, required, {"unit"} if version > _OLDEST_VERSION else None
        )
        unit = optional_text("unit", fields.get("unit"))
        if fields["relation"] != (RELATION if unit is None else UNIT_RELATION):
            raise ValueError(f"unknown neighbouring relation {fields['relation']!r}")
        budget = fields_of("budget", fields["budget"], {"epsilon", "delta"})
        if not isinstance(fields["adaptive"], bool):
            raise ValueError("adaptive must be true or false")
        spends, spend_links = _entries("spends", fields["spends"])
        streams, stream_links = _entries("streams", fields["streams"])
        state = cls(
            Budget(budget["epsilon"], budget["delta"]),
            fields["adaptive"],
            text("identity", fields["identity"]),
            tuple(Spend.from_dict(entry) for entry in spends),
            tuple(StreamEntry.from_dict(entry) for entry in streams),
            optional_text("data_set", fields.get("data_set")),
            unit,
        )
        if (spend_links, stream_links) != tuple(list(chain[1:]) for chain in state._chains):
            raise ValueError("its entries do not form a chain: some were changed, removed or moved")
        return state


def _of_unit(unit: str) -> dict[str, str]:
    return {"relation": UNIT_RELATION, "unit": unit}


def _chain(identity: str, what: str, entries: Iterable[dict[str, object]]) -> tuple[str, ...]:
    """Return the digests of a chain, starting with that of the empty chain."""
    links = [digest({"identity": identity, "of": what})]
    for entry in entries:
        links.append(digest({"before": links[-1], "entry": entry}))
    return tuple(links)


def _chained(
    entries: Iterable[Spend | StreamEntry], links: Sequence[str]
) -> list[dict[str, object]]:
    """Return entries with their digests, for a file."""
    return [{**e.to_dict(), "chain": link} for e, link in zip(entries, links[1:], strict=True)]


def _entries(what: str, entries: object) -> tuple[list[dict[str, object]], list[object]]:
    """Return the entries in a file and their digests, separately."""
    if not isinstance(entries, list):
        raise ValueError(f"its {what} are not a list")
    if not all(isinstance(entry, dict) and "chain" in entry for entry in entries):
        raise ValueError(f"one of its {what} is not an entry")
    links = [entry["chain"] for entry in entries]
    return [{k: v for k, v in entry.items() if k != "chain"} for entry in entries], links
