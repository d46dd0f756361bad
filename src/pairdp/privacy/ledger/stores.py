"""Stores of the state of a ledger: in the memory of a process, or in a file."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from pairdp._files import Draft, NotDurableError, write_atomically
from pairdp.privacy.errors import LedgerError
from pairdp.privacy.ledger.document import LedgerState, Seen
from pairdp.privacy.ledger.lock import HeldFile, create, held

Write = Callable[[LedgerState], None]


class MemoryStore:
    """A ledger from which only the process that created it can spend."""

    def __init__(self, state: LedgerState) -> None:
        self.state = state
        self._lock = threading.RLock()
        self._process = os.getpid()

    def __str__(self) -> str:
        return "the ledger"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError(
            "a ledger in memory cannot be pickled, since a copy could spend the same budget "
            "again: use a file, BudgetLedger(budget, path)"
        )

    @contextmanager
    def exclusive(self) -> Iterator[Write]:
        """Lock the ledger for other threads, and yield a function that replaces its state."""
        if os.getpid() != self._process:
            raise LedgerError(
                "this ledger is in the memory of another process, and both would spend the "
                "same budget: use a file, BudgetLedger(budget, path)"
            )
        with self._lock:
            yield partial(setattr, self, "state")


class FileStore:
    """A ledger in a file, from which several processes may spend.

    It remembers what it has read from the file, and refuses a file that does not extend it. A file
    ``.NAME.identity`` next to it stores the identity of the ledger with this name, so that a
    removed ledger is not started again.

    Parameters
    ----------
    path, timeout
        As for `BudgetLedger`.
    new : LedgerState, optional
        The state to write if there is no file.
    seen : Seen, optional
        What the file must extend; see `LedgerState.extends`.
    """

    def __init__(
        self,
        path: str | Path,
        timeout: float,
        new: LedgerState | None = None,
        seen: Seen | None = None,
    ) -> None:
        if not str(path):
            raise ValueError("path must not be empty: omit it for a ledger in memory")
        # Resolved, so that all links, in any working directory, refer to one file and one lock.
        try:
            self.path = Path(path).resolve()
            name = Path(path).parent.resolve() / Path(path).name
        except (OSError, RuntimeError):  # a cycle of links
            raise LedgerError(f"the ledger {path} cannot be read: broken links") from None
        self._timeout = timeout
        self._lock = threading.RLock()
        self._process = os.getpid()
        names = {self.path, name}  # a name that is a link may have been a ledger before
        if not self.path.exists():
            if new is None:
                raise LedgerError(
                    f"the ledger {path} cannot be read: it does not exist; create one with a "
                    "budget first"
                )
            self._create(new, names)
        with self._held() as file:
            self.state = self._read(file)
        self._check_identity(names)
        with suppress(OSError):  # the directory may not be writable
            if not _identity_file(self.path).exists():
                write_atomically(_identity_file(self.path), f"{self.state.identity}\n".encode())
        if seen is not None:
            self._check_extends(self.state, seen)

    def __str__(self) -> str:
        return f"the ledger {self.path}"

    def __reduce__(self) -> tuple[object, ...]:
        return FileStore, (str(self.path), self._timeout, None, self.state.seen())

    @contextmanager
    def exclusive(self) -> Iterator[Write]:
        """Lock the ledger for other threads and processes, and read its file again.

        Yields a function that replaces its state; the new state is on disk when it returns.
        """
        if os.getpid() != self._process:
            # A thread of the other process may have held the lock when this one was forked.
            self._lock, self._process = threading.RLock(), os.getpid()
        with self._lock, self._held() as file:
            state = self._read(file)
            self._check_extends(state, self.state.seen())
            if (state.budget, state.adaptive) != (self.state.budget, self.state.adaptive):
                raise LedgerError(
                    f"{self} has {state.budget} and adaptive={state.adaptive}, but had "
                    f"{self.state.budget} and adaptive={self.state.adaptive}: the budget of a "
                    "ledger must not change"
                )
            self.state = state
            yield partial(self._write, file)

    def _create(self, state: LedgerState, names: set[Path]) -> None:
        for name in names:
            if (marker := _identity_file(name)).exists():
                raise LedgerError(
                    f"the ledger {name} was removed, and a new one would have its full budget "
                    f"again: put the file back, or remove {marker} too if the ledger is no longer "
                    "needed"
                )
        self._check_directory()
        try:
            create(self.path, state.to_bytes(), self._timeout)
        except FileExistsError:
            return  # another process created it first, and this one uses that file
        except OSError as error:
            raise self._failed("written", error) from None

    def _check_directory(self) -> None:
        if not self.path.parent.is_dir():
            raise LedgerError(f"there is no directory {self.path.parent} for the ledger")

    def _check_identity(self, names: set[Path]) -> None:
        """Raise an error if another ledger had one of these names before."""
        for name in names:
            marker = _identity_file(name)
            with suppress(OSError):
                if marker.read_bytes().strip() != self.state.identity.encode():
                    raise LedgerError(
                        f"the ledger {name} is not the one that was created with this name: put "
                        f"the right file back, or remove {marker} if this is the right one"
                    )

    @contextmanager
    def _held(self) -> Iterator[HeldFile]:
        self._check_directory()
        with ExitStack() as stack:
            try:
                file = stack.enter_context(held(self.path, self._timeout))
            except TimeoutError:
                raise LedgerError(
                    f"{self} is in use by another process for over {self._timeout:g} s: "
                    "try again, or use a longer timeout"
                ) from None
            except FileNotFoundError:
                raise LedgerError(
                    f"{self} was removed, and nothing may be spent without it: put it back"
                ) from None
            except OSError as error:
                raise self._failed("read", error) from None
            yield file

    def _read(self, file: HeldFile) -> LedgerState:
        try:
            if file.names > 1:
                raise LedgerError(
                    f"{self} has a second name (a hard link), which would not be updated: remove "
                    "one of the two"
                )
            return LedgerState.from_bytes(file.read())
        except LedgerError:
            raise
        except OSError as error:
            raise self._failed("read", error) from None
        except (ValueError, TypeError, RecursionError) as error:
            raise LedgerError(
                f"{self} is damaged and nothing may be spent from it: {error}"
            ) from None

    def _check_extends(self, state: LedgerState, seen: Seen) -> None:
        if state.identity != seen.identity:
            raise LedgerError(
                f"{self} was replaced by another one, and nothing may be spent from it: put the "
                "right file back"
            )
        if not state.extends(seen):
            raise LedgerError(
                f"{self} lacks entries that were made before: it was rolled back to an earlier "
                "state, and nothing may be spent until the newest file is back"
            )

    def _write(self, file: HeldFile, state: LedgerState) -> None:
        try:
            draft = Draft(file.path, state.to_bytes(), alone=True)
            try:
                if not file.is_current:
                    raise LedgerError(
                        f"{self} was removed or replaced while it was in use. Nothing was spent"
                    )
                draft.publish()
            finally:
                draft.discard()
        except NotDurableError as error:
            self.state = state
            raise LedgerError(
                f"{self} was written but might not survive a crash of the machine: "
                f"{error.strerror}. The cost counts as spent"
            ) from None
        except OSError as error:
            raise self._failed("written", error) from None
        self.state = state

    def _failed(self, what: str, error: OSError) -> LedgerError:
        spent = ". Nothing was spent" if what == "written" else ""
        return LedgerError(f"{self} cannot be {what}: {reason(error)}{spent}")


def reason(error: BaseException) -> str:
    """Return the message of an error."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _identity_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.identity")
