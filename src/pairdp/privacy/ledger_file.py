"""What a ledger's file holds, as a sealed JSON document."""

from __future__ import annotations

from dataclasses import dataclass

from pairdp._checks import text
from pairdp._sealed import fields_of, seal, unseal
from pairdp.privacy.budget import RELATION, Budget
from pairdp.privacy.events import Event, event_from_dict, event_to_dict

FORMAT = "pairdp ledger"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Spend:
    """One entry of a ledger: what was released, when, and what it costs."""

    label: str
    time: str
    event: Event


def write_ledger(budget: Budget, adaptive: bool, spends: tuple[Spend, ...]) -> bytes:
    """Return the content of a ledger's file."""
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "relation": RELATION,
        "budget": {"epsilon": budget.epsilon, "delta": budget.delta},
        "adaptive": adaptive,
        "spends": [
            {"label": s.label, "time": s.time, "event": event_to_dict(s.event)} for s in spends
        ],
    }
    return seal(document).encode()


def read_ledger(document: bytes) -> tuple[Budget, bool, tuple[Spend, ...]]:
    """Return the budget, whether it is adaptive, and the spends of a ledger's file.

    Raises
    ------
    ValueError or TypeError
        If it is not a ledger's file, or was changed or damaged.
    """
    values = unseal(document)
    if values.get("format") != FORMAT:
        raise ValueError(f"its format is {values.get('format')!r}, not {FORMAT!r}")
    if values.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"its format version {values.get('format_version')!r} is not {FORMAT_VERSION}: "
            "use a newer pairdp"
        )
    required = {"format", "format_version", "relation", "budget", "adaptive", "spends"}
    fields = fields_of("ledger", values, required)
    if fields["relation"] != RELATION:
        raise ValueError(f"unknown neighbouring relation {fields['relation']!r}")
    budget = fields_of("budget", fields["budget"], {"epsilon", "delta"})
    spends = []
    if not isinstance(fields["adaptive"], bool):
        raise ValueError("whether it is adaptive is neither true nor false")
    if not isinstance(fields["spends"], list):
        raise ValueError("its spends are not a list")
    for entry in fields["spends"]:
        spend = fields_of("spend", entry, {"label", "time", "event"})
        label, time = text("label", spend["label"]), text("time", spend["time"])
        spends.append(Spend(label, time, event_from_dict(spend["event"])))
    return Budget(budget["epsilon"], budget["delta"]), fields["adaptive"], tuple(spends)
