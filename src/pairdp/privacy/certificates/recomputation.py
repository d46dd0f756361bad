"""Recomputing the numbers of a certificate by second routes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pairdp.privacy.accounting.composition import PrivacyCurve, elementary_alternatives
from pairdp.privacy.accounting.events import Event, NonPrivateEvent, PureEvent
from pairdp.privacy.accounting.repeat_and_select import accountant_log_delta
from pairdp.privacy.accounting.second_routes.selection import DP_ACCOUNTING, second_route
from pairdp.privacy.bounds.sensitivity import ROUNDING_SLACK, find_bound
from pairdp.privacy.certificates.certificate import Certificate
from pairdp.privacy.certificates.consistency import inconsistencies
from pairdp.privacy.certificates.release import Release
from pairdp.privacy.certificates.rounding import paid_sensitivity, rounded_sensitivity
from pairdp.privacy.errors import CertificateError
from pairdp.privacy.mechanisms.noise_source import SECURE, SEEDED, UNDRAWN
from pairdp.privacy.mechanisms.repeat_and_select import RepeatAndSelect, Runs

_SAME = 1e-9
_SAME_ROUNDING = 1e-12  # rounding adds about 1e-7 of a sensitivity


@dataclass(frozen=True)
class Check:
    """One recomputed number.

    Attributes
    ----------
    what : str
        The number.
    stated, recomputed : float
        As the certificate states it, and as recomputed.
    route : str
        How it was recomputed.
    ok : bool
        Whether the two agree, or one bounds the other as it must.
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
    """The result of `recompute` for a certificate whose numbers are right."""

    checks: tuple[Check, ...]
    notes: tuple[str, ...]


def recompute(certificate: Certificate) -> Recomputed:
    """Recompute every number of a certificate by a second route.

    Sensitivities are recomputed from their inputs by the formula and the second route of their
    bound; what rounding to the grid adds to them in rational arithmetic; the privacy curve by the
    accounting and by a second route (`pairdp.privacy.accounting.second_routes`).

    The inputs of bounds and the list of releases are taken as stated. `pairdp.verify` also plans
    again to check these.

    Raises
    ------
    CertificateError
        If a number is wrong; the message names it.
    """
    reasons = list(inconsistencies(certificate))
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
            reasons.append(f"its privacy curve cannot be recomputed: {error}")
    reasons += [_disagreement(check) for check in checks if not check.ok]
    if reasons:
        raise CertificateError(*reasons)
    notes = list(_notes(certificate))
    if any(c.route == DP_ACCOUNTING and c.stated < 1e-11 for c in checks):
        notes.append(
            "the second route is too coarse for so small a δ; it does not contradict the accounting"
        )
    return Recomputed(tuple(checks), tuple(notes))


def _notes(certificate: Certificate) -> Iterator[str]:
    """Yield notes on what recomputation cannot check."""
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
        yield "noise from a given seed does not protect against anyone who knows the seed"
    elif certificate.noise_source != SECURE:
        yield f"the noise source is not part of this library: {certificate.noise_source}"


def _disagreement(check: Check) -> str:
    return (
        f"{check.what} is stated as {check.stated:.9g}, but {check.route} gives "
        f"{check.recomputed:.9g}"
    )


def _release_checks(release: Release) -> list[Check]:
    sensitivity = release.sensitivity
    if sensitivity is None:
        return []
    bound = find_bound(sensitivity.bound)
    slack = 1 + ROUNDING_SLACK
    checks = []
    for route, compute in bound.routes():
        value = bound.for_records(compute, sensitivity.inputs, sensitivity.records) * slack
        same = math.isclose(value, sensitivity.value, rel_tol=_SAME)
        what = f"sensitivity of {release.name} ({sensitivity.bound})"
        checks.append(Check(what, sensitivity.value, value, route, same))
    if isinstance(release.mechanism, RepeatAndSelect):
        checks.append(_runs_check(release.mechanism.runs))
    if not isinstance(release.event, NonPrivateEvent):
        paid, value = paid_sensitivity(release), rounded_sensitivity(release)
        same = math.isclose(paid, value, rel_tol=_SAME_ROUNDING)
        what = f"sensitivity of {release.name} with rounding to the grid"
        checks.append(Check(what, paid, value, "rational arithmetic", same))
    return checks


def _runs_check(runs: Runs) -> Check:
    """Return the check of δ of all runs of a search by the accountant of dp-accounting."""
    log_delta = accountant_log_delta(runs.mu, runs.mean, runs.epsilon)
    recomputed = math.exp(log_delta)
    ok = recomputed <= runs.delta * (1 + _SAME)
    what = f"δ of a geometric number of fits at ε = {runs.epsilon:g}"
    return Check(what, runs.delta, recomputed, DP_ACCOUNTING, ok)


def _claim_checks(certificate: Certificate) -> list[Check]:
    budget = certificate.budget
    if budget is None:
        return []
    if budget.is_pure:
        return [_pure_check(events, budget.epsilon) for events in _sequences(certificate)]
    checks = []
    for events in _sequences(certificate):
        own = PrivacyCurve(*events).delta(budget.epsilon)
        claimed = budget.delta * (1 + _SAME)
        what = f"δ at ε = {budget.epsilon:g}"
        checks.append(Check(f"claimed {what}", budget.delta, own, "accounting", own <= claimed))
        if own > claimed:
            continue
        route, second = second_route(events, budget.epsilon)
        low = second.delta - second.error
        # The accounting bounds δ from above, so the second route must not lie above it.
        consistent = low <= claimed and low <= own * (1 + 1e-6) + 1e-300
        checks.append(Check(f"accounted {what}", own, second.delta, route, consistent))
    return checks


def _pure_check(events: Sequence[Event], claimed: float) -> Check:
    total = math.inf
    if all(isinstance(e, PureEvent) for e in events):
        total = math.fsum(e.epsilon * e.count for e in events if isinstance(e, PureEvent))
    ok = total <= claimed * (1 + _SAME)
    return Check("claimed ε at δ = 0", claimed, total, "the sum of the releases", ok)


def _sequences(certificate: Certificate) -> list[tuple[Event, ...]]:
    """Return the distinct sequences of events that a record can take part in."""
    return list(dict.fromkeys(elementary_alternatives(certificate.event)))
