"""The entries of a ledger: what was spent and for what, and which streams were saved."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self

from pairdp._checks import text
from pairdp._sealed import fields_of
from pairdp.privacy.accounting.events import Event, event_from_dict, event_to_dict

Action = Literal["saved", "resumed"]


def random_name() -> str:
    """Return a random identity of a ledger, an entry or a stream."""
    return secrets.token_hex(16)


def optional_text(name: str, value: object) -> str | None:
    """Return a text that is not empty, or None."""
    return None if value is None else text(name, value)


@dataclass(frozen=True)
class Facts:
    """Public facts of an entry besides its cost; None where nothing was stated.

    Attributes
    ----------
    data_set : str or None
        The name that the user gives to the data set.
    columns : tuple of str or None
        The names of the columns that were used.
    model_file : str or None
        The file of the model that was released.
    note : str or None
        A remark of the user.
    unit : str or None
        The name of the unit that the release protects, all records of it together; None for single
        records, and where only the cost of a release is known.
    """

    data_set: str | None = None
    columns: tuple[str, ...] | None = None
    model_file: str | None = None
    note: str | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        for name in ("data_set", "model_file", "note", "unit"):
            optional_text(name, getattr(self, name))
        if self.columns is not None:
            if isinstance(self.columns, str):
                raise TypeError("columns must be a sequence of names, got one text")
            columns = tuple(text("a column", column) for column in self.columns)
            object.__setattr__(self, "columns", columns)

    def updated(self, other: Facts) -> Facts:
        """Return these facts, replaced by those that ``other`` states."""
        return replace(self, **other._stated())

    def to_dict(self) -> dict[str, object]:
        """Return the facts that are stated, as JSON values."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self._stated().items()
        }

    def _stated(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


_FACTS = {field.name for field in fields(Facts)}


@dataclass(frozen=True)
class Spend:
    """One entry of a ledger: what was released, when, and what it costs."""

    label: str
    time: str
    event: Event
    id: str = field(default_factory=random_name, repr=False)
    facts: Facts = Facts()

    def to_dict(self) -> dict[str, object]:
        """Return the entry as plain JSON values."""
        event = event_to_dict(self.event)
        entry = {"label": self.label, "time": self.time, "event": event, "id": self.id}
        return entry | self.facts.to_dict()

    @classmethod
    def from_dict(cls, values: dict[str, object]) -> Self:
        """Return the entry that `to_dict` wrote."""
        found = fields_of("spend", values, {"label", "time", "event", "id"}, _FACTS)
        if any(found[name] is None for name in _FACTS & found.keys()):
            raise ValueError("a fact of a spend is null")  # it would be written without it
        if not isinstance(found.get("columns", []), list):
            raise ValueError("the columns of a spend are not a list")
        return cls(
            text("label", found["label"]),
            text("time", found["time"]),
            event_from_dict(found["event"]),
            text("id", found["id"]),
            Facts(**{name: found[name] for name in _FACTS & found.keys()}),
        )


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
