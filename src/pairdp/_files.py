"""Atomic writing of files: a crash leaves the old file or the new one, never a partial one.

A file is first written under a temporary name next to its destination (a `Draft`) and then renamed.
Links are followed: the file that they point to is replaced, not the link. Anything other than a
regular file (a device, a pipe, a socket, a directory) is never replaced.
"""

from __future__ import annotations

import errno
import glob
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

Content = bytes | Callable[[BinaryIO], object]
"""Bytes, or a function that writes to an open file."""

_OWNER = 0o600
_WRITING = ".writing"
_NO_LINKS = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


class NotRegularFileError(OSError):
    """A path is something other than a regular file, and is not replaced."""


class NotDurableError(OSError):
    """The new content is in place, but might not survive a crash of the machine."""


def destination(path: Path) -> Path:
    """Return the path of the file that a path refers to, with links resolved; it may not exist.

    Raises
    ------
    NotRegularFileError
        If it exists and is not a regular file.
    """
    try:
        mode = path.stat().st_mode  # follows links, also those of /dev and /proc
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EEXIST
        raise NotRegularFileError(code, f"it is {kind} and not a regular file", str(path))
    return path.resolve()


class Draft:
    """A file that is complete on disk under a temporary name.

    Parameters
    ----------
    path : Path
        The destination.
    content : bytes or callable
        The content.
    secret : bool
        Whether only the owner may read the file under its final name as well.
    alone : bool
        Whether no one else writes to this path at the same time; a file that was left by a crash is
        then overwritten.

    Attributes
    ----------
    path : Path
        The destination, with links resolved.
    beside : Path
        The temporary file next to it, which only its owner can read.
    token : str
        A random name of the draft, by which `drafts_of` finds it after a crash; empty if ``alone``.
    """

    def __init__(
        self, path: Path, content: Content, *, secret: bool = False, alone: bool = False
    ) -> None:
        self.path = destination(path)
        self.token = "" if alone else secrets.token_hex(16)
        own = f".{self.token}" if self.token else ""
        self.beside = self.path.with_name(f".{self.path.name}{own}{_WRITING}")
        self._discarded = self._published = False
        if alone:
            self.beside.unlink(missing_ok=True)
        try:
            with self.beside.open("xb") as file:
                self._mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                self.beside.chmod(_OWNER)
                if isinstance(content, bytes):
                    file.write(content)
                else:
                    content(file)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            self._discarded = True
            self.beside.unlink(missing_ok=True)
            raise
        if secret:
            self._mode = _OWNER

    def publish(self) -> None:
        """Rename the draft to its destination, replacing any file there, and sync to disk."""
        if destination(self.path) != self.path:
            raise NotRegularFileError(
                errno.EEXIST, "it became a link in the meantime", str(self.path)
            )
        mode = self._mode
        with suppress(FileNotFoundError):
            mode = stat.S_IMODE(self.path.stat().st_mode)
        self.beside.chmod(mode)
        self.beside.replace(self.path)
        self._published = True
        _sync_directory(self.path.parent)

    def publish_new(self) -> None:
        """Rename the draft to its destination, unless there is a file.

        Raises
        ------
        FileExistsError
            If there is one; it is not changed.
        """
        self.beside.chmod(self._mode)
        try:
            os.link(self.beside, self.path)  # unlike renaming, this replaces nothing
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # Not every file system has links: reserve the name, then replace.
            self.path.open("xb").close()
            self.beside.replace(self.path)
        self._published = True
        self.beside.unlink(missing_ok=True)
        _sync_directory(self.path.parent)

    @property
    def is_published(self) -> bool:
        """Whether the draft was renamed, even if an interrupt came right after that."""
        return self._published or (not self._discarded and not self.beside.exists())

    def discard(self) -> None:
        """Remove the draft, unless it was renamed."""
        if not self.is_published:
            self._discarded = True
            self.beside.unlink(missing_ok=True)


def drafts_of(path: Path) -> dict[str, Path]:
    """Return the drafts of a file that were left by a crash, by their tokens."""
    target = destination(path)
    before = f".{target.name}."
    found = target.parent.glob(f"{glob.escape(before)}*{_WRITING}")
    return {place.name.removeprefix(before).removesuffix(_WRITING): place for place in found}


def write_atomically(path: Path, content: Content) -> None:
    """Replace the content of a file durably: write a temporary file, flush it to disk, rename it.

    Afterwards the content survives a crash of the machine. If several processes write to the same
    path at the same time, the last one wins.
    """
    draft = Draft(path, content)
    try:
        draft.publish()
    finally:
        draft.discard()


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
