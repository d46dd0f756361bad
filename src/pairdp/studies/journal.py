"""Finished jobs, appended to a file one by one, so that an interrupted study can resume."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout

from pairdp._files import destination
from pairdp._version import __version__
from pairdp.studies.data import CATALOG
from pairdp.studies.jobs import RunResult

_FORMAT = 2  # in format 1, the protocol "paper" meant standardised rows


class JournalError(RuntimeError):
    """The journal is in use, or the file is not a journal."""


def configuration() -> dict[str, Any]:
    """Return what results depend on besides their job: the library's version, and the data."""
    return {
        "format": _FORMAT,
        "library_version": __version__,
        "data": {name: source.sha256 for name, source in CATALOG.items()},
    }


class Journal:
    """A file of JSON lines: the configuration, then one line per finished job.

    Each configuration has its own file. An incomplete last line, left by a killed process, is
    dropped when the journal is opened.

    Parameters
    ----------
    directory : Path
        Directory of the journal.

    Attributes
    ----------
    done : dict of str to RunResult
        Results of the finished jobs, by key.
    seconds : dict of str to float
        Their run times.
    """

    def __init__(self, directory: Path) -> None:
        self._head = json.dumps(configuration(), sort_keys=True)
        digest = hashlib.sha256(self._head.encode()).hexdigest()[:12]
        self.path = directory / f"journal-{digest}.jsonl"
        self.done: dict[str, RunResult] = {}
        self.seconds: dict[str, float] = {}
        self._lock = FileLock(directory / f".{self.path.name}.lock", timeout=0)

    def __enter__(self) -> Self:
        try:
            self._lock.acquire()
        except Timeout:
            raise JournalError(
                f"another study is writing {self.path}: wait for it, or use another --out"
            ) from None
        try:
            self._read()
            self._file = self.path.open("ab")
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        self._lock.release()

    def add(self, key: str, result: RunResult, seconds: float) -> None:
        """Append a finished job, in one write: only the last line can be incomplete."""
        entry = {"key": key, "seconds": seconds, "outcome": result.to_dict()}
        line = json.dumps(entry, ensure_ascii=False, allow_nan=False)
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        self.done[key], self.seconds[key] = result, seconds

    def _read(self) -> None:
        try:
            destination(self.path)
        except OSError as error:
            raise JournalError(f"{self.path} cannot be written: {error.strerror}") from None
        if not self.path.exists() or self.path.stat().st_size == 0:
            self.path.write_bytes(self._head.encode() + b"\n")
            return
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        lines = content[:whole].splitlines()
        if not lines or lines[0].decode(errors="replace") != self._head:
            raise JournalError(f"{self.path} is not a journal of this version: remove it")
        for number, line in enumerate(lines[1:], start=2):
            try:
                entry = json.loads(line)
                self.done[entry["key"]] = RunResult.from_dict(entry["outcome"])
                self.seconds[entry["key"]] = float(entry["seconds"])
            except (ValueError, KeyError, TypeError, AttributeError):
                raise JournalError(
                    f"line {number} of {self.path} is damaged: remove the line to run its job again"
                ) from None
        if whole < len(content):
            os.truncate(self.path, whole)
