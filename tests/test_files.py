from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pairdp._files import Draft, write_atomically

OLD, NEW = b"the old content", b"the new content, which is longer"


def only_entry(directory: Path) -> str:
    (entry,) = directory.iterdir()
    return entry.name


def raising(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize("content", [b"", b"x", bytes(range(256)), b"\r\n" * 100_000])
def test_writes_exactly_the_content(tmp_path: Path, content: bytes) -> None:
    write_atomically(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == content
    assert only_entry(tmp_path) == "file"


@pytest.mark.parametrize("content", [b"", b"x", NEW])
def test_replaces_longer_and_shorter_content(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    write_atomically(path, content)
    assert path.read_bytes() == content


def test_leaves_other_files_alone(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(OLD)
    write_atomically(tmp_path / "file", NEW)
    assert (tmp_path / "other").read_bytes() == OLD


@pytest.mark.parametrize("name", ["a name with spaces.json", ".hidden", "ünïcode", "no-suffix"])
def test_any_name(tmp_path: Path, name: str) -> None:
    write_atomically(tmp_path / name, NEW)
    assert only_entry(tmp_path) == name


def test_takes_over_what_a_crash_left_beside(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, OLD)
    for leftover in [".file.writing", "file.tmp"]:
        (tmp_path / leftover).write_bytes(b"half of some")
    write_atomically(path, NEW)
    assert path.read_bytes() == NEW


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()]
)
def test_failure_leaves_the_old_file_and_nothing_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException
) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    with monkeypatch.context() as broken:
        broken.setattr(os, call, raising(error))
        with pytest.raises(type(error)):
            write_atomically(path, NEW)
    assert path.read_bytes() == OLD
    assert only_entry(tmp_path) == "file"


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_failure_leaves_no_file_where_there_was_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(os, call, raising(OSError(errno.EIO, "Input/output error")))
        with pytest.raises(OSError, match="Input/output error"):
            write_atomically(tmp_path / "file", NEW)
    assert list(tmp_path.iterdir()) == []


def test_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "nowhere" / "file", NEW)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "inside").write_bytes(OLD)
    with pytest.raises(OSError, match="directory"):
        write_atomically(tmp_path / "taken", NEW)
    assert (tmp_path / "taken" / "inside").read_bytes() == OLD
    assert only_entry(tmp_path) == "taken"


def test_content_is_on_disk_before_the_rename_and_the_rename_before_returning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(handle: int) -> None:
        directory = os.path.samestat(os.fstat(handle), tmp_path.stat())
        calls.append("sync directory" if directory else f"sync {os.fstat(handle).st_size} bytes")
        fsync(handle)

    def noted_replace(*names: str | Path) -> None:
        calls.append("rename")
        replace(*names)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write_atomically(tmp_path / "file", NEW)
    assert calls == [f"sync {len(NEW)} bytes", "rename", "sync directory"]


def test_works_where_directories_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(os, "open", raising(PermissionError(errno.EACCES, "Permission denied")))
        write_atomically(tmp_path / "file", NEW)
    assert (tmp_path / "file").read_bytes() == NEW


def test_leaks_no_open_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    next_handle = os.dup(0)
    os.close(next_handle)
    write_atomically(tmp_path / "file", NEW)
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", raising(OSError(errno.EIO, "Input/output error")))
        with pytest.raises(OSError, match="Input/output error"):
            write_atomically(tmp_path / "file", OLD)
    after = os.dup(0)
    os.close(after)
    assert after == next_handle


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = {bytes([letter]) * size for letter, size in [(65, 50_000), (66, 200_000)]}
    write_atomically(path, min(contents))
    seen: set[bytes] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(30):
        for content in contents:
            write_atomically(path, content)
    done.set()
    reader.join()
    assert seen <= contents
    assert seen


def test_a_draft_is_for_its_owner_until_it_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(OLD)
    usual = (tmp_path / "plain").stat().st_mode
    draft = Draft(tmp_path / "file", NEW)
    assert draft.beside.stat().st_mode & 0o777 == 0o600
    assert not draft.is_published
    draft.publish()
    assert draft.is_published
    assert (tmp_path / "file").stat().st_mode == usual
    draft.discard()
    assert (tmp_path / "file").read_bytes() == NEW
    secret = Draft(tmp_path / "secret", NEW, secret=True)
    secret.publish_new()
    assert secret.path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        Draft(tmp_path / "secret", OLD).publish_new()
    assert secret.path.read_bytes() == NEW


def test_a_new_file_where_there_are_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", raising(PermissionError(errno.EPERM, "not permitted")))
    draft = Draft(tmp_path / "file", NEW)
    draft.publish_new()
    assert draft.is_published
    assert only_entry(tmp_path) == "file"
    with pytest.raises(FileExistsError):
        Draft(tmp_path / "file", OLD).publish_new()
    assert (tmp_path / "file").read_bytes() == NEW
