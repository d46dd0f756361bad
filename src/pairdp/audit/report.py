"""The result of an audit: lower bounds on ε, and the claim."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from pairdp._checks import keep, real, text
from pairdp.privacy import Budget

Verdict = Literal["consistent", "violated"]
Scalar = float | int | str | bool | None


def check_confidence(confidence: object) -> float:
    """Return a confidence between 0 and 1."""
    value = real("confidence", confidence)
    if not 0 < value < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {value!r}")
    return value


@dataclass(frozen=True)
class Evidence:
    """One lower bound on ε at the claimed δ.

    Attributes
    ----------
    method : {"counts", "gaussian", "curve", "one run"}
        "counts" holds for any release. "gaussian" is the ε of the Gaussian release with the least
        μ that is consistent with the counts. "curve" tests the certificate at an ε' other than the
        claimed ε, and does not bound ε.
    epsilon : float
        The bound; 0 for "curve".
    decides : bool
        Whether it bounds the ε of the release or refutes its proof. Otherwise it is an estimate,
        which does not affect the verdict.
    attack : str
        How the scores were made.
    details : mapping
        Counts, threshold, μ; for "curve" the lower bound on δ at ε', and the certificate's δ.
    """

    method: Literal["counts", "gaussian", "curve", "one run"]
    epsilon: float
    decides: bool
    attack: str
    details: Mapping[str, Scalar] = field(default_factory=dict)

    def __post_init__(self) -> None:
        keep(self, "details", MappingProxyType(dict(self.details)))

    def __reduce__(self) -> tuple[object, ...]:
        values = (self.method, self.epsilon, self.decides, self.attack, dict(self.details))
        return Evidence, values

    @property
    def breaks_certificate(self) -> bool:
        """Whether the certificate's own trade-off is refuted at some ε'."""
        numbers = self.details
        return self.method == "curve" and numbers["counted_delta"] > numbers["certificate_delta"]  # type: ignore[operator]

    def to_dict(self) -> dict[str, object]:
        """Return the evidence as plain JSON values."""
        return {
            "method": self.method,
            "epsilon": self.epsilon,
            "decides": self.decides,
            "attack": self.attack,
            **self.details,
        }

    def __str__(self) -> str:
        numbers = self.details
        if self.method == "one run":
            return (
                f"ε ≥ {self.epsilon:.4g} by one run: {numbers['right']} of {numbers['guesses']} "
                f"guesses right, {numbers['canaries']} canaries"
            )
        counted = (
            f"{self.attack}: {numbers['hits']} of {numbers['runs']} runs on the other data set "
            f"and {numbers['false_hits']} of {numbers['false_runs']} on the one above "
            f"{numbers['threshold']:.5g}"
        )
        if self.method == "counts":
            return f"ε ≥ {self.epsilon:.4g} by counting: {counted}"
        if self.method == "curve":
            return (
                f"δ ≥ {numbers['counted_delta']:.4g} at ε = {numbers['at_epsilon']:.4g}, where the "
                f"certificate has {numbers['certificate_delta']:.4g}: {counted}"
            )
        sure = "≥" if self.decides else "about"
        kind = "as Gaussian noise" if self.decides else "as if Gaussian, an estimate"
        return f"ε {sure} {self.epsilon:.4g} {kind}, μ ≥ {numbers['mu']:.4g}: {counted}"


@dataclass(frozen=True)
class AuditReport:
    """The result of an audit.

    Attributes
    ----------
    name : str
        What was audited.
    claimed : Budget
        The claim.
    certificate_epsilon : float or None
        The ε at the claimed δ that the certificate proves, where there is one. For printed noise it
        may be above the claim.
    confidence : float
        One minus the probability of reporting a violation of a claim that is true.
    evidence : tuple of Evidence
        Every bound.
    notes : tuple of str
        How runs were made, and what the attacker saw.
    """

    name: str
    claimed: Budget
    certificate_epsilon: float | None
    confidence: float
    evidence: tuple[Evidence, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        text("name", self.name)
        check_confidence(self.confidence)
        if not isinstance(self.claimed, Budget):
            raise TypeError(f"claimed must be a Budget, got {self.claimed!r}")
        keep(self, "evidence", tuple(self.evidence))
        keep(self, "notes", tuple(self.notes))

    @property
    def best(self) -> Evidence | None:
        """The deciding evidence with the largest bound."""
        deciding = [found for found in self.evidence if found.decides]
        return max(deciding, key=lambda found: found.epsilon) if deciding else None

    @property
    def lower_bound(self) -> float:
        """The largest lower bound on ε at the claimed δ."""
        return 0.0 if self.best is None else self.best.epsilon

    @property
    def verdict(self) -> Verdict:
        """Whether the claim or the certificate was refuted. "consistent" is not a proof."""
        broken = any(found.breaks_certificate for found in self.evidence)
        return "violated" if broken or self.lower_bound > self.claimed.epsilon else "consistent"

    @property
    def is_violated(self) -> bool:
        """Whether the verdict is "violated"."""
        return self.verdict == "violated"

    def to_dict(self) -> dict[str, object]:
        """Return the report as plain JSON values."""
        return {
            "name": self.name,
            "verdict": self.verdict,
            "lower_bound": self.lower_bound,
            "claimed": {"epsilon": self.claimed.epsilon, "delta": self.claimed.delta},
            "certificate_epsilon": self.certificate_epsilon,
            "confidence": self.confidence,
            "evidence": [found.to_dict() for found in self.evidence],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        budget = self.claimed
        lines = [
            f"{self.verdict}: {self.name}",
            f"  claimed      ε = {budget.epsilon:.6g} at δ = {budget.delta:g}",
        ]
        if self.certificate_epsilon is not None:
            proved = self.certificate_epsilon
            shown = f"ε = {proved:.6g}" if math.isfinite(proved) else "no ε"
            lines.append(f"  certificate  {shown} at that δ")
        sure = f"{1 - self.confidence:.1g}"
        reading = ""
        if self.best is not None and self.best.method == "gaussian":
            reading = " if the noise is Gaussian, as the certificate says"
        lines.append(
            f"  audit        ε ≥ {self.lower_bound:.6g}{reading}, wrong with probability {sure}"
        )
        lines += [f"  {found}" for found in self.evidence]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)
