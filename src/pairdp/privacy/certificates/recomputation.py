"""The arithmetic of a certificate, once more and by another route."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pairdp.privacy.accounting.appearance_series import series_delta
from pairdp.privacy.accounting.composition import PrivacyCurve, elementary_alternatives
from pairdp.privacy.accounting.events import ApproximateEvent, Event, PureEvent, SampledEvent
from pairdp.privacy.accounting.moment_inversion import inverted_delta
from pairdp.privacy.accounting.reference_curves import (
    accountant_delta,
    enumerated_delta,
    fixed_size_profile,
)
from pairdp.privacy.accounting.sampling import FixedSizeSampling, PoissonSampling, RepeatedDraws
from pairdp.privacy.bounds.sensitivity import ROUNDING_SLACK, find_bound
from pairdp.privacy.bounds.stochastic import beyond_appearances
from pairdp.privacy.certificates.certificate import Certificate
from pairdp.privacy.certificates.on_trust import needs_convexity
from pairdp.privacy.certificates.release import Release, sampled_population
from pairdp.privacy.errors import CertificateError
from pairdp.privacy.mechanisms.additive_noise import LaplaceMechanism
from pairdp.privacy.mechanisms.noise_source import SECURE, SEEDED, UNDRAWN

_SAME = 1e-9
REPEATED = "one step of pairwise SGD"
_MOST_ENUMERATED = 200_000
_ACCOUNTANT = "dp-accounting"


@dataclass(frozen=True)
class Check:
    """One recomputed number.

    Attributes
    ----------
    what : str
        The number.
    stated, recomputed : float
        As the certificate has it, and by the other route.
    route : str
        The other route.
    ok : bool
        Whether the two agree, or the one bounds the other as it must.
    """

    what: str
    stated: float
    recomputed: float
    route: str
    ok: bool

    def __str__(self) -> str:
        mark = "ok  " if self.ok else "FAIL"
        return f"{mark} {self.what}: {self.stated:.9g}; {self.route}: {self.recomputed:.9g}"


class Recomputed(NamedTuple):
    """What `recompute` found of a certificate whose arithmetic is right."""

    checks: tuple[Check, ...]
    notes: tuple[str, ...]


def recompute(certificate: Certificate) -> Recomputed:
    """Recompute every number of a certificate by another route than made it.

    Sensitivities are recomputed from their inputs by the second route of their
    bound; the privacy curve by its own accounting and once more by inverting the
    moment function of the privacy loss, by enumeration, or by dp-accounting.

    This is arithmetic and no more: it takes the inputs of bounds, and the list of releases, as
    they are stated. `pairdp.verify` plans again to see whether these are true, and then does this.

    Raises
    ------
    CertificateError
        If a number is wrong; the message says precisely which.
    """
    reasons = list(_structure(certificate))
    checks: list[Check] = []
    for release in certificate.releases:
        try:
            checks += _release_checks(release)
        except (ArithmeticError, KeyError, TypeError, ValueError) as error:
            reasons.append(f"{release.name}: {error.args[0]}")
    if not reasons:
        try:
            checks += _claim_checks(certificate)
        except (ArithmeticError, ValueError) as error:
            reasons.append(f"its privacy cannot be recomputed: {error}")
    reasons += [f"{_why(check)}" for check in checks if not check.ok]
    if reasons:
        raise CertificateError(*reasons)
    notes = list(_notes(certificate))
    if any(c.route == _ACCOUNTANT and c.stated < 1e-11 for c in checks):
        notes.append("so small a δ is beyond the second route, which could only not contradict it")
    return Recomputed(tuple(checks), tuple(notes))


def _notes(certificate: Certificate) -> Iterator[str]:
    """Yield what a reader must know that no arithmetic can check."""
    for release in certificate.releases:
        if release.sensitivity is None:
            continue
        if release.sensitivity.bound == "stated":
            yield f"the sensitivity of {release.name} is stated, and taken on trust"
        else:
            inputs = ", ".join(f"{k} = {v:g}" for k, v in release.sensitivity.inputs.items())
            yield f"the sensitivity of {release.name} rests on {inputs}"
    if certificate.noise_source == UNDRAWN:
        yield "this certificate is of a plan: no noise has been drawn"
    elif certificate.noise_source == SEEDED:
        yield "noise from a given seed does not protect against who knows the seed"
    elif certificate.noise_source != SECURE:
        yield f"the noise source is not one of this library: {certificate.noise_source}"


def _why(check: Check) -> str:
    return (
        f"{check.what} is stated as {check.stated:.9g}, but {check.route} gives "
        f"{check.recomputed:.9g}"
    )


def _structure(certificate: Certificate) -> Iterator[str]:
    """Yield what does not fit together, whatever the numbers are."""
    for name in needs_convexity(certificate):
        yield f"{name}: its bound needs a convex loss, and the problem's is not"
    sizes: dict[str, int] = {}
    for release in certificate.releases:
        touched = certificate.n if release.part is None else release.part.size
        part = release.part
        if part is not None and sizes.setdefault(part.name, part.size) != part.size:
            yield f"part {part.name} has two sizes"
        population = sampled_population(release)
        if population is not None and population != touched:
            yield (
                f"{release.name}: batches are drawn from {population} records, but the release "
                f"touches {touched}"
            )
        yield from _averaged_records(release, touched)
        yield from _repeated_draws(release)
        inputs = {} if release.sensitivity is None else release.sensitivity.inputs
        for name in inputs.keys() & certificate.problem.keys():
            if inputs[name] != certificate.problem[name]:
                yield (
                    f"{release.name}: its sensitivity is for {name} = {inputs[name]}, but the "
                    f"problem has {name} = {certificate.problem[name]}"
                )
        if certificate.budget is not None and release.mechanism_name == "none":
            yield f"{release.name} has no noise, but privacy is claimed"
    if sum(sizes.values()) > certificate.n:
        yield (
            f"the parts have {sum(sizes.values())} records in all, more than n = {certificate.n}: "
            "they cannot be disjoint"
        )


def _repeated_draws(release: Release) -> Iterator[str]:
    """Yield whether draws are those that the bound of one step speaks of."""
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


def _averaged_records(release: Release, touched: int) -> Iterator[str]:
    """Yield whether a bound that averages over n records means the records averaged here."""
    n = None if release.sensitivity is None else release.sensitivity.inputs.get("n")
    if n is None:
        return
    if isinstance(release.sampling, PoissonSampling):
        yield f"{release.name}: a bound over n records does not fit batches of random size"
        return
    if isinstance(release.sampling, RepeatedDraws):
        yield f"{release.name}: a bound over n records does not fit one step on two of them"
        return
    averaged = touched if release.sampling is None else release.sampling.size
    if n != averaged:
        yield (
            f"{release.name}: its sensitivity is for n = {n}, but each value is over "
            f"{averaged} records"
        )


def _release_checks(release: Release) -> list[Check]:
    sensitivity = release.sensitivity
    if sensitivity is None:
        return []
    bound = find_bound(sensitivity.bound)
    slack = 1 + ROUNDING_SLACK
    checks = []
    routes = [("its formula", bound.formula)]
    if bound.second_route is not None:
        routes.append(("its second route", bound.second_route))
    for route, compute in routes:
        value = compute(**sensitivity.inputs) * slack
        same = math.isclose(value, sensitivity.value, rel_tol=_SAME)
        what = f"sensitivity of {release.name} ({sensitivity.bound})"
        checks.append(Check(what, sensitivity.value, value, route, same))
    if isinstance(release.mechanism, LaplaceMechanism):
        mechanism = release.mechanism
        l1 = math.sqrt(release.dimension) * sensitivity.value
        again = release.count * l1 / mechanism.scale
        own = PrivacyCurve(release.event).epsilon(0.0)
        same = math.isclose(own, again, rel_tol=_SAME)
        checks.append(Check(f"ε of {release.name}", own, again, "ℓ1 sensitivity over scale", same))
    return checks


class _Route(NamedTuple):
    name: str
    delta: float
    error: float


def _second_delta(events: Sequence[Event], epsilon: float) -> _Route:
    """Return δ(ε) by a route that shares nothing with the calibration."""
    bounded = [e for e in events if isinstance(e, PureEvent | ApproximateEvent)]
    if len(bounded) == len(events):
        outcomes = math.prod(e.count + 1 if isinstance(e, PureEvent) else 2 for e in bounded)
        if outcomes <= _MOST_ENUMERATED:
            return _Route("enumeration", *enumerated_delta(events, epsilon))
        return _by_accountant(events, epsilon)
    if len(events) == 1 and isinstance(events[0], SampledEvent) and events[0].steps == 1:
        event = events[0]
        if isinstance(event.sampling, FixedSizeSampling):
            profile = fixed_size_profile(epsilon, event.mu, event.sampling.rate)
            return _Route("the formula for one step", profile, 0.0)
    if len(events) == 1 and isinstance(events[0], SampledEvent):
        event = events[0]
        if isinstance(event.sampling, RepeatedDraws) and event.steps == 1:
            return _Route("a cosine series", *series_delta(event, epsilon))
    inverted = inverted_delta(events, epsilon)
    if inverted.error <= 0.02 * inverted.delta:
        return _Route("moment inversion", inverted.delta, inverted.error)
    return _by_accountant(events, epsilon)


def _by_accountant(events: Sequence[Event], epsilon: float) -> _Route:
    # Its bound is from above, and no sharper than its grid and its truncation at 1e-15.
    fine, coarse = (accountant_delta(events, epsilon, width) for width in (1e-4, 2e-4))
    return _Route(_ACCOUNTANT, fine, abs(coarse - fine) + 0.05 * fine + 1e-12)


def _claim_checks(certificate: Certificate) -> list[Check]:
    budget = certificate.budget
    if budget is None:
        return []
    if budget.is_pure:
        return [_pure_check(events, budget.epsilon) for events in _worst_first(certificate)]
    checks = []
    for events in _worst_first(certificate):
        own = PrivacyCurve(*events).delta(budget.epsilon)
        claimed = budget.delta * (1 + _SAME)
        what = f"δ at ε = {budget.epsilon:g}"
        checks.append(Check(f"claimed {what}", budget.delta, own, "accounting", own <= claimed))
        if own > claimed:
            continue
        second = _second_delta(events, budget.epsilon)
        low = second.delta - second.error
        # The first route bounds δ from above, so the other must not lie above it.
        consistent = low <= claimed and low <= own * (1 + 1e-6) + 1e-300
        checks.append(Check(f"accounted {what}", own, second.delta, second.name, consistent))
    return checks


def _pure_check(events: Sequence[Event], claimed: float) -> Check:
    total = math.inf
    if all(isinstance(e, PureEvent) for e in events):
        total = math.fsum(e.epsilon * e.count for e in events if isinstance(e, PureEvent))
    ok = total <= claimed * (1 + _SAME)
    return Check("claimed ε at δ = 0", claimed, total, "the sum of the releases", ok)


def _worst_first(certificate: Certificate) -> list[tuple[Event, ...]]:
    """Return the distinct sequences of events that a record can meet."""
    return list(dict.fromkeys(elementary_alternatives(certificate.event)))
