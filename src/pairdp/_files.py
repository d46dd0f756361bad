"""Writing files so that a crash leaves the old one or the new one, never half of one.

A file is first written whole under a name of its own beside its destination (a `Draft`), and then
renamed. Links are followed, so that what they point to is replaced and the link stays one; what is
no regular file (a device, a pipe, a socket, a directory) is never replaced.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

Content = bytes | Callable[[BinaryIO], object]
"""What to write: bytes, or a function that writes to an open file."""

_OWNER = 0o600
_NO_LINKS = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


class NotRegularFileError(OSError):
    """A name leads to something that is no file, and is not replaced by one."""


class NotDurableError(OSError):
    """The new content is in place, but might not survive a crash of the machine."""


def destination(path: Path) -> Path:
    """Return the file that a name leads to, through links; it need not exist.

    Raises
    ------
    NotRegularFileError
        If there is something else than a regular file.
    """
    try:
        mode = path.stat().st_mode  # of what links lead to, also those of /dev and /proc
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EEXIST
        raise NotRegularFileError(code, f"it is {kind} and not a regular file", str(path))
    return path.resolve()


class Draft:
    """Content that is complete on disk, and has not yet got its name.

    Parameters
    ----------
    path : Path
        Where it is to go.
    content : bytes or callable
        What to write.
    secret : bool
        Whether only its owner may read it under its name, too.
    alone : bool
        Whether no one else writes to this path meanwhile; then what a crash left is taken over.

    Attributes
    ----------
    path : Path
        Where it is to go, links resolved.
    beside : Path
        Where it is. Only its owner can read it there.
    """

    def __init__(
        self, path: Path, content: Content, *, secret: bool = False, alone: bool = False
    ) -> None:
        self.path = destination(path)
        own = "" if alone else f".{secrets.token_hex(8)}"
        self.beside = self.path.with_name(f".{self.path.name}{own}.writing")
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
        """Give it its name, in place of the file that has it; after this it survives a crash."""
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
        """Give it its name unless there is a file of that name.

        Raises
        ------
        FileExistsError
            If there is; it stays as it is.
        """
        self.beside.chmod(self._mode)
        try:
            os.link(self.beside, self.path)  # which, unlike renaming, replaces nothing
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # Not every file system has links: take the name, then replace.
            self.path.open("xb").close()
            self.beside.replace(self.path)
        self._published = True
        self.beside.unlink(missing_ok=True)
        _sync_directory(self.path.parent)

    @property
    def is_published(self) -> bool:
        """Whether it has got its name, also if an interrupt came right after that."""
        return self._published or (not self._discarded and not self.beside.exists())

    def discard(self) -> None:
        """Remove it, unless it has got its name."""
        if not self.is_published:
            self._discarded = True
            self.beside.unlink(missing_ok=True)


def write_atomically(path: Path, content: Content) -> None:
    """Replace a file's content durably: write beside it, flush to disk, rename.

    After this returns the content survives a crash of the machine. Of several that write the same
    path at the same time, the last one stays.
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
