"""Errors of the privacy core."""

from __future__ import annotations

from pairdp._checks import on_one_line


class BudgetExceededError(ValueError):
    """A release exceeds the remaining budget of the ledger; nothing was spent."""


class LedgerError(ValueError):
    """A ledger file is damaged, not a ledger, or not the one that was requested."""


class DataSetWarning(UserWarning):
    """A release of one data set is paid for from the ledger of another."""


class CertificateError(ValueError):
    """A certificate does not hold, or is not a certificate.

    Attributes
    ----------
    reasons : tuple of str
        Everything that does not hold, one sentence each.
    """

    def __init__(self, *reasons: str) -> None:
        self.reasons = reasons
        super().__init__(on_one_line("; ".join(reasons)))
