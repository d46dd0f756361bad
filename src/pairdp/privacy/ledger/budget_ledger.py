"""The ledger: one budget for all releases of a data set, kept on disk."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pairdp._checks import text
from pairdp._files import Draft, drafts_of
from pairdp.privacy.accounting.budget import Budget, check_budget
from pairdp.privacy.accounting.composition import PrivacyCurve
from pairdp.privacy.certificates.certificate import Certificate
from pairdp.privacy.errors import BudgetExceededError, DataSetWarning, LedgerError
from pairdp.privacy.ledger.balance import Balance, Remaining
from pairdp.privacy.ledger.costs import (
    Cost,
    check_unit_of,
    cost_in_words,
    event_of,
    protected,
    unit_of,
)
from pairdp.privacy.ledger.document import LedgerState
from pairdp.privacy.ledger.entries import Facts, Spend, StreamEntry, optional_text
from pairdp.privacy.ledger.stores import FileStore, MemoryStore, reason


class BudgetLedger:
    """A budget that several releases of one data set share.

    An entry is on disk before `spend` returns, and so before any noise is drawn: a crash may lose a
    release, but never the record of its cost. Processes that share the file lock it, so no two of
    them can spend the same part of the budget.

    Parameters
    ----------
    budget : Budget
        What all releases together may spend.
    path : path-like, optional
        The file. An existing ledger is continued, and must have this budget. Links are resolved
        once, when the ledger is opened. Without a path the ledger is in the memory of this process,
        and no other process can spend from it.
    adaptive : bool, default=False
        Whether the *cost* of a release may be chosen after seeing the results of earlier ones. This
        makes the accounting slightly looser: see the notes.
    data_set : str, optional
        The name of the data set that the budget is for. A release of another one warns. A ledger
        without a name is tied to the data set of its first entry that has one. An existing ledger
        must have this name.
    unit : str, optional
        The name of the unit that the budget protects, such as "patient_id": all records of one
        person, in all releases together. By default, it protects single records. A certificate for
        single records cannot be paid from a ledger for units. One for units can be paid from a
        ledger for single records, since its guarantee covers each record of a unit; how many
        records of a unit it uses does not matter. A cost that is not a certificate must be for what
        the ledger protects.
    timeout : float, default=60
        Seconds to wait for another process that is spending.

    Notes
    -----
    Gaussian releases compose exactly, pure ε adds up, and mixtures compose through
    their privacy losses. *What* a release computes may always depend on earlier results.
    *How much it costs* may do so only if the budget is pure, or all releases are Gaussian
    (decided in advance), or ``adaptive=True``: then costs are Rényi divergences of one order, which
    depends only on the budget, and they add up for adaptive choices as well
    (`pairdp.privacy.accounting.renyi_filter`); costs of which only (ε, δ) is known are refused.

    A copy of a ledger is the same ledger (`copy.copy`, `copy.deepcopy`, `sklearn.clone`). A forked
    or pickled ledger continues with the file, and is refused if there is none. An open ledger
    remembers what it has read, and refuses a file that does not extend it: one that was rolled
    back, replaced or removed. A file ``.NAME.identity`` next to it prevents a removed ledger from
    being started again with its full budget.

    Some things cannot be detected: a backup that is restored while no process has the ledger open
    or on another machine, a copy of the file under another name, and a forged file. Never restore a
    ledger from a backup to spend from it.

    Examples
    --------
    >>> from pairdp.privacy import Budget, BudgetLedger, PureEvent
    >>> ledger = BudgetLedger(Budget(1.0))
    >>> spent = ledger.spend(PureEvent(0.75), "first model")
    >>> ledger.spend(PureEvent(0.5), "second model")
    Traceback (most recent call last):
    ...
    pairdp.privacy.errors.BudgetExceededError: second model exceeds ...
    >>> ledger.remaining().pure_epsilon
    0.25
    """

    _store: MemoryStore | FileStore
    _facts: Facts = Facts()

    def __init__(
        self,
        budget: Budget,
        path: str | Path | None = None,
        *,
        adaptive: bool = False,
        data_set: str | None = None,
        unit: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        check_budget(budget)
        state = LedgerState(
            budget,
            bool(adaptive),
            named=optional_text("data_set", data_set),
            unit=optional_text("unit", unit),
        )
        self._store = MemoryStore(state) if path is None else FileStore(path, timeout, state)
        if self.budget != budget:
            raise LedgerError(
                f"{self._store} has {self.budget}, not {budget}: open it with that budget, or "
                "with BudgetLedger.load"
            )
        if self.adaptive != bool(adaptive):
            raise LedgerError(
                f"{self._store} has adaptive={self.adaptive}, not {bool(adaptive)}: open it with "
                "that value, or with BudgetLedger.load"
            )
        if self.unit != unit:
            raise LedgerError(
                f"{self._store} protects {protected(self.unit)}, not {protected(unit)}: open it "
                "with that unit, or with BudgetLedger.load"
            )
        if data_set is not None and (tied := self.data_set) != data_set:
            if tied is None:
                raise LedgerError(
                    f"{self._store} was created without the name of a data set: open it without "
                    "data_set; its first entry that names one ties it to that"
                )
            raise LedgerError(
                f"{self._store} is for the data set {tied!r}, not for {data_set!r}: create another "
                "ledger for that one"
            )

    @classmethod
    def load(cls, path: str | Path, *, timeout: float = 60.0) -> BudgetLedger:
        """Return the ledger in a file, with the budget in the file."""
        ledger = cls.__new__(cls)
        ledger._store = FileStore(path, timeout)
        return ledger

    def __sklearn_clone__(self) -> BudgetLedger:
        """Return itself: a copy could spend the same budget again."""
        return self

    def __copy__(self) -> BudgetLedger:
        return self

    def __deepcopy__(self, memo: object) -> BudgetLedger:
        return self

    @property
    def identity(self) -> str:
        """A random name that distinguishes it from all other ledgers."""
        return self._store.state.identity

    @property
    def budget(self) -> Budget:
        """What all releases together may spend."""
        return self._store.state.budget

    @property
    def adaptive(self) -> bool:
        """Whether costs may be chosen after seeing earlier results."""
        return self._store.state.adaptive

    @property
    def unit(self) -> str | None:
        """The name of the unit that its budget protects; None for single records."""
        return self._store.state.unit

    @property
    def data_set(self) -> str | None:
        """The data set that it is tied to: as created, or that of its first entry; None before."""
        with self._store.exclusive():
            return self._store.state.data_set

    def annotated(
        self,
        *,
        data_set: str | None = None,
        columns: Sequence[str] | None = None,
        model_file: str | None = None,
        note: str | None = None,
    ) -> BudgetLedger:
        """Return the same ledger, which adds these public facts to each entry that it makes.

        Parameters
        ----------
        data_set : str, optional
            The name of the data set. `check` and `spend` warn if the ledger is for another one.
        columns : sequence of str, optional
            The columns that are used.
        model_file : str, optional
            The file of the released model.
        note : str, optional
            Any remark.

        Examples
        --------
        >>> from pairdp.privacy import Budget, BudgetLedger, PureEvent
        >>> ledger = BudgetLedger(Budget(1.0), data_set="admissions 2025")
        >>> ledger.annotated(note="for the board").spend(PureEvent(0.5), "a mean").facts.note
        'for the board'
        >>> ledger.spent()
        0.5
        """
        facts = Facts(data_set, None if columns is None else tuple(columns), model_file, note)
        same = type(self).__new__(type(self))
        same._store, same._facts = self._store, self._facts.updated(facts)
        return same

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Everything spent so far, by any process."""
        with self._store.exclusive():
            return self._store.state.spends

    def spent(self) -> float:
        """Return the ε spent so far, at the ledger's δ."""
        return self._balance().epsilon()

    def remaining(self) -> Remaining:
        """Return the largest cost of one more release."""
        return self._balance().remaining()

    def check(self, cost: Cost, label: str = "the release") -> None:
        """Check that there is room for a cost, without spending it.

        Raises
        ------
        BudgetExceededError
            If there is not.

        Warns
        -----
        DataSetWarning
            If the ledger is tied to another data set than the one that `annotated` states.
        """
        event, balance = event_of(cost), self._balance()
        check_unit_of(cost, self.unit, label)
        if not balance.fits(event):
            raise balance.exceeded(label)
        self._warn_of_another_data_set()

    def _warn_of_another_data_set(self) -> None:
        stated, tied = self._facts.data_set, self.data_set
        if stated is not None and tied is not None and stated != tied:
            warnings.warn(
                f"{self._store} is for the data set {tied!r}, but this release is of {stated!r}: "
                "a budget covers the releases of one data set; use another ledger, or the same "
                "name if it is the same data set",
                DataSetWarning,
                stacklevel=3,
            )

    def _balance(self) -> Balance:
        """Return what is currently spent and left."""
        with self._store.exclusive():
            return self._store.state.balance()

    def spend(self, cost: Cost, label: str | None = None) -> Spend:
        """Spend the cost of a release durably, before the release is made.

        Parameters
        ----------
        cost : Certificate, Budget or Event
            The cost. A certificate composes best; a Budget is the cost of a release that is only
            known to be (ε, δ)-DP.
        label : str, optional
            The name of the entry; by default the algorithm of a certificate.

        Raises
        ------
        BudgetExceededError
            If it exceeds the budget; nothing is spent, and the error says what is left.
        LedgerError
            If the file is damaged, or is locked for longer than the timeout.

        Warns
        -----
        DataSetWarning
            As for `check`, before anything is spent.
        """
        spend = self._entry(cost, label)
        self._warn_of_another_data_set()
        self._add(spend)
        return spend

    def _entry(self, cost: Cost, label: str | None) -> Spend:
        event = event_of(cost)
        if label is None and isinstance(cost, Certificate):
            label = cost.algorithm
        facts = self._facts.updated(Facts(unit=unit_of(cost)))
        entry = Spend(text("label", label), _now(), event, facts=facts)
        check_unit_of(cost, self.unit, entry.label)
        return entry

    def _add(self, spend: Spend) -> None:
        with self._store.exclusive() as write:
            balance = self._store.state.balance()
            if balance.fits(spend.event):
                write(self._store.state.with_spend(spend))
                return
        raise balance.exceeded(
            spend.label
        )  # outside the lock, since computing what is left takes time

    def release(self, cost: Cost, draft: Draft, label: str | None = None) -> Spend:
        """Pay for a file that is complete on disk, and then rename it to its destination.

        So a full disk costs nothing, and nothing is released that was not paid for. After a failure
        before the entry is on disk, the draft is removed. After a later failure, the draft is kept,
        and the error says what was spent and where the file is.

        Parameters
        ----------
        cost, label
            As for `spend`. Call `check` before the release is computed: unlike `spend`, this
            method does not warn of another data set.
        draft : Draft
            The file.

        Raises
        ------
        BudgetExceededError, LedgerError
            As for `spend`; or if the file could not be renamed after the budget was spent.
        KeyboardInterrupt
            With a message that says what was spent.
        """
        try:
            # By the token of its draft, `check_finished` finds the entry after a crash.
            spend = replace(self._entry(cost, label), id=draft.token)
        except BaseException:
            draft.discard()
            raise
        try:
            self._add(spend)
            draft.publish()
        except BudgetExceededError:
            draft.discard()
            raise
        except LedgerError as error:
            draft.discard()
            raise LedgerError(f"{error}. Nothing was released") from None
        except BaseException as error:
            message = self._explain(error, spend, cost, draft)
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(message) from error
            raise LedgerError(message) from error
        return spend

    def check_finished(self, path: str | Path) -> None:
        """Raise an error if an earlier release was paid for, and ended before its file was renamed.

        Parameters
        ----------
        path : path-like
            The destination of the file, as in `release`.
        """
        drafts = drafts_of(Path(path))
        for spend in self.spends:
            if spend.id in drafts:
                budget = self.budget
                alone = PrivacyCurve(spend.event).epsilon(budget.delta)
                cost = f"ε = {alone:.4g}" + ("" if budget.is_pure else f", δ = {budget.delta:g}")
                raise LedgerError(
                    f"an earlier run was interrupted after {cost} was spent from {self._store} "
                    f"at {spend.time} for {spend.label}. What it released is complete in "
                    f"{drafts[spend.id]}: rename it to {path}, or remove it to spend again"
                )

    def _explain(self, error: BaseException, spend: Spend, cost: Cost, draft: Draft) -> str:
        """Return what a failed release has spent, and where its file is."""
        failed = "interrupted" if isinstance(error, KeyboardInterrupt) else f"{reason(error)}"
        try:
            spent = any(entry.id == spend.id for entry in self.spends)
        except (LedgerError, KeyboardInterrupt):
            spent = None
        if spent is False:
            draft.discard()
            return f"{failed}: nothing was spent from {self._store}, and nothing was released"
        amount = f"{cost_in_words(cost)} for {spend.label}"
        was = f"{amount} was spent from {self._store}"
        if spent is None:
            was = f"{amount} may have been spent from {self._store}, which cannot be read now"
        if draft.is_published:
            return f"{failed}: {was}, and {draft.path} is in place"
        return (
            f"{failed}: {was}, and the file is complete in {draft.beside}, but could not be "
            f"renamed: rename it to {draft.path}"
        )

    def save_stream(self, token: str) -> None:
        """Record that a stream is about to be saved to a file with this token.

        The ledger that pays for a stream keeps track of which of its files were resumed, and
        refuses a file that it does not know or that was resumed before.
        """
        with self._store.exclusive() as write:
            state = self._store.state
            if state.actions(token):
                raise LedgerError("a stream was already saved with this token")
            write(state.with_stream(StreamEntry(token, "saved", _now())))

    def resume_stream(self, token: str) -> None:
        """Record that the file of a stream with this token is resumed, which is allowed once.

        Raises
        ------
        LedgerError
            If it was resumed before, or is not a stream of this ledger.
        """
        with self._store.exclusive() as write:
            state = self._store.state
            actions = state.actions(token)
            if "saved" not in actions:
                raise LedgerError("the ledger does not know this stream file")
            if "resumed" in actions:
                raise LedgerError(
                    "this stream file was resumed before, so it is a copy: its records would be "
                    "used twice and paid for once"
                )
            write(state.with_stream(StreamEntry(token, "resumed", _now())))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
