"""Differentially private learning from pairs of records."""

from pairdp._version import __version__
from pairdp.privacy import (
    Budget,
    BudgetExceededError,
    BudgetLedger,
    Certificate,
    CertificateError,
    LedgerError,
    NoiseSource,
    verify,
)

__all__ = [
    "Budget",
    "BudgetExceededError",
    "BudgetLedger",
    "Certificate",
    "CertificateError",
    "LedgerError",
    "NoiseSource",
    "__version__",
    "verify",
]
