"""Writing files so that a crash leaves the old one or the new one, never half of one."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path


def write_new(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, durably, unless there is one of that name.

    Raises
    ------
    FileExistsError
        If there is; it stays as it is.
    """
    path = path.resolve()
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.writing")
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(beside, path)  # which, unlike renaming, replaces nothing
    finally:
        beside.unlink(missing_ok=True)
    _sync_directory(path.parent)


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file's content durably: write beside it, flush to disk, rename.

    After this returns the content survives a crash of the machine. The caller makes
    sure that no one else writes the same path at the same time.
    """
    path = path.resolve()  # through a link, replace what it points to and not the link
    beside = path.with_name(f".{path.name}.writing")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            beside.chmod(stat.S_IMODE(path.stat().st_mode))
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


class NotDurableError(OSError):
    """The new content is in place, but might not survive a crash of the machine."""


def _sync_directory(directory: Path) -> None:
    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError:  # not every platform opens directories; the rename is still atomic
        return
    try:
        os.fsync(handle)
    except OSError as error:
        raise NotDurableError(error.errno, error.strerror) from error
    finally:
        os.close(handle)
