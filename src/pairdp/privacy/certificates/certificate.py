"""Certificates: the machine-checkable privacy statement of a release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, keep, text
from pairdp._sealed import fields_of, seal, unseal
from pairdp._version import __version__
from pairdp.privacy.accounting.budget import RELATION, Budget
from pairdp.privacy.accounting.composition import PrivacyCurve
from pairdp.privacy.accounting.events import Event, NonPrivateEvent, SequentialEvent
from pairdp.privacy.accounting.unit import UNIT_RELATION, Unit, check_unit
from pairdp.privacy.certificates.part import composed
from pairdp.privacy.certificates.release import Release
from pairdp.privacy.errors import CertificateError
from pairdp.privacy.mechanisms.noise_source import UNDRAWN, NoiseSource

FORMAT = "pairdp certificate"
FORMAT_VERSION = 3
Scalar = float | int | str | bool | None


class TradeOff(NamedTuple):
    """Pairs of ε and δ that hold, as two arrays of equal length."""

    epsilon: NDArray[np.float64]
    delta: NDArray[np.float64]


@dataclass(frozen=True)
class Certificate:
    """The privacy claim of a release, and everything needed to check it.

    Parameters
    ----------
    algorithm : str
        The algorithm that made the release.
    budget : Budget or None
        The claim; None claims nothing.
    n : int
        The public number of records.
    releases : sequence of Release
        Everything that is released. Releases on different parts compose in parallel, all others
        in sequence (`pairdp.privacy.certificates.part.composed`).
    problem : mapping of str to number, string or None
        Public facts about the problem, such as the constants of its loss.
    calibration : {"certified", "printed", "none"}
        Where the noise scales come from.
    noise_source : str
        Where the randomness comes from: `NoiseSource.description`.
    assumptions : sequence of str
        Assumptions on the data and its handling, in words.
    library_version : str
        The version of pairdp that made the certificate.
    plan : mapping, optional
        The input and the result of planning, as JSON values: the algorithm with its parameters, the
        problem, the number of features, conditions and settings. Together with n, the claim and the
        calibration these are all public facts, from which `pairdp.verify` plans again. None for a
        certificate that was made by hand.
    unit : Unit, optional
        What the claim protects: all records of one unit; a single record by default.
    """

    algorithm: str
    budget: Budget | None
    n: int
    releases: tuple[Release, ...]
    problem: Mapping[str, Scalar] = field(default_factory=dict)
    calibration: Literal["certified", "printed", "none"] = "certified"
    noise_source: str = UNDRAWN
    assumptions: tuple[str, ...] = ()
    library_version: str = __version__
    plan: Mapping[str, Any] | None = None
    unit: Unit | None = None

    def __post_init__(self) -> None:
        check_unit(self.unit)
        for name in ("algorithm", "noise_source", "library_version"):
            text(name, getattr(self, name))
        if self.budget is not None and not isinstance(self.budget, Budget):
            raise TypeError(f"budget must be a Budget or None, got {self.budget!r}")
        keep(self, "n", integer("n", self.n))
        if isinstance(self.releases, Release) or isinstance(self.assumptions, str):
            raise TypeError(
                "releases and assumptions must be sequences: put a single one into a tuple"
            )
        keep(self, "releases", tuple(self.releases))
        keep(self, "assumptions", tuple(self.assumptions))
        problem = {name: _plain(value) for name, value in self.problem.items()}
        keep(self, "problem", MappingProxyType(problem))
        if self.plan is not None:
            if not isinstance(self.plan, Mapping):
                raise TypeError(f"plan must be a mapping or None, got {self.plan!r}")
            keep(self, "plan", _frozen(self.plan))
        if self.calibration not in ("certified", "printed", "none"):
            raise ValueError(
                f'calibration must be "certified", "printed" or "none", got {self.calibration!r}'
            )
        if (self.calibration == "none") != (self.budget is None):
            raise ValueError('budget must be None if and only if calibration is "none"')
        if not self.releases or not all(isinstance(r, Release) for r in self.releases):
            raise ValueError("releases must contain at least one Release, and nothing else")
        for assumption in self.assumptions:
            text("assumption", assumption)
        for name, value in self.problem.items():
            text("problem entry", name)
            if not (value is None or isinstance(value, str | bool | int | float)):
                raise TypeError(f"problem entry {name} must be a JSON scalar, got {value!r}")
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"problem entry {name} must be finite, or None for no bound")

    def __hash__(self) -> int:
        return hash((self.algorithm, self.budget, self.n, self.releases, self.noise_source))

    def __getstate__(self) -> dict[str, str]:
        return {"document": self.to_json()}

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__dict__.update(vars(Certificate.from_json(state["document"])))

    @cached_property
    def event(self) -> Event:
        """The privacy event of everything that is released."""
        everywhere = list(composed((r.part, r.event) for r in self.releases))
        if self.budget is None:
            everywhere.append(NonPrivateEvent())
        return everywhere[0] if len(everywhere) == 1 else SequentialEvent(tuple(everywhere))

    @cached_property
    def _privacy(self) -> PrivacyCurve:
        return PrivacyCurve(self.event)

    def epsilon(self, delta: float | None = None) -> float:
        """Return the smallest ε that holds at δ, by default at the claimed one."""
        if delta is None:
            delta = 0.0 if self.budget is None else self.budget.delta
        return self._privacy.epsilon(delta)

    def delta(self, epsilon: float | None = None) -> float:
        """Return the smallest δ that holds at ε, by default at the claimed one."""
        if epsilon is None:
            if self.budget is None:
                return 1.0
            epsilon = self.budget.epsilon
        return self._privacy.delta(epsilon)

    @cached_property
    def holds(self) -> bool:
        """Whether the noise satisfies the claimed budget; True if nothing is claimed."""
        if self.budget is None:
            return True
        if self.budget.is_pure:
            return self.epsilon(0.0) <= self.budget.epsilon * (1 + 1e-9)
        return self._privacy.log_delta(self.budget.epsilon) <= math.log(self.budget.delta) + 1e-9

    def curve(self, deltas: Sequence[float] | None = None) -> TradeOff:
        """Return the trade-off of ε and δ, by default at 25 values of δ from 1e-12 to 0.1."""
        chosen = np.geomspace(1e-12, 0.1, 25) if deltas is None else np.asarray(deltas, float)
        if chosen.ndim != 1:
            raise ValueError(f"deltas must be a sequence of numbers, got shape {chosen.shape}")
        order = np.argsort(chosen)
        epsilons = np.array([self.epsilon(float(d)) for d in chosen[order]])
        # An ε that holds at a δ holds at every larger δ.
        found = np.empty_like(epsilons)
        found[order] = np.minimum.accumulate(epsilons)
        return TradeOff(found, chosen)

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve of ε and δ, with the claim, on axes of matplotlib, and return them.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            By default those of a new figure.
        """
        from pairdp.drawing.matplotlib_axes import plot_figure
        from pairdp.privacy.certificates.curve_figure import curve_figure

        return plot_figure(curve_figure(self), ax)

    def with_noise_source(self, source: NoiseSource) -> Certificate:
        """Return the certificate of a run that drew its noise from ``source``."""
        own = type(source) is NoiseSource
        foreign = f"{type(source).__name__}, which is not of this library"
        return replace(self, noise_source=source.description if own else foreign)

    @property
    def relation(self) -> str:
        """The name of the neighbouring relation that the claim refers to."""
        return RELATION if self.unit is None else UNIT_RELATION

    def statement(self) -> str:
        """Return the statement for a privacy officer."""
        from pairdp.privacy.certificates.statement import write_statement

        return write_statement(self)

    def to_dict(self) -> dict[str, object]:
        """Return the certificate as plain JSON values."""
        budget, unit = self.budget, self.unit
        of_unit: dict[str, object] = {}
        if unit is not None:
            of_unit["unit"] = {"name": unit.name, "max_records": unit.max_records}
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "library_version": self.library_version,
            "algorithm": self.algorithm,
            "claim": None if budget is None else {"epsilon": budget.epsilon, "delta": budget.delta},
            "relation": self.relation,
            **of_unit,
            "n": self.n,
            "calibration": self.calibration,
            "releases": [release.to_dict() for release in self.releases],
            "problem": dict(self.problem),
            "noise_source": self.noise_source,
            "assumptions": list(self.assumptions),
            "plan": _thawed(self.plan),
        }

    def to_json(self) -> str:
        """Return the certificate as JSON text, with a digest of its content."""
        return seal(self.to_dict())

    def save(self, path: str | Path) -> None:
        """Write the certificate to a file, atomically."""
        from pairdp._files import destination, write_atomically

        if not destination(Path(path)).parent.is_dir():
            raise FileNotFoundError(f"there is no directory {Path(path).parent} to save into")
        write_atomically(Path(path), self.to_json().encode())

    @classmethod
    def from_json(cls, document: str | bytes) -> Certificate:
        """Return the certificate in a JSON text; use `pairdp.verify` to check it.

        Raises
        ------
        CertificateError
            If the text is not a certificate, or was changed or damaged.
        """
        try:
            return cls._from_dict(unseal(document))
        except CertificateError:
            raise
        except (ValueError, TypeError, RecursionError) as error:
            hint = "" if _looks_like_json(document) else "; pass a file as a pathlib.Path"
            raise CertificateError(f"not a valid certificate: {error}{hint}") from None

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Return the certificate in a file."""
        try:
            document = Path(path).read_bytes()
        except OSError as error:
            reason = error.strerror or str(error)
            raise CertificateError(f"the certificate {path} cannot be read: {reason}") from None
        return cls.from_json(document)

    @classmethod
    def _from_dict(cls, values: dict[str, object]) -> Certificate:
        if values.get("format") != FORMAT:
            raise CertificateError(f"not a certificate: its format is {values.get('format')!r}")
        if repr(values.get("format_version")) != repr(FORMAT_VERSION):
            raise CertificateError(
                f"certificate format {values.get('format_version')!r} is not known to this "
                f"version, which reads format {FORMAT_VERSION}: use the pairdp that made it"
            )
        fields = fields_of(
            "certificate",
            values,
            required={
                "format", "format_version", "library_version", "algorithm", "claim", "relation",
                "n", "calibration", "releases", "problem", "noise_source", "assumptions", "plan",
            },
            optional={"unit"},
        )  # fmt: skip
        unit = _unit(fields["relation"], fields.get("unit"))
        claim = fields["claim"]
        if claim is not None:
            claim = fields_of("claim", claim, required={"epsilon", "delta"})
        releases, assumptions = fields["releases"], fields["assumptions"]
        if not isinstance(releases, list) or not isinstance(assumptions, list):
            raise CertificateError("releases and assumptions must be lists")
        if not isinstance(fields["problem"], dict):
            raise CertificateError("problem must be a JSON object")
        return cls(
            algorithm=fields["algorithm"],
            budget=None if claim is None else Budget(claim["epsilon"], claim["delta"]),
            n=fields["n"],
            releases=tuple(Release.from_dict(r) for r in releases),
            problem=fields["problem"],
            calibration=fields["calibration"],
            noise_source=fields["noise_source"],
            assumptions=tuple(assumptions),
            library_version=fields["library_version"],
            plan=fields["plan"],
            unit=unit,
        )


def _unit(relation: object, values: object) -> Unit | None:
    """Return the unit that a certificate states, which must fit its relation."""
    if relation not in (RELATION, UNIT_RELATION):
        raise CertificateError(f"unknown neighbouring relation {relation!r}")
    if (relation == UNIT_RELATION) != (values is not None):
        raise CertificateError(f"the relation {relation!r} does not fit the unit {values!r}")
    if values is None:
        return None
    stated = fields_of("unit", values, required={"name", "max_records"})
    return Unit(stated["name"], stated["max_records"])


def _plain(value: object) -> Any:
    """Return a numpy scalar as a Python number."""
    return value.item() if isinstance(value, np.generic) else value


def _frozen(value: Any) -> Any:
    """Return an immutable copy of JSON values."""
    match value:
        case None | bool() | str() | int():
            return value
        case float() if math.isfinite(value):
            return value
        case list() | tuple():
            return tuple(_frozen(item) for item in value)
        case Mapping() if all(isinstance(key, str) for key in value):
            return MappingProxyType({key: _frozen(item) for key, item in value.items()})
    raise TypeError(f"plan must contain JSON values only, got {value!r}")


def _thawed(value: Any) -> Any:
    """Return immutable JSON values as lists and dictionaries."""
    match value:
        case tuple():
            return [_thawed(item) for item in value]
        case Mapping():
            return {key: _thawed(item) for key, item in value.items()}
    return value


def _looks_like_json(document: str | bytes) -> bool:
    return document.lstrip()[:1] in ("{", b"{")
