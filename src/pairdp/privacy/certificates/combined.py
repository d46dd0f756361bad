r"""One certificate for releases that have certificates of their own, on parts of the same records.

A *split* says which records are in which part, before any of them is read. Each certificate is for
the n of its part, and is proved for neighbours within it. Two neighbours among all records differ
in one record, or in the records of one unit, which are in one part: within this part they are
neighbours, and within the others they are equal. What all releases cost together is then composed
as `pairdp.privacy.certificates.part.composed` proves, also if a release uses the outputs of earlier
ones, such as an evaluation that uses a model.

The combined certificate stores all of its certificates as facts. It must be what `combine` makes of
them, which `combination_faults` checks, and each of them is planned again by `pairdp.verify`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pairdp._sealed import canonical, fields_of, seal
from pairdp.privacy.accounting.budget import Budget
from pairdp.privacy.accounting.unit import Unit
from pairdp.privacy.certificates.certificate import FORMAT, FORMAT_VERSION, Certificate
from pairdp.privacy.certificates.on_trust import weakest_foundations
from pairdp.privacy.certificates.part import Part, moved_into
from pairdp.privacy.certificates.release import Release
from pairdp.privacy.mechanisms.noise_source import SECURE, SEEDED, UNDRAWN
from pairdp.storage import NOT_VALID, Storable, decode, encode

_KEY = "combined"
_NOT_STORED = ("format", "format_version", "library_version", "noise_source")
_SEVERAL = "Each of the certificates combined here is for the records of its part."


class Split(Storable, ABC):
    """A rule that divides n records into disjoint parts, without reading them.

    A frozen dataclass of public facts. With a unit, all rows of a unit that are used must be in one
    part, and which this is may depend on n and on which rows belong to one unit, alone.
    """

    @abstractmethod
    def parts(self, n: int, unit: Unit | None = None) -> tuple[Part, ...]:
        """Return the parts of n records, with names and sizes."""

    @abstractmethod
    def rule(self, n: int, unit: Unit | None = None) -> str:
        """Return the rule in a sentence, for the certificate."""


class PartCertificate(NamedTuple):
    """A certificate, and the name of the part that it is for; None for all records."""

    part: str | None
    certificate: Certificate


def combine(
    n: int,
    certificates: Sequence[tuple[str | None, Certificate]],
    split: Split | None = None,
    *,
    budget: Budget | None = None,
) -> Certificate:
    """Return one certificate for everything that several certificates release.

    Parameters
    ----------
    n : int
        The public number of all records.
    certificates : sequence of (str or None, Certificate)
        Each with the name of the part of the split that it is for, whose size is its n; None for
        all n records. Several may be for the same part. All must protect the same unit.
    split : Split, optional
        The parts.
    budget : Budget, optional
        The claim; an error if the releases do not satisfy it. By default it follows from the claims
        of the certificates: the sum of those on all records, and of the largest ε and the largest δ
        of the parts, where that of a part is the sum of the claims on it.

    Returns
    -------
    Certificate
        `pairdp.verify` plans each of the certificates again.

    Examples
    --------
    >>> from pairdp.evaluation import plan_evaluation
    >>> from pairdp.privacy.certificates.held_out import HeldOut
    >>> trained = plan_evaluation(800, 1.0).certificate
    >>> tested = plan_evaluation(200, 0.5).certificate
    >>> combine(1000, [("training", trained), ("evaluation", tested)], HeldOut(0.2)).budget
    Budget(epsilon=1.0, delta=0.0)
    """
    given = [PartCertificate(name, certificate) for name, certificate in certificates]
    if not given:
        raise ValueError("there is no certificate to combine")
    for _, certificate in given:
        if not isinstance(certificate, Certificate):
            raise TypeError(f"certificates must be Certificates, got {type(certificate).__name__}")
    unit = given[0].certificate.unit
    parts = {part.name: part for part in (() if split is None else split.parts(n, unit))}
    for entry in given:
        _check(entry, n, unit, parts)
    kinds = {entry.certificate.calibration for entry in given}
    claim = _worst(given) if budget is None else budget
    whole = Certificate(
        algorithm=_name(given),
        budget=claim,
        n=n,
        releases=tuple(_releases(given, parts)),
        problem=weakest_foundations([entry.certificate.problem for entry in given]),
        calibration="printed" if "printed" in kinds else "certified",
        noise_source=_noise_source(given),
        assumptions=_assumptions(given, n, split, unit),
        library_version=given[0].certificate.library_version,
        plan={_KEY: _facts(given, split, budget)},
        unit=unit,
    )
    if budget is not None and not whole.holds:
        raise ValueError(
            f"the releases need ε = {whole.epsilon():g} at δ = {budget.delta:g}, which is more "
            f"than ε = {budget.epsilon:g}"
        )
    return whole


def _check(entry: PartCertificate, n: int, unit: Unit | None, parts: Mapping[str, Part]) -> None:
    name, certificate = entry
    if name is not None and name not in parts:
        known = ", ".join(map(repr, parts)) or "none"
        raise ValueError(f"there is no part {name!r}; the split has {known}")
    size = n if name is None else parts[name].size
    if certificate.n != size:
        raise ValueError(
            f"the certificate of {certificate.algorithm} is for n = {certificate.n} records, but "
            f"there are {size} of {name or 'them all'}"
        )
    if certificate.unit != unit:
        raise ValueError("the certificates protect different units")
    if certificate.budget is None:
        raise ValueError(f"{certificate.algorithm} claims no privacy, so nothing can be combined")
    if unit is not None and name is not None and not parts[name].by_unit:
        raise ValueError("the split may put the records of one unit into several parts")


def _worst(given: Sequence[PartCertificate]) -> Budget:
    """Return what the claims give together, by basic composition within each part."""
    claims: dict[str | None, list[Budget]] = {}
    for name, certificate in given:
        if certificate.budget is not None:
            claims.setdefault(name, []).append(certificate.budget)
    everywhere = claims.pop(None, [])
    sums = [[*everywhere, *own] for own in claims.values()] or [everywhere]
    return Budget(
        max(math.fsum(claim.epsilon for claim in part) for part in sums),
        min(1.0, max(math.fsum(claim.delta for claim in part) for part in sums)),
    )


def _name(given: Sequence[PartCertificate]) -> str:
    named = Counter(
        certificate.algorithm if part is None else f"{certificate.algorithm} ({part})"
        for part, certificate in given
    )
    return " and ".join(
        name if count == 1 else f"{count} times {name}" for name, count in named.items()
    )


def _releases(given: Sequence[PartCertificate], parts: Mapping[str, Part]) -> Iterator[Release]:
    splits: dict[tuple[int, int], int] = {}  # a split of each certificate's own is none of another
    for place, (name, certificate) in enumerate(given):
        outer = None if name is None else parts[name]
        for release in certificate.releases:
            own = 0 if release.part is None else release.part.chain[0].split
            split = splits.setdefault((place, own), len(splits) + 1)
            yield replace(release, part=moved_into(release.part, outer, split))


def _noise_source(given: Sequence[PartCertificate]) -> str:
    """Return the noise source of all certificates, or the one that says least."""
    found = dict.fromkeys(certificate.noise_source for _, certificate in given)
    if len(found) > 1 and UNDRAWN in found:
        raise ValueError("some of the certificates are of plans, and others of runs")
    foreign = [source for source in found if source not in (UNDRAWN, SECURE, SEEDED)]
    return "; ".join(foreign) or next(s for s in (SEEDED, SECURE, UNDRAWN) if s in found)


def _assumptions(
    given: Sequence[PartCertificate], n: int, split: Split | None, unit: Unit | None
) -> tuple[str, ...]:
    own = [] if split is None else [split.rule(n, unit), _SEVERAL]
    of_each = (text for _, certificate in given for text in certificate.assumptions)
    return tuple(dict.fromkeys([*own, *of_each]))


def _facts(
    given: Sequence[PartCertificate], split: Split | None, budget: Budget | None
) -> dict[str, Any]:
    claim = None if budget is None else {"epsilon": budget.epsilon, "delta": budget.delta}
    stored = []
    for name, certificate in given:
        values = certificate.to_dict()
        kept = {key: value for key, value in values.items() if key not in _NOT_STORED}
        stored.append({"part": name, "certificate": kept})
    return {"split": encode(split), "claim": claim, "certificates": stored}


def is_combined(certificate: Certificate) -> bool:
    """Return whether a certificate was made by `combine`."""
    return isinstance(certificate.plan, Mapping) and _KEY in certificate.plan


def certificates_in(certificate: Certificate) -> tuple[PartCertificate, ...]:
    """Return the certificates that were combined, with the noise source of the whole.

    Raises
    ------
    ValueError or TypeError
        If the certificate is not a combined one, or its facts are malformed.
    """
    return tuple(
        PartCertificate(entry["part"], _read(entry["certificate"], certificate))
        for entry in _stored(certificate)["certificates"]
    )


def split_of(certificate: Certificate) -> Split | None:
    """Return the split of a combined certificate."""
    split = decode(_stored(certificate)["split"])
    if not isinstance(split, Split | None):
        raise ValueError("the split of a combined certificate is not a Split")
    return split


def _stored(certificate: Certificate) -> dict[str, Any]:
    fields = fields_of("plan", certificate.to_dict()["plan"], required={_KEY})
    names = {"split", "claim", "certificates"}
    stored = fields_of("combined certificate", fields[_KEY], required=names)
    if not isinstance(stored["certificates"], list):
        raise ValueError("the certificates of a combined certificate must be a list")
    for entry in stored["certificates"]:
        found = fields_of("combined certificate", entry, required={"part", "certificate"})
        if not isinstance(found["part"], str | None) or not isinstance(found["certificate"], dict):
            raise ValueError("a certificate of a combined certificate is malformed")
    return stored


def _read(values: dict[str, Any], whole: Certificate) -> Certificate:
    return Certificate.from_json(
        seal(
            {
                **values,
                "format": FORMAT,
                "format_version": FORMAT_VERSION,
                "library_version": whole.library_version,
                "noise_source": whole.noise_source,
            }
        )
    )


def combination_faults(certificate: Certificate) -> Iterator[str]:
    """Yield where a combined certificate is not what `combine` makes of its certificates."""
    try:
        stored = _stored(certificate)
        claim = stored["claim"]
        if claim is not None:
            claim = fields_of("claim", claim, required={"epsilon", "delta"})
            claim = Budget(claim["epsilon"], claim["delta"])
        found = certificates_in(certificate)
        made = combine(certificate.n, found, split_of(certificate), budget=claim)
    except NOT_VALID as error:
        yield f"its certificates cannot be combined: {error}"
        return
    stated, expected = certificate.to_dict(), made.to_dict()
    for name, value in expected.items():
        if canonical({name: stated.get(name)}) != canonical({name: value}):
            yield f"its {name} is not what its certificates combine to"
