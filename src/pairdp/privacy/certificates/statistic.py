"""Private statistics other than models: each plans its certificate from n and a budget alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from pairdp._sealed import fields_of
from pairdp.privacy.accounting.budget import Budget
from pairdp.privacy.accounting.unit import Unit
from pairdp.privacy.certificates.certificate import Certificate
from pairdp.storage import Storable, Trusted, decode, encode

_KEY = "statistic"


class Statistic(Storable, ABC):
    """A private statistic: a frozen dataclass of all public facts but n, the budget and the unit.

    Its certificate stores it as `plan_facts`, so that `certify_again` can plan it again.
    """

    @abstractmethod
    def certify(self, n: int, budget: Budget, unit: Unit | None = None) -> Certificate:
        """Return the certificate of the statistic for n records; no data is read."""

    @property
    def plan_facts(self) -> dict[str, Any]:
        """The facts for the ``plan`` of its certificate."""
        return {_KEY: encode(self)}


def is_of_statistic(certificate: Certificate) -> bool:
    """Return whether a certificate is that of a statistic, and not of an algorithm."""
    return isinstance(certificate.plan, Mapping) and _KEY in certificate.plan


def statistic_of(certificate: Certificate, trusted: Trusted | None = None) -> Statistic:
    """Return the statistic of a certificate; for errors, see `certify_again`."""
    fields = fields_of("plan", certificate.to_dict()["plan"], required={_KEY})
    statistic = decode(fields[_KEY], trusted or Trusted())
    if not isinstance(statistic, Statistic):
        raise ValueError("the statistic of its plan is not a Statistic")
    return statistic


def certify_again(certificate: Certificate, trusted: Trusted | None = None) -> Certificate:
    """Return the certificate that this version makes from the facts of a certificate alone.

    Raises
    ------
    ValueError or TypeError
        If the facts are malformed.
    UntrustedClassError, UnknownObjectError
        If they name a class that is not trusted or cannot be imported.
    """
    statistic = statistic_of(certificate, trusted)
    if certificate.budget is None:
        raise ValueError("a statistic needs a budget")
    return statistic.certify(certificate.n, certificate.budget, certificate.unit)
