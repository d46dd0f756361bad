"""One release of a certificate: what was released, with which noise and sensitivity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pairdp._checks import integer, keep, positive, text
from pairdp._sealed import fields_of
from pairdp.privacy.accounting.events import Event, sampling_from_dict, sampling_to_dict
from pairdp.privacy.accounting.sampling import FixedSizeSampling, RepeatedDraws, Sampling
from pairdp.privacy.bounds.sensitivity import Sensitivity
from pairdp.privacy.certificates.part import Part
from pairdp.privacy.mechanisms.additive_noise import (
    GaussianMechanism,
    KNormMechanism,
    L1LaplaceMechanism,
    LaplaceMechanism,
    Mechanism,
    NoMechanism,
)
from pairdp.privacy.mechanisms.permute_and_flip import PermuteAndFlip
from pairdp.privacy.mechanisms.repeat_and_select import RepeatAndSelect, Runs

_NAMES: dict[type[object], str] = {
    GaussianMechanism: "gaussian",
    KNormMechanism: "k-norm",
    LaplaceMechanism: "laplace",
    L1LaplaceMechanism: "l1-laplace",
    PermuteAndFlip: "permute-and-flip",
    RepeatAndSelect: "repeat-and-select",
    NoMechanism: "none",
}
HIDDEN_ITERATES = "last iterate of noisy gradient descent"
_NOISE = {
    "gaussian": "Gaussian noise of standard deviation",
    "k-norm": "K-norm noise (density proportional to exp(-‖z‖₂/s)) of scale s =",
    "laplace": "Laplace noise in each coordinate, of scale",
    "l1-laplace": "Laplace noise in each coordinate, for an ℓ1 sensitivity, of scale",
    "repeat-and-select": "the best by scores with Laplace noise of scale",
    "permute-and-flip": "chosen by permute-and-flip, as if exponential noise were added, of mean",
}


def rounded_dimension(dimension: int, sensitivity: Sensitivity | None) -> int:
    """Return the p for which g√p is what rounding to the grid g adds to a sensitivity.

    It is the number of coordinates d. A last iterate whose earlier ones are not released is rounded
    at each of T steps, before the noise and after it. Each step's change s grows by 2g√d, and in
    the bound (c^τ·D + s·Σc^i)/√Σc^2i, where s has a factor of at most √T, it adds at most 2g√(dT).
    """
    if sensitivity is None or sensitivity.bound != HIDDEN_ITERATES:
        return dimension
    return 4 * dimension * integer("steps", sensitivity.inputs.get("steps"))


@dataclass(frozen=True)
class Release:
    """A released vector or matrix, or several of the same kind.

    Parameters
    ----------
    name : str
        What is released, in words.
    mechanism : Mechanism
        The mechanism that adds the noise.
    sensitivity : Sensitivity or None
        The bound behind the mechanism's sensitivity; None only without noise.
    dimension : int
        Number of coordinates; d(d+1)/2 for a symmetric matrix.
    count : int, default=1
        The number of releases, each with fresh noise.
    sampling : Sampling, optional
        How the records of each of the ``count`` steps were drawn.
    part : Part, optional
        The part of the records that is used; all of them by default.
    """

    name: str
    mechanism: Mechanism
    sensitivity: Sensitivity | None
    dimension: int
    count: int = 1
    sampling: Sampling | None = None
    part: Part | None = None

    def __post_init__(self) -> None:
        text("name", self.name)
        if type(self.mechanism) not in _NAMES:
            raise TypeError(f"mechanism must be a Mechanism, got {self.mechanism!r}")
        keep(self, "dimension", integer("dimension", self.dimension))
        keep(self, "count", integer("count", self.count))
        if isinstance(self.mechanism, NoMechanism):
            if self.sensitivity is not None:
                raise ValueError("sensitivity must be None for a release without noise")
        elif self.sensitivity is None:
            raise ValueError("a release with noise needs a sensitivity")
        elif self.sensitivity.value != self.mechanism.sensitivity:
            raise ValueError(
                f"the mechanism has sensitivity {self.mechanism.sensitivity!r}, but the bound "
                f"gives {self.sensitivity.value!r}"
            )
        rounded = rounded_dimension(self.dimension, self.sensitivity)
        dimension = getattr(self.mechanism, "dimension", rounded)
        if dimension != rounded:
            raise ValueError(
                f"the mechanism has dimension {dimension}, but the release needs {rounded}"
            )
        if self.sampling is not None and not isinstance(self.mechanism, GaussianMechanism):
            raise ValueError("sampling is supported for Gaussian noise only")

    @property
    def event(self) -> Event:
        """The privacy event for the records that are used."""
        if isinstance(self.mechanism, GaussianMechanism):
            return self.mechanism.event(self.count, self.sampling)
        return self.mechanism.event(self.count)

    @property
    def mechanism_name(self) -> str:
        """The name of the mechanism in certificates."""
        return _NAMES[type(self.mechanism)]

    def describe(self) -> str:
        """Return the release in one sentence."""
        times = "" if self.count == 1 else f", {self.count} times"
        numbers = "1 number" if self.dimension == 1 else f"{self.dimension} numbers"
        if isinstance(self.mechanism, PermuteAndFlip | RepeatAndSelect):
            numbers = f"one of {self.dimension}"
        what = f"{self.name} ({numbers}{times})"
        if isinstance(self.mechanism, NoMechanism):
            return f"{what}: without noise."
        noise = f"{_NOISE[self.mechanism_name]} {self.mechanism.scale:.6g}"
        drawn = "" if self.sampling is None else f"; {self.sampling.describe()}"
        part = "" if self.part is None else f"; on {self.part.describe()}"
        grid = f"on multiples of 2^{round(math.log2(self.mechanism.grid))}"
        of_unit = ""
        if self.sensitivity is not None and self.sensitivity.records > 1:
            of_unit = f" for {self.sensitivity.records} records"
        sensitivity = f"sensitivity {self.mechanism.sensitivity:.6g}{of_unit}"
        if isinstance(self.mechanism, RepeatAndSelect):
            runs = self.mechanism.runs
            drawn = (
                f"; of a geometric number of fits, {runs.mean} on average, each of a candidate "
                f"that is drawn at random and {runs.mu:.6g}-GDP"
            )
        rounding = f"and {self.mechanism.rounding:.3g} for rounding"
        return f"{what}: {noise}, {grid}; {sensitivity} {rounding}{drawn}{part}."

    def to_dict(self) -> dict[str, object]:
        """Return the release as plain JSON values."""
        values: dict[str, object] = {
            "name": self.name,
            "mechanism": self.mechanism_name,
            "dimension": self.dimension,
            "count": self.count,
        }
        if self.sensitivity is not None and not isinstance(self.mechanism, NoMechanism):
            values["scale"] = self.mechanism.scale
            values["grid"] = self.mechanism.grid
            stated: dict[str, object] = {
                "bound": self.sensitivity.bound,
                "inputs": dict(self.sensitivity.inputs),
                "value": self.sensitivity.value,
            }
            if self.sensitivity.records != 1:
                stated["records"] = self.sensitivity.records
            values["sensitivity"] = stated
        if isinstance(self.mechanism, RepeatAndSelect):
            values["runs"] = self.mechanism.runs._asdict()
        if self.sampling is not None:
            values["sampling"] = sampling_to_dict(self.sampling)
        if self.part is not None:
            values["part"] = self.part.to_dict()
        return values

    @staticmethod
    def from_dict(values: object) -> Release:
        """Return the release that `to_dict` wrote; anything else is an error."""
        fields = fields_of(
            "release",
            values,
            required={"name", "mechanism", "dimension", "count"},
            optional={"scale", "grid", "sensitivity", "sampling", "part", "runs"},
        )
        sensitivity = _sensitivity(fields.get("sensitivity"))
        mechanism = _mechanism(fields, sensitivity)
        sampling = fields.get("sampling")
        part = fields.get("part")
        return Release(
            fields["name"],
            mechanism,
            sensitivity,
            fields["dimension"],
            fields["count"],
            None if sampling is None else sampling_from_dict(sampling),
            None if part is None else Part.from_dict(part),
        )


def _sensitivity(values: object) -> Sensitivity | None:
    if values is None:
        return None
    required = {"bound", "inputs", "value"}
    fields = fields_of("sensitivity", values, required, optional={"records"})
    inputs = fields["inputs"]
    if not isinstance(inputs, dict):
        raise ValueError("the inputs of a sensitivity must be a JSON object")
    return Sensitivity(fields["bound"], inputs, fields["value"], fields.get("records", 1))


def _mechanism(fields: Mapping[str, Any], sensitivity: Sensitivity | None) -> Mechanism:
    name, scale, grid = fields["mechanism"], fields.get("scale"), fields.get("grid")
    if name == "none":
        return NoMechanism()
    if sensitivity is None or scale is None or grid is None:
        raise ValueError("a release with noise needs its scale, its grid and its sensitivity")
    grid = positive("grid", grid)  # here, none is chosen by default
    dimension = rounded_dimension(fields["dimension"], sensitivity)
    match name:
        case "gaussian":
            return GaussianMechanism(sensitivity.value, scale, dimension, grid)
        case "k-norm":
            return KNormMechanism(sensitivity.value, scale, dimension, grid)
        case "laplace":
            return LaplaceMechanism(sensitivity.value, scale, dimension, grid)
        case "l1-laplace":
            return L1LaplaceMechanism(sensitivity.value, scale, dimension, grid)
        case "permute-and-flip":
            return PermuteAndFlip(sensitivity.value, scale, dimension, grid)
        case "repeat-and-select":
            runs = fields_of("runs", fields.get("runs"), required=set(Runs._fields))
            return RepeatAndSelect(sensitivity.value, scale, dimension, grid, Runs(**runs))
    raise ValueError(f"unknown mechanism {name!r}; known: {', '.join(sorted(_NAMES.values()))}")


def sampled_population(release: Release) -> int | None:
    """Return the number of records that a release samples from, None if it states none."""
    if isinstance(release.sampling, FixedSizeSampling | RepeatedDraws):
        return release.sampling.population
    return None
