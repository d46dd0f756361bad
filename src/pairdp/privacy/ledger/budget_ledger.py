"""The ledger: one budget for all releases of a data set, kept on disk."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from pairdp._checks import text
from pairdp._files import Draft, NotDurableError, write_atomically
from pairdp.privacy.accounting import gaussian
from pairdp.privacy.accounting.budget import Budget, check_budget
from pairdp.privacy.accounting.composition import PrivacyCurve
from pairdp.privacy.accounting.events import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    PureEvent,
    SequentialEvent,
)
from pairdp.privacy.accounting.renyi_filter import RenyiFilter
from pairdp.privacy.certificates.certificate import Certificate
from pairdp.privacy.errors import BudgetExceededError, LedgerError
from pairdp.privacy.ledger.document import LedgerState, Seen, Spend, StreamEntry
from pairdp.privacy.ledger.lock import HeldFile, create, held


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
        Where to keep it. An existing ledger is continued, and must have this budget. Links are
        followed once, now. Without a path the ledger lives in the memory of this process, and no
        other process can spend from it.
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
    choosing (`pairdp.privacy.accounting.renyi_filter`), and (ε, δ) costs without more
    detail are refused.

    A copy of a ledger is the same ledger (`copy.copy`, `copy.deepcopy`, `sklearn.clone`), and what
    was forked or pickled goes on with the file, or is refused when there is none. An open ledger
    remembers what it saw of its file, and refuses one that does not extend it: one that was put
    back to an earlier state, replaced, or removed. A file ``.NAME.identity`` beside it tells which
    ledger there was, so that one which is removed is not begun anew with its full budget.

    What cannot be told is that a file was put back to a state which no open ledger has seen
    beyond: a backup that is restored while no process has the ledger open, or on another machine,
    has the budget that it had then, and so has a copy of the ledger under another name. Nor do the
    digests stop someone who forges a file. Never restore a ledger from a backup to spend from it.

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

    _state: LedgerState | None

    def __init__(
        self,
        budget: Budget,
        path: str | Path | None = None,
        *,
        adaptive: bool = False,
        timeout: float = 60.0,
    ) -> None:
        check_budget(budget)
        self._open(path, timeout)
        if self._path is None:
            self._state = LedgerState(budget, bool(adaptive))
            return
        if not self._path.exists():
            self._create(LedgerState(budget, bool(adaptive)))
        self._begin()
        if self.budget != budget:
            raise LedgerError(
                f"the ledger {self._path} has {self.budget}, not {budget}: open it with its own "
                "budget, or with BudgetLedger.load"
            )
        if self.adaptive != bool(adaptive):
            raise LedgerError(
                f"the ledger {self._path} has adaptive={self.adaptive}, not {bool(adaptive)}: open "
                "it as it is, or with BudgetLedger.load"
            )

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
        return _reopen, (str(self._path), self._timeout, tuple(self._known.seen()))

    def _open(self, path: str | Path | None, timeout: float) -> None:
        # Resolved, so that links and a change of directory lead to one file and one lock.
        if path is not None and not str(path):
            raise ValueError("path must not be empty: leave it out for a ledger in memory")
        try:
            self._path = None if path is None else Path(path).resolve()
            self._name = None if path is None else Path(path).parent.resolve() / Path(path).name
        except (OSError, RuntimeError):  # links that lead in a circle
            raise LedgerError(f"the ledger {path} cannot be read: its links lead nowhere") from None
        self._timeout = timeout
        self._state = None
        self._thread_lock = threading.RLock()
        self._process = os.getpid()

    @classmethod
    def load(cls, path: str | Path, *, timeout: float = 60.0) -> BudgetLedger:
        """Return the ledger of a file, with the budget that the file has."""
        ledger = cls.__new__(cls)
        ledger._open(path, timeout)
        if not Path(path).exists():
            raise LedgerError(
                f"the ledger {path} cannot be read: it does not exist; make one with a budget first"
            )
        ledger._begin()
        return ledger

    def _create(self, state: LedgerState) -> None:
        path = self._on_disk()
        for name in {path, self._name or path}:
            marker = _marker(name)
            if marker.exists():
                raise LedgerError(
                    f"the ledger {name} was removed, and a new one would have its full budget "
                    f"again: put it back, or remove {marker} as well if nothing of it matters any "
                    "more"
                )
        if not path.parent.is_dir():
            raise LedgerError(f"there is no directory {path.parent} for the ledger")
        try:
            create(path, state.to_bytes(), self._timeout)
        except FileExistsError:
            return  # another process was first, and this one goes on with what it made
        except OSError as error:
            self._not_written(error)

    def _begin(self) -> None:
        """Read the file for the first time, and leave word that there is a ledger."""
        path = self._on_disk()
        with self._exclusive():
            pass
        self._check_marker(path)
        if self._name is not None and self._name != path:
            self._check_marker(self._name)  # the name is a link, and may have been a ledger before
        with suppress(OSError):  # of those who may read the ledger, not all may write beside it
            if not _marker(path).exists():
                write_atomically(_marker(path), f"{self.identity}\n".encode())

    def _check_marker(self, path: Path) -> None:
        """Refuse another ledger than the one that had this name before."""
        marker = _marker(path)
        with suppress(OSError):
            if marker.exists() and marker.read_bytes().strip() != self.identity.encode():
                raise LedgerError(
                    f"the ledger {path} is another one than was made under this name: put the "
                    f"right file back, or remove {marker} if this is the right one"
                )

    def _on_disk(self) -> Path:
        if self._path is None:
            raise LedgerError("the ledger has no file")
        return self._path

    @property
    def _known(self) -> LedgerState:
        """What it was when it was last looked at."""
        if self._state is None:  # only while a file is being read
            raise LedgerError("the ledger was not read")
        return self._state

    @property
    def identity(self) -> str:
        """A random name, which tells it from all other ledgers."""
        return self._known.identity

    @property
    def budget(self) -> Budget:
        """What all releases together may spend."""
        return self._known.budget

    @property
    def adaptive(self) -> bool:
        """Whether amounts of noise may be chosen as one goes."""
        return self._known.adaptive

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Everything spent so far, by any process."""
        with self._exclusive():
            return self._known.spends

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
        spend = self._entry(cost, label)
        self._add(spend)
        return spend

    def _entry(self, cost: Certificate | Budget | Event, label: str | None) -> Spend:
        event = _event(cost)
        if label is None and isinstance(cost, Certificate):
            label = cost.algorithm
        return Spend(text("label", label), _now(), event)

    def _add(self, spend: Spend) -> None:
        with self._exclusive() as file:
            if self._fits(spend.event):
                self._write(file, self._known.with_spend(spend))
                return
        # Outside the lock, as it takes a while to tell.
        raise self._exceeded(spend.label)

    def release(
        self, cost: Certificate | Budget | Event, draft: Draft, label: str | None = None
    ) -> Spend:
        """Spend for a file that is complete on disk, and then give it its name.

        So a full disk is met before anything is spent, and nothing is released unpaid. If it fails
        before the spend is on disk, the draft is removed. If it fails after that, the draft is kept
        and the error says what was spent and where the file is.

        Parameters
        ----------
        cost, label
            As for `spend`.
        draft : Draft
            The file.

        Raises
        ------
        BudgetExceededError, LedgerError
            As `spend` does; or if the file did not get its name after the spend.
        KeyboardInterrupt
            With a sentence that says what was spent.
        """
        try:
            spend = self._entry(cost, label)
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
            told = self._told(error, spend, cost, draft)
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(told) from error
            raise LedgerError(told) from error
        return spend

    def _told(
        self, error: BaseException, spend: Spend, cost: Certificate | Budget | Event, draft: Draft
    ) -> str:
        """Say what a release that failed has spent, and where its file is."""
        failed = "interrupted" if isinstance(error, KeyboardInterrupt) else f"{_reason(error)}"
        ledger = "the ledger" if self._path is None else f"the ledger {self._path}"
        try:
            spent = any(entry.id == spend.id for entry in self.spends)
        except (LedgerError, KeyboardInterrupt):
            spent = None
        if spent is False:
            draft.discard()
            return f"{failed}: nothing was spent from {ledger}, and nothing was released"
        amount = f"{_in_words(cost)} for {spend.label}"
        was = f"{amount} was spent from {ledger}"
        if spent is None:
            was = f"{amount} may have been spent from {ledger}, which cannot be read now"
        if draft.is_published:
            return f"{failed}: {was}, and {draft.path} is in place"
        return (
            f"{failed}: {was}, and the file is complete in {draft.beside}, but it did not get its "
            f"name: rename it to {draft.path}"
        )

    def save_stream(self, token: str) -> None:
        """Note that a stream is about to be saved, to a file with this token.

        Only the ledger that pays for a stream knows which of its files were resumed: one that it
        does not know, or that was resumed before, is refused.
        """
        with self._exclusive() as file:
            if self._known.actions(token):
                raise LedgerError("a stream was saved with this token before")
            self._write(file, self._known.with_stream(StreamEntry(token, "saved", _now())))

    def resume_stream(self, token: str) -> None:
        """Use up the token of a stream's file.

        Raises
        ------
        LedgerError
            If it is used up already, or of no file of a stream of this ledger.
        """
        with self._exclusive() as file:
            actions = self._known.actions(token)
            if "saved" not in actions:
                raise LedgerError("the ledger does not know this file of a stream")
            if "resumed" in actions:
                raise LedgerError(
                    "this file of a stream was resumed before, and is a copy: its records would be "
                    "paid for once and used twice"
                )
            self._write(file, self._known.with_stream(StreamEntry(token, "resumed", _now())))

    def check(self, cost: Certificate | Budget | Event, label: str = "the release") -> None:
        """Refuse a cost that does not fit at the moment, without spending it.

        Raises
        ------
        BudgetExceededError
            If it does not fit.
        """
        event = _event(cost)
        with self._exclusive():
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
            pass
        return self._remaining()

    def _fits(self, event: Event) -> bool:
        events = (*(s.event for s in self._known.spends), event)
        if self._filtered:
            rule = RenyiFilter.of(self.budget)
            return rule.admits(SequentialEvent(events))
        return PrivacyCurve(*events).within(self.budget)

    def _remaining(self) -> Remaining:
        pure = self._largest(PureEvent, self.budget.epsilon)
        if self.budget.is_pure:
            return Remaining(pure, 0.0, 0.0)
        mu = self._largest(GaussianEvent, gaussian.gdp_mu(self.budget.epsilon, self.budget.delta))
        return Remaining(pure, mu, gaussian.epsilon(mu, self.budget.delta))

    def _largest(self, kind: type[PureEvent] | type[GaussianEvent], limit: float) -> float:
        """Return the largest event of a kind that still fits, from below.

        Exact where Gaussian or pure events compose exactly; else to three digits, and
        zero when it is less than a thousandth of the budget.
        """
        spent = [s.event for s in self._known.spends]
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
    def _exclusive(self) -> Iterator[HeldFile | None]:
        """Hold the ledger against other threads and other processes, and look at it anew."""
        if os.getpid() != self._process:
            if self._path is None:
                raise LedgerError(
                    "this ledger is in the memory of another process, and both would spend the "
                    "same budget: keep it in a file, BudgetLedger(budget, path)"
                )
            # A thread of the other process may have held the lock when this one was forked.
            self._thread_lock, self._process = threading.RLock(), os.getpid()
        with self._thread_lock:
            if self._path is None:
                yield None
                return
            if not self._path.parent.is_dir():
                raise LedgerError(f"there is no directory {self._path.parent} for the ledger")
            with self._held(self._path) as file:
                self._read(file)
                yield file

    @contextmanager
    def _held(self, path: Path) -> Iterator[HeldFile]:
        with ExitStack() as stack:
            try:
                file = stack.enter_context(held(path, self._timeout))
            except TimeoutError:
                raise LedgerError(
                    f"the ledger {path} is in use by another process for over {self._timeout:g} s: "
                    "try again, or give a longer timeout"
                ) from None
            except FileNotFoundError:
                raise LedgerError(
                    f"the ledger {path} was removed, and nothing may be spent without it: put it "
                    "back"
                ) from None
            except OSError as error:
                raise LedgerError(f"the ledger {path} cannot be read: {_reason(error)}") from None
            yield file

    def _write(self, file: HeldFile | None, state: LedgerState) -> None:
        if file is not None:
            try:
                draft = Draft(file.path, state.to_bytes(), alone=True)
                try:
                    if not file.is_current:
                        raise LedgerError(
                            f"the ledger {file.path} was removed or replaced while it was in use. "
                            "Nothing was spent"
                        )
                    draft.publish()
                finally:
                    draft.discard()
            except NotDurableError as error:
                self._state = state
                raise LedgerError(
                    f"the ledger {file.path} was written but might not survive a crash of the "
                    f"machine: {error.strerror}. What was to be spent counts as spent"
                ) from None
            except OSError as error:
                self._not_written(error)
        self._state = state

    def _not_written(self, error: OSError) -> NoReturn:
        raise LedgerError(
            f"the ledger {self._path} cannot be written: {_reason(error)}. Nothing was spent"
        ) from None

    def _read(self, file: HeldFile) -> None:
        path = file.path
        try:
            if file.names > 1:
                raise LedgerError(
                    f"the ledger {path} has a second name (a hard link), under which others would "
                    "miss what is spent here: remove one of the two"
                )
            state = LedgerState.from_bytes(file.read())
        except LedgerError:
            raise
        except OSError as error:
            raise LedgerError(f"the ledger {path} cannot be read: {_reason(error)}") from None
        except (ValueError, TypeError, RecursionError) as error:
            raise LedgerError(
                f"the ledger {path} is damaged and nothing may be spent from it: {error}"
            ) from None
        if self._state is not None:
            self._check_extends(path, state, self._state.seen())
            if (state.budget, state.adaptive) != (self.budget, self.adaptive):
                raise LedgerError(
                    f"the ledger {path} has {state.budget} and adaptive={state.adaptive}, and had "
                    f"{self.budget} and adaptive={self.adaptive}: a ledger keeps its own budget"
                )
        self._state = state

    def _check_extends(self, path: Path, state: LedgerState, seen: Seen) -> None:
        if state.identity != seen.identity:
            raise LedgerError(
                f"the ledger {path} was replaced by another one, and nothing may be spent from it: "
                "put the right file back"
            )
        if not state.extends(seen):
            raise LedgerError(
                f"the ledger {path} lacks what was spent or noted before: it was put back to an "
                "earlier state, and nothing may be spent until the newest file is back"
            )


def _marker(path: Path) -> Path:
    """Return the file that tells that there was a ledger."""
    return path.with_name(f".{path.name}.identity")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _in_words(cost: Certificate | Budget | Event) -> str:
    budget = cost.budget if isinstance(cost, Certificate) else cost
    if isinstance(budget, Budget):
        return f"ε = {budget.epsilon:g}, δ = {budget.delta:g}"
    return str(budget)


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


def _reopen(
    path: str, timeout: float, seen: tuple[str, tuple[int, str], tuple[int, str]]
) -> BudgetLedger:
    ledger = BudgetLedger.load(path, timeout=timeout)
    ledger._check_extends(Path(path), ledger._known, Seen(*seen))
    return ledger
