"""The consistency of the parts of a certificate, apart from its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pairdp.privacy.accounting.sampling import PoissonSampling, RepeatedDraws
from pairdp.privacy.accounting.unit import records_of
from pairdp.privacy.bounds.pairwise_sgd import beyond_appearances
from pairdp.privacy.certificates.certificate import Certificate
from pairdp.privacy.certificates.combined import (
    certificates_in,
    combination_faults,
    is_combined,
)
from pairdp.privacy.certificates.on_trust import needs_convexity
from pairdp.privacy.certificates.part import misplaced
from pairdp.privacy.certificates.release import Release, sampled_population
from pairdp.privacy.mechanisms.repeat_and_select import RepeatAndSelect

REPEATED = "one step of pairwise SGD"
_SAME = 1e-9


def inconsistencies(certificate: Certificate) -> Iterator[str]:
    """Yield one sentence for each inconsistency."""
    for name in needs_convexity(certificate):
        yield f"{name}: its bound needs a convex loss, but the loss is not convex"
    if is_combined(certificate):
        yield from _of_combination(certificate)
    parts = [release.part for release in certificate.releases if release.part is not None]
    yield from misplaced(parts, certificate.n)
    for release in certificate.releases:
        used = certificate.n if release.part is None else release.part.size
        population = sampled_population(release)
        if population is not None and population != used:
            yield (
                f"{release.name}: batches are drawn from {population} records, but the release "
                f"uses {used}"
            )
        yield from _averaged_records(release, used)
        yield from _repeated_draws(release)
        yield from _unit_records(release, certificate)
        inputs = {} if release.sensitivity is None else release.sensitivity.inputs
        for name in inputs.keys() & certificate.problem.keys():
            if inputs[name] != certificate.problem[name]:
                yield (
                    f"{release.name}: its sensitivity is for {name} = {inputs[name]}, but the "
                    f"problem has {name} = {certificate.problem[name]}"
                )
        if certificate.budget is not None and release.mechanism_name == "none":
            yield f"{release.name} has no noise, but the certificate claims privacy"


def _of_combination(certificate: Certificate) -> Iterator[str]:
    """Yield where a combined certificate, or one of those in it, is inconsistent."""
    faults = list(combination_faults(certificate))
    yield from faults
    for part, own in () if faults else certificates_in(certificate):
        for fault in inconsistencies(own):
            yield f"{own.algorithm} ({part or 'all records'}): {fault}"


def _unit_records(release: Release, certificate: Certificate) -> Iterator[str]:
    """Yield where a release does not cover all records of a unit."""
    stated, needed = release.sensitivity, records_of(certificate.unit)
    if stated is not None and stated.records != needed:
        yield (
            f"{release.name}: its sensitivity is for {stated.records} replaced records, but "
            f"neighbours differ in up to {needed}"
        )
    if certificate.unit is None:
        return
    if release.sampling is not None:
        yield f"{release.name}: its cost averages over the records drawn, which is not for units"
    if release.part is not None and not all(part.by_unit for part in release.part.chain):
        yield f"{release.name}: the records of a unit may be in several parts"


def _repeated_draws(release: Release) -> Iterator[str]:
    """Yield where repeated draws differ from those of the bound on one step."""
    if not isinstance(release.sampling, RepeatedDraws):
        return
    stated = release.sensitivity
    if stated is None or stated.bound != REPEATED:
        yield f"{release.name}: repeated draws need the bound {REPEATED!r}"
        return
    try:
        base, most = beyond_appearances(**stated.inputs)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        yield f"{release.name}: {error}"
        return
    draws = release.sampling
    if draws.draws != stated.inputs.get("steps"):
        yield f"{release.name}: {draws.draws} draws are not the steps of its bound"
    if not math.isclose(draws.base, base, rel_tol=_SAME, abs_tol=1e-300):
        yield f"{release.name}: base = {draws.base:.9g}, but its bound gives {base:.9g}"
    if not math.isclose(draws.most, most, rel_tol=_SAME):
        yield f"{release.name}: most = {draws.most:.9g}, but its bound gives {most:.9g}"


def _averaged_records(release: Release, used: int) -> Iterator[str]:
    """Yield where a bound for averages over n records is used for another number of records."""
    n = None if release.sensitivity is None else release.sensitivity.inputs.get("n")
    if n is None or isinstance(release.mechanism, RepeatAndSelect):
        return  # the scores of a search are over the records that are held out, which is planned
    if isinstance(release.sampling, PoissonSampling):
        yield f"{release.name}: a bound for n records does not apply to batches of random size"
        return
    if isinstance(release.sampling, RepeatedDraws):
        yield f"{release.name}: a bound for n records does not apply to one step on two of them"
        return
    averaged = used if release.sampling is None else release.sampling.size
    if n != averaged:
        yield (
            f"{release.name}: its sensitivity is for n = {n}, but each value is over "
            f"{averaged} records"
        )
