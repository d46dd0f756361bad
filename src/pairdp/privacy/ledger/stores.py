"""Storage of the state of a ledger: in the memory of a process, or in a file."""

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
    """A ledger in memory, from which only the process that created it can spend."""

    def __init__(self, state: LedgerState) -> None:
        self.state = state
        self._lock = threading.RLock()
        self._process = os.getpid()

    def __str__(self) -> str:
        return "the ledger"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError(
            "a ledger in memory cannot be pickled, as a copy could spend the same budget "
            "twice: give it a path, BudgetLedger(budget, path)"
        )

    @contextmanager
    def exclusive(self) -> Iterator[Write]:
        """Lock the ledger against other threads, and yield a function that replaces its state."""
        if os.getpid() != self._process:
            raise LedgerError(
                "this ledger is in the memory of another process, and both could spend the "
                "same budget: store it in a file, BudgetLedger(budget, path)"
            )
        with self._lock:
            yield partial(setattr, self, "state")


class FileStore:
    """A ledger in a file, from which several processes may spend.

    It remembers the last state of the file, and raises an error if the file does not extend it. A
    file ``.NAME.identity`` in the same directory stores the identity of the ledger, so that a
    ledger which was removed is not started again.

    Parameters
    ----------
    path, timeout
        As for `BudgetLedger`.
    new : LedgerState, optional
        The state to write if there is no file yet.
    seen : Seen, optional
        The state that the file must extend.
    """

    def __init__(
        self,
        path: str | Path,
        timeout: float,
        new: LedgerState | None = None,
        seen: Seen | None = None,
    ) -> None:
        if not str(path):
            raise ValueError("path must not be empty: leave it out for a ledger in memory")
        # Resolved, so that links and a change of directory refer to the same file and lock.
        try:
            self.path = Path(path).resolve()
            name = Path(path).parent.resolve() / Path(path).name
        except (OSError, RuntimeError):  # circular links
            raise LedgerError(f"the ledger {path} cannot be read: its links are broken") from None
        self._timeout = timeout
        self._lock = threading.RLock()
        self._process = os.getpid()
        names = {self.path, name}  # a name that is a link may have been a ledger before
        if not self.path.exists():
            if new is None:
                raise LedgerError(
                    f"the ledger {path} cannot be read: it does not exist; make one with a budget "
                    "first"
                )
            self._create(new, names)
        with self._held() as file:
            self.state = self._read(file)
        self._check_identity(names)
        with suppress(OSError):  # the directory may be read-only
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
        """Lock the ledger against other threads and processes, and read its file again.

        Yields a function that replaces its state, on disk before it returns.
        """
        if os.getpid() != self._process:
            # A thread of the parent process may have held the lock at the time of the fork.
            self._lock, self._process = threading.RLock(), os.getpid()
        with self._lock, self._held() as file:
            state = self._read(file)
            self._check_extends(state, self.state.seen())
            if (state.budget, state.adaptive) != (self.state.budget, self.state.adaptive):
                raise LedgerError(
                    f"{self} has {state.budget} and adaptive={state.adaptive}, and had "
                    f"{self.state.budget} and adaptive={self.state.adaptive}: the budget of "
                    "a ledger cannot change"
                )
            self.state = state
            yield partial(self._write, file)

    def _create(self, state: LedgerState, names: set[Path]) -> None:
        for name in names:
            if (marker := _identity_file(name)).exists():
                raise LedgerError(
                    f"the ledger {name} was removed, and a new one would have its full budget "
                    f"again: restore it, or remove {marker} as well if it is not needed any "
                    "more"
                )
        self._check_directory()
        try:
            create(self.path, state.to_bytes(), self._timeout)
        except FileExistsError:
            return  # another process created it first
        except OSError as error:
            raise self._failed("written", error) from None

    def _check_directory(self) -> None:
        if not self.path.parent.is_dir():
            raise LedgerError(f"there is no directory {self.path.parent} for the ledger")

    def _check_identity(self, names: set[Path]) -> None:
        """Raise an error if another ledger had these names before."""
        for name in names:
            marker = _identity_file(name)
            with suppress(OSError):
                if marker.read_bytes().strip() != self.state.identity.encode():
                    raise LedgerError(
                        f"the ledger {name} is another one than was made under this name: restore "
                        f"the right file, or remove {marker} if this is the right one"
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
                    "try again, or give a longer timeout"
                ) from None
            except FileNotFoundError:
                raise LedgerError(
                    f"{self} was removed, and nothing may be spent without it: restore it"
                ) from None
            except OSError as error:
                raise self._failed("read", error) from None
            yield file

    def _read(self, file: HeldFile) -> LedgerState:
        try:
            if file.names > 1:
                raise LedgerError(
                    f"{self} has a second name (a hard link), under which others would not see "
                    "what is spent here: remove one of the two"
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
                f"{self} was replaced by another one, and nothing may be spent from it: restore "
                "the right file"
            )
        if not state.extends(seen):
            raise LedgerError(
                f"{self} lacks entries that were recorded before: it was reset to an earlier "
                "state, and nothing may be spent until the newest file is restored"
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
    """Return the reason of an error, in words."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _identity_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.identity")
