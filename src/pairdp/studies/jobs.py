"""Jobs: independent parts of a study that any process can run, in any order."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp.algorithms import Fit, Plan
from pairdp.privacy import Certificate, NoiseSource

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RunResult:
    """The result of a job.

    Attributes
    ----------
    values : mapping of str to tuple of float
        One number per run for each measure. Empty if the job was refused.
    certificate : dict or None
        "statement", "epsilon", "delta", "claim_is_proved" and "json"; None without noise.
    refused : str
        Why there are no values, if the algorithm cannot be planned as printed.
    """

    values: Mapping[str, tuple[float, ...]]
    certificate: dict[str, Any] | None = None
    refused: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return {
            "values": {name: list(runs) for name, runs in self.values.items()},
            "certificate": self.certificate,
            "refused": self.refused,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunResult:
        """Return the result that `to_dict` wrote."""
        runs = {name: tuple(map(float, found)) for name, found in values["values"].items()}
        return cls(runs, values["certificate"], str(values["refused"]))


@dataclass(frozen=True)
class Job(ABC):
    """What to run, and how often. Equal jobs have equal keys, in every process.

    Parameters
    ----------
    runs : int
        Number of permutations, or of draws of synthetic data.
    """

    runs: int = field(kw_only=True)

    def __post_init__(self) -> None:
        integer("runs", self.runs, at_least=2)

    @property
    def key(self) -> str:
        """The job as text."""
        return f"{self._what} × {self.runs}"

    @property
    def _what(self) -> str:
        """What is run, regardless of how often."""
        parts = {each.name: getattr(self, each.name) for each in fields(self)}
        del parts["runs"]
        return f"{type(self).__name__} {json.dumps(parts, sort_keys=True, default=repr)}"

    def noise(self, run: int) -> NoiseSource:
        """Return the noise of a run, seeded by its number and by what is run."""
        digest = hashlib.sha256(self._what.encode()).hexdigest()
        return NoiseSource(run).child("study", digest)

    @abstractmethod
    def run(self, data: Path | None) -> RunResult:
        """Run the job; data sets are in the directory, or where `studies.data.load` finds them."""


class Split(NamedTuple):
    """Training records and test records."""

    x: Array
    y: Array
    x_test: Array
    y_test: Array


class FitJob(Job):
    """Fit one plan to the training records of every run, and score each model."""

    @abstractmethod
    def split(self, run: int, data: Path | None) -> Split:
        """Return the records of a run."""

    @abstractmethod
    def plan(self, features: int) -> Plan:
        """Return the plan; a ValueError is the reason why there is none."""

    @abstractmethod
    def score(self, parameters: Array, split: Split) -> dict[str, float]:
        """Return each measure of a model."""

    def model(self, plan: Plan, release: Fit) -> Any:
        """Return what is scored of a release: its parameters."""
        return release.parameters

    @property
    def baseline(self) -> Callable[[Split], Array] | None:
        """From records to parameters, for a job without a plan."""
        return None

    def run(self, data: Path | None) -> RunResult:
        """Fit and score."""
        splits = [self.split(run, data) for run in range(self.runs)]
        if self.baseline is not None:
            models, certificate = [self.baseline(split) for split in splits], None
        else:
            try:
                plan = self.plan(splits[0].x.shape[1])
            except ValueError as error:
                return RunResult({}, refused=str(error))
            releases = [
                plan.run(plan.problem.records(split.x, split.y), self.noise(i), progress=False)
                for i, split in enumerate(splits)
            ]
            models = [self.model(plan, release) for release in releases]
            certificate = to_entry(releases[-1].certificate)
        scores = [self.score(*each) for each in zip(models, splits, strict=True)]
        values = {name: tuple(score[name] for score in scores) for name in scores[0]}
        return RunResult(values, certificate)


def to_entry(certificate: Certificate) -> dict[str, Any] | None:
    """Return what results store of a certificate; None for one that claims nothing."""
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
    """Return the digest by which cells refer to a certificate."""
    content = json.dumps(certificate["json"], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:16]
