"""Small independent pieces of a study: each is run by itself, in any process, in any order."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from pairdp._checks import integer
from pairdp.privacy import Certificate, NoiseSource


@dataclass(frozen=True)
class RunResult:
    """What a job found.

    Attributes
    ----------
    values : mapping of str to tuple of float
        For each measure one number a run. Empty if the job was refused.
    certificate : dict or None
        "statement", "epsilon", "delta", "claim_is_proved" and "json"; None without noise.
    refused : str
        Why there are no values, if an algorithm cannot be planned as printed.
    """

    values: Mapping[str, tuple[float, ...]]
    certificate: dict[str, Any] | None = None
    refused: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain JSON values."""
        return {
            "values": {name: list(runs) for name, runs in self.values.items()},
            "certificate": self.certificate,
            "refused": self.refused,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunResult:
        """Return the outcome that `to_dict` wrote."""
        runs = {name: tuple(map(float, found)) for name, found in values["values"].items()}
        return cls(runs, values["certificate"], str(values["refused"]))


@dataclass(frozen=True)
class Job(ABC):
    """One piece: what to run, how often. Its key tells it from all others, always the same.

    Parameters
    ----------
    runs : int
        How many permutations, or draws of synthetic data.
    """

    runs: int = field(kw_only=True)

    def __post_init__(self) -> None:
        integer("runs", self.runs, at_least=2)

    @property
    def key(self) -> str:
        """What the job is, as text; equal for equal jobs in every process."""
        return f"{self._what} × {self.runs}"

    @property
    def _what(self) -> str:
        """What is run, however often."""
        parts = {each.name: getattr(self, each.name) for each in fields(self)}
        del parts["runs"]
        return f"{type(self).__name__} {json.dumps(parts, sort_keys=True, default=repr)}"

    def noise(self, run: int) -> NoiseSource:
        """Return the noise of a run: seeded by its number and by what is run."""
        digest = hashlib.sha256(self._what.encode()).hexdigest()
        return NoiseSource(run).child("study", digest)

    @abstractmethod
    def run(self, data: Path | None) -> RunResult:
        """Do it, with data sets from a directory (None: as `studies.data.load` finds them)."""


def summed_up(certificate: Certificate) -> dict[str, Any] | None:
    """Return what results keep of a certificate; None for one that claims nothing."""
    budget = certificate.budget
    if budget is None:
        return None
    return {
        "statement": certificate.statement(),
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "claim_is_proved": certificate.holds,
        "json": certificate.to_dict(),
    }


def certificate_key(certificate: Mapping[str, Any]) -> str:
    """Return the digest that cells name a certificate by."""
    content = json.dumps(certificate["json"], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:16]
