"""The ledger: one budget for all releases of a data set, kept on disk."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from pairdp._checks import text
from pairdp._files import NotDurableError, write_atomically
from pairdp.privacy import gaussian
from pairdp.privacy.budget import Budget, check_budget
from pairdp.privacy.certificate import Certificate
from pairdp.privacy.composition import PrivacyCurve
from pairdp.privacy.errors import BudgetExceededError, LedgerError
from pairdp.privacy.events import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    PureEvent,
    SequentialEvent,
)
from pairdp.privacy.filter import RenyiFilter
from pairdp.privacy.ledger_file import Spend, read_ledger, write_ledger


@dataclass(frozen=True)
class Remaining:
    """What one more release may cost, each field by itself.

    Attributes
    ----------
    pure_epsilon : float
        Largest ε of one more pure release.
    gaussian_mu : float
        Largest ratio Δ/σ of one more Gaussian release; zero for a pure budget.
    gaussian_epsilon : float
        The ε of that Gaussian release alone, at the ledger's δ.
    """

    pure_epsilon: float
    gaussian_mu: float
    gaussian_epsilon: float

    def __str__(self) -> str:
        pure = f"one pure release of ε = {self.pure_epsilon:.6g}"
        if self.gaussian_mu == 0:
            return pure
        return (
            f"{pure}, or one Gaussian release of Δ/σ = {self.gaussian_mu:.6g} "
            f"(ε = {self.gaussian_epsilon:.6g} by itself)"
        )


class BudgetLedger:
    """A budget from which the releases on one data set are drawn.

    A spend is on disk before `spend` returns, and so before any noise is drawn: a crash
    may lose a release but never forgets that its budget is gone. Processes that
    share the file take turns, so no two of them can spend the same remainder.

    Parameters
    ----------
    budget : Budget
        What all releases together may spend.
    path : path-like, optional
        Where to keep it. An existing ledger is continued, and must have this budget.
        Without a path the ledger lives in memory.
    adaptive : bool, default=False
        Whether the *amount* of a release's noise may be chosen after seeing the results of
        earlier ones. This costs a little: see the notes.
    timeout : float, default=60
        Seconds to wait for another process that is spending.

    Notes
    -----
    Gaussian releases compose exactly, pure ε adds up, and mixtures compose through
    their privacy losses. *What* a release computes may always depend on earlier results.
    *How much it costs* may do so only if the budget is pure, or all releases are Gaussian
    (decided in advance), or ``adaptive=True``: then costs are added up as Rényi
    divergences of one order that the budget fixes, which is true for any way of
    choosing (`pairdp.privacy.filter`), and (ε, δ) costs without more detail are refused.

    Examples
    --------
    >>> ledger = BudgetLedger(Budget(1.0))
    >>> spent = ledger.spend(PureEvent(0.75), "first model")
    >>> ledger.spend(PureEvent(0.5), "second model")
    Traceback (most recent call last):
    ...
    pairdp.privacy.errors.BudgetExceededError: second model does not fit ...
    >>> ledger.remaining().pure_epsilon
    0.25
    """

    def __init__(
        self,
        budget: Budget,
        path: str | Path | None = None,
        *,
        adaptive: bool = False,
        timeout: float = 60.0,
    ) -> None:
        check_budget(budget)
        self._open(budget, bool(adaptive), path, timeout)
        if self._path is not None:
            with self._exclusive():
                if self._path.exists():
                    self._read()
                else:
                    self._write(())

    def __sklearn_clone__(self) -> BudgetLedger:
        """Return itself: a copy could spend the same budget once more."""
        return self

    def __copy__(self) -> BudgetLedger:
        return self

    def __deepcopy__(self, memo: object) -> BudgetLedger:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        if self._path is None:
            raise TypeError(
                "a ledger in memory cannot be pickled, as a copy could spend the same budget once "
                "more: give it a path, BudgetLedger(budget, path)"
            )
        return _reopen, (str(self._path), self._timeout)

    def _open(
        self,
        budget: Budget | None,
        adaptive: bool | None,
        path: str | Path | None,
        timeout: float,
    ) -> None:
        self._budget = budget
        # Resolved, so that links and a change of directory lead to one file and one lock.
        if path is not None and not str(path):
            raise ValueError("path must not be empty: leave it out for a ledger in memory")
        self._path = None if path is None else Path(path).resolve()
        self._timeout = timeout
        self._adaptive = adaptive
        self._spends: tuple[Spend, ...] = ()
        self._thread_lock = threading.RLock()

    @classmethod
    def load(cls, path: str | Path, *, timeout: float = 60.0) -> BudgetLedger:
        """Return the ledger of a file, with the budget that the file has."""
        ledger = cls.__new__(cls)
        ledger._open(None, None, path, timeout)
        if not Path(path).exists():
            raise LedgerError(
                f"the ledger {path} cannot be read: it does not exist; make one with a budget first"
            )
        with ledger._exclusive():
            ledger._read()
        return ledger

    @property
    def budget(self) -> Budget:
        """What all releases together may spend."""
        if self._budget is None:  # only while a file is being read
            raise LedgerError("the ledger was not read")
        return self._budget

    @property
    def adaptive(self) -> bool:
        """Whether amounts of noise may be chosen as one goes."""
        return bool(self._adaptive)

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Everything spent so far, by any process."""
        with self._exclusive():
            self._refresh()
            return self._spends

    def spent(self) -> float:
        """Return the ε spent so far, at the ledger's δ."""
        events = tuple(s.event for s in self.spends)
        if self._filtered:
            rule = RenyiFilter.of(self.budget)
            return rule.epsilon(rule.cost(SequentialEvent(events)))
        return PrivacyCurve(*events).epsilon(self.budget.delta)

    @property
    def _filtered(self) -> bool:
        return self.adaptive and not self.budget.is_pure

    def spend(self, cost: Certificate | Budget | Event, label: str | None = None) -> Spend:
        """Draw a release from the budget, durably, before it is made.

        Parameters
        ----------
        cost : Certificate, Budget or Event
            What it costs. A certificate composes best; a Budget stands for a release of
            which only (ε, δ)-DP is known.
        label : str, optional
            What it is for; a certificate's algorithm by default.

        Raises
        ------
        BudgetExceededError
            If it does not fit; nothing is spent, and the error says what is left.
        LedgerError
            If the file is damaged, or is locked for longer than the timeout.
        """
        event = _event(cost)
        if label is None and isinstance(cost, Certificate):
            label = cost.algorithm
        spend = Spend(text("label", label), datetime.now(UTC).isoformat(timespec="seconds"), event)
        with self._exclusive():
            self._refresh()
            if self._fits(event):
                self._write((*self._spends, spend))
                return spend
        # Outside the lock, as it takes a while to tell.
        raise self._exceeded(spend.label)

    def check(self, cost: Certificate | Budget | Event, label: str = "the release") -> None:
        """Refuse a cost that does not fit at the moment, without spending it.

        Raises
        ------
        BudgetExceededError
            If it does not fit.
        """
        event = _event(cost)
        with self._exclusive():
            self._refresh()
            if self._fits(event):
                return
        raise self._exceeded(label)

    def _exceeded(self, label: str) -> BudgetExceededError:
        return BudgetExceededError(
            f"{label} does not fit into what is left of ε = {self.budget.epsilon:g}, "
            f"δ = {self.budget.delta:g}: there is room for {self._remaining()}. Nothing was spent"
        )

    def remaining(self) -> Remaining:
        """Return how much one more release may cost."""
        with self._exclusive():
            self._refresh()
        return self._remaining()

    def _fits(self, event: Event) -> bool:
        events = (*(s.event for s in self._spends), event)
        if self._filtered:
            rule = RenyiFilter.of(self.budget)
            return rule.admits(SequentialEvent(events))
        return PrivacyCurve(*events).within(self.budget)

    def _remaining(self) -> Remaining:
        pure = self._largest(PureEvent, self.budget.epsilon)
        if self.budget.is_pure:
            return Remaining(pure, 0.0, 0.0)
        mu = self._largest(GaussianEvent, gaussian.ratio(self.budget.epsilon, self.budget.delta))
        return Remaining(pure, mu, gaussian.epsilon(mu, self.budget.delta))

    def _largest(self, kind: type[PureEvent] | type[GaussianEvent], limit: float) -> float:
        """Return the largest event of a kind that still fits, from below.

        Exact where Gaussian or pure events compose exactly; else to three digits, and
        zero when it is less than a thousandth of the budget.
        """
        spent = [s.event for s in self._spends]
        if kind is PureEvent and self.budget.is_pure:
            exact = self.budget.epsilon - math.fsum(
                e.epsilon * e.count for e in spent if isinstance(e, PureEvent)
            )
            if exact > 0 and self._fits(PureEvent(exact)):
                return exact
        gaussian_only = all(isinstance(e, GaussianEvent) for e in spent)
        if kind is GaussianEvent and gaussian_only and not self._filtered:
            used = math.hypot(*(e.mu for e in spent if isinstance(e, GaussianEvent)))
            exact = math.sqrt(max(0.0, (limit - used) * (limit + used))) * (1 - 1e-12)
            if exact > 0 and self._fits(GaussianEvent(exact)):
                return exact
        if self._fits(kind(limit)):
            return limit
        low = limit * 1e-3
        if not self._fits(kind(low)):
            return 0.0
        # Bisect on the logarithm: fits at the lower end, does not at the upper.
        bottom, top = math.log(low), math.log(limit)
        while top - bottom > 1e-3:
            middle = (bottom + top) / 2
            bottom, top = (middle, top) if self._fits(kind(math.exp(middle))) else (bottom, middle)
        return math.exp(bottom)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Hold the ledger against other threads and other processes."""
        with self._thread_lock:
            if self._path is None:
                yield
                return
            if not self._path.parent.is_dir():
                raise LedgerError(f"there is no directory {self._path.parent} for the ledger")
            lock = FileLock(self._path.with_name(self._path.name + ".lock"))
            try:
                lock.acquire(timeout=self._timeout)
            except Timeout:
                raise LedgerError(
                    f"the ledger {self._path} is in use by another process for over "
                    f"{self._timeout:g} s: try again, or give a longer timeout"
                ) from None
            except OSError as error:
                reason = error.strerror or str(error)
                raise LedgerError(f"the ledger {self._path} cannot be locked: {reason}") from None
            try:
                yield
            finally:
                lock.release()

    def _refresh(self) -> None:
        if self._path is not None:
            self._read()

    def _write(self, spends: tuple[Spend, ...]) -> None:
        if self._path is not None:
            document = write_ledger(self.budget, self.adaptive, spends)
            try:
                write_atomically(self._path, document)
            except NotDurableError as error:
                self._spends = spends
                raise LedgerError(
                    f"the ledger {self._path} was written but might not survive a crash of the "
                    f"machine: {error.strerror}. What was to be spent counts as spent"
                ) from None
            except OSError as error:
                reason = error.strerror or str(error)
                raise LedgerError(
                    f"the ledger {self._path} cannot be written: {reason}. Nothing was spent"
                ) from None
        self._spends = spends

    def _read(self) -> None:
        path = self._path
        if path is None:
            return
        try:
            if path.is_file() and path.stat().st_nlink > 1:
                raise LedgerError(
                    f"the ledger {path} has a second name (a hard link), under which others would "
                    "miss what is spent here: remove one of the two"
                )
            budget, adaptive, spends = read_ledger(path.read_bytes())
        except LedgerError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise LedgerError(f"the ledger {path} cannot be read: {reason}") from None
        except (ValueError, TypeError, RecursionError) as error:
            raise LedgerError(
                f"the ledger {path} is damaged and nothing may be spent from it: {error}"
            ) from None
        if self._budget is not None and budget != self._budget:
            raise LedgerError(
                f"the ledger {path} has {budget}, not {self._budget}: open it with its own budget, "
                "or with BudgetLedger.load"
            )
        if self._adaptive is not None and adaptive != self._adaptive:
            raise LedgerError(
                f"the ledger {path} has adaptive={adaptive}, not {self._adaptive}: open it as it "
                "is, or with BudgetLedger.load"
            )
        self._budget, self._adaptive, self._spends = budget, adaptive, spends


def _event(cost: Certificate | Budget | Event) -> Event:
    if isinstance(cost, Certificate):
        return cost.event
    if isinstance(cost, Budget):
        pure = cost.is_pure
        return PureEvent(cost.epsilon) if pure else ApproximateEvent(cost.epsilon, cost.delta)
    if isinstance(cost, Event):
        return cost
    raise TypeError(
        f"a cost is a Certificate, a Budget or a privacy event, got {type(cost).__name__}"
    )


def _reopen(path: str, timeout: float) -> BudgetLedger:
    return BudgetLedger.load(path, timeout=timeout)
