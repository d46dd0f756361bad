"""A release that a ledger pays for first: errors after that say what was spent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pairdp.privacy.certificates.certificate import Certificate

if TYPE_CHECKING:
    from pairdp.privacy.ledger.budget_ledger import BudgetLedger


@contextmanager
def paid_by(ledger: BudgetLedger | None, cost: Certificate) -> Iterator[None]:
    """Spend the cost of a release from a ledger, if there is one, before the release is made.

    An error in the release, such as that of a record that cannot be read, has a note that says what
    was spent: it stays spent, since the error may depend on the records.
    """
    spent = None if ledger is None else ledger.spend(cost)
    try:
        yield
    except BaseException as error:
        if spent is not None:
            error.add_note(f"{cost.budget} was spent from the ledger for {spent.label}")
        raise
