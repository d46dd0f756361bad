"""The content of a ledger file: a JSON document with a digest.

A ledger has a random identity, and its entries form a hash chain: each has a digest of itself and
of the digest before it, starting with the identity. A file *extends* what was seen of a ledger if
it has the same identity, at least as many entries, and the same digest at the last entry that was
seen; it then has all entries that were seen, in order. Every entry has a random number, so that no
two histories are equal by accident.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple, Self

from pairdp._checks import text
from pairdp._sealed import digest, fields_of, seal, unseal
from pairdp.privacy.accounting.budget import RELATION, Budget
from pairdp.privacy.accounting.events import Event, event_from_dict, event_to_dict
from pairdp.privacy.ledger.balance import Balance

FORMAT = "pairdp ledger"
FORMAT_VERSION = 2
Action = Literal["saved", "resumed"]


def random_name() -> str:
    """Return a random identity of a ledger, an entry or a stream."""
    return secrets.token_hex(16)


@dataclass(frozen=True)
class Spend:
    """One entry of a ledger: what was released, when, and what it costs."""

    label: str
    time: str
    event: Event
    id: str = field(default_factory=random_name, repr=False)

    def to_dict(self) -> dict[str, object]:
        """Return the entry as plain JSON values."""
        event = event_to_dict(self.event)
        return {"label": self.label, "time": self.time, "event": event, "id": self.id}

    @classmethod
    def from_dict(cls, values: dict[str, object]) -> Self:
        """Return the entry that `to_dict` wrote."""
        fields = fields_of("spend", values, {"label", "time", "event", "id"})
        label, time = text("label", fields["label"]), text("time", fields["time"])
        return cls(label, time, event_from_dict(fields["event"]), text("id", fields["id"]))


@dataclass(frozen=True)
class StreamEntry:
    """An entry that a stream was saved to a file with this token, or resumed from it."""

    token: str
    action: Action
    time: str

    def to_dict(self) -> dict[str, object]:
        """Return the entry as plain JSON values."""
        return {"token": self.token, "action": self.action, "time": self.time}

    @classmethod
    def from_dict(cls, values: dict[str, object]) -> Self:
        """Return the entry that `to_dict` wrote."""
        fields = fields_of("stream", values, {"token", "action", "time"})
        if fields["action"] not in ("saved", "resumed"):
            raise ValueError("the action of a stream must be saved or resumed")
        return cls(text("token", fields["token"]), fields["action"], text("time", fields["time"]))


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
    """

    budget: Budget
    adaptive: bool
    identity: str = field(default_factory=random_name)
    spends: tuple[Spend, ...] = ()
    streams: tuple[StreamEntry, ...] = ()

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
            "relation": RELATION,
            "identity": self.identity,
            "budget": {"epsilon": self.budget.epsilon, "delta": self.budget.delta},
            "adaptive": self.adaptive,
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
        if version != FORMAT_VERSION:
            advice = "use a newer pairdp"
            if isinstance(version, int) and version < FORMAT_VERSION:
                advice = "it was made before ledgers had an identity, and cannot be continued"
            raise ValueError(f"its format version {version!r} is not {FORMAT_VERSION}: {advice}")
        required = {
            "format", "format_version", "relation", "identity", "budget", "adaptive", "spends",
            "streams",
        }  # fmt: skip
        fields = fields_of("ledger", values, required)
        if fields["relation"] != RELATION:
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
        )
        if (spend_links, stream_links) != tuple(list(chain[1:]) for chain in state._chains):
            raise ValueError("its entries do not form a chain: some were changed, removed or moved")
        return state


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
