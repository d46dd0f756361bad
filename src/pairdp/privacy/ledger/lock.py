"""Locking a ledger file against other processes.

If the operating system supports it (`flock`), the lock is on the ledger file itself and not on a
separate lock file, which someone could remove. Each spend replaces the file by a new one with the
same name, so a process that gets the lock checks whether the locked file still has the name, and
tries again if not. So if two processes read the same file, only one of them can replace it: the
other gets the lock only after the file has lost its name.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pairdp._files import Draft

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed
    fcntl = None  # type: ignore[assignment]

_PAUSE = 0.005
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK if fcntl is not None else 0
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True)
class HeldFile:
    """A locked file, which no other process that respects the lock can replace.

    Attributes
    ----------
    path : Path
        Its path.
    handle : int, optional
        The open file; None if the lock is on a separate file.
    """

    path: Path
    handle: int | None

    def read(self) -> bytes:
        """Return the content."""
        if self.handle is None:
            return self.path.read_bytes()
        found = bytearray()
        while part := os.pread(self.handle, 2**20, len(found)):
            found += part
        return bytes(found)

    @property
    def names(self) -> int:
        """The number of names (hard links) of the file."""
        return (self.path.stat() if self.handle is None else os.fstat(self.handle)).st_nlink

    @property
    def is_current(self) -> bool:
        """Whether the path still refers to this file."""
        if self.handle is None:
            return self.path.exists()
        return _same(self.handle, self.path)


def _same(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False


@contextmanager
def held(path: Path, timeout: float) -> Iterator[HeldFile]:
    """Lock an existing file.

    Raises
    ------
    TimeoutError
        If it stays locked for longer than ``timeout`` seconds.
    OSError
        If the file does not exist, is not a regular file, or cannot be locked.
    """
    if fcntl is None:
        with _beside(path, timeout):
            yield HeldFile(path, None)
        return
    end = time.monotonic() + timeout
    while (handle := _try(path)) is None:
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(_PAUSE)
    try:
        yield HeldFile(path, handle)
    finally:
        os.close(handle)  # releases the lock


def create(path: Path, content: bytes, timeout: float) -> None:
    """Write a new file, locked until its temporary name is removed.

    Raises
    ------
    FileExistsError
        If the file exists.
    """
    with ExitStack() as stack:
        if fcntl is None:
            stack.enter_context(_beside(path, timeout))
        draft = Draft(path, content)
        stack.callback(draft.discard)
        if fcntl is not None:
            stack.enter_context(held(draft.beside, timeout))
        draft.publish_new()


def _try(path: Path) -> int | None:
    """Return the open and locked file, None if another process has locked it."""
    handle = _open(path)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _same(handle, path):
            return handle
    except BlockingIOError:
        pass
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | _FLAGS)
    except OSError as error:
        if error.errno not in _READ_ONLY:
            raise
        return os.open(path, os.O_RDONLY | _FLAGS)


@contextmanager
def _beside(path: Path, timeout: float) -> Iterator[None]:
    from filelock import FileLock, Timeout  # only where there is no flock

    lock = FileLock(path.with_name(path.name + ".lock"))
    try:
        lock.acquire(timeout=timeout)
    except Timeout:
        raise TimeoutError from None
    try:
        yield
    finally:
        lock.release()
