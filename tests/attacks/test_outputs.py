"""Where output goes: devices, pipes and links.

What was tried: ``-o /dev/null`` (as root, ``/dev/sda``) replaced the device by a model, and a
symbolic link was replaced instead of what it points to.

What must hold: links are followed, and what is no regular file is refused by everything that
writes.
"""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from pairdp import Budget, BudgetLedger, PrivateRanker, load
from pairdp._files import write_atomically
from pairdp.studies.journal import Journal, JournalError
from pairdp.studies.report import write_plots, write_report
from tests.attacks.streams import stream
from tests.cli.helpers import BOUNDS, SECRET, refused, run, table, write
from tests.studies.report.synthetic import make_results

posix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and device nodes")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(table())
    Path("bounds.json").write_text(json.dumps(BOUNDS))


@cache
def fitted() -> PrivateRanker:
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    model = PrivateRanker(
        1.0, 1e-4, algorithm="DPGDSC", threshold=0.0, data_norm=1.0, random_state=0
    )
    return model.fit(rng.normal(size=(40, 2)) / 3, y)


WRITERS: dict[str, Callable[[Path], object]] = {
    "a file": lambda path: write_atomically(path, b"content"),
    "a model": lambda path: fitted().save(path),
    "a certificate": lambda path: fitted().certificate_.save(path),
    "a stream": lambda path: stream().pause(path),
    "a ledger": lambda path: BudgetLedger(Budget(1.0), path),
    "results in CSV": lambda path: make_results().to_csv(path),
    "results in JSON": lambda path: make_results().to_json(path),
    "a report": lambda path: write_report(make_results(), path),
}


def pipe(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)  # relative, as names of sockets are short


def directory(path: Path) -> None:
    path.mkdir()


def device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("making a device node needs root")


def link_to_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def link_to_device(path: Path) -> None:
    # Not to a true one such as /dev/null: a mistake would replace it on this machine.
    device(path.with_name("device"))
    path.symlink_to("device")


def links_in_a_circle(path: Path) -> None:
    path.symlink_to(path.name)


NODES = [pipe, unix_socket, directory, device, link_to_pipe, link_to_device, links_in_a_circle]


@posix
@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("writer", WRITERS)
def test_nothing_but_a_regular_file_is_replaced(
    writer: str, node: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "output"
    node(path)
    before, names = os.lstat(path), {entry.name for entry in tmp_path.iterdir()}
    with pytest.raises((OSError, ValueError)):
        WRITERS[writer](path)
    after = os.lstat(path)
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert {entry.name for entry in tmp_path.iterdir()} == names


@posix
@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_the_commands_replace_nothing_but_regular_files(
    node: Callable[[Path], None], force: list[str]
) -> None:
    path = Path("output")
    node(path)
    run("ledger", "new", "ledger.json", "--epsilon", "5")
    before, ledger = os.lstat(path), Path("ledger.json").read_bytes()
    code = 2 if node is directory else 1
    error = run(*SECRET[:-1], "output", "--ledger", "ledger.json", *force, code=code).stderr
    if node in (pipe, device, link_to_pipe, link_to_device, unix_socket):
        assert "not a regular file" in error
    fitted().save("model")
    run("predict", "model", "data.csv", "-o", "output", *force, code=code)
    run("ledger", "new", "output", code=code)
    assert os.lstat(path).st_mode == before.st_mode
    assert os.lstat(path).st_ino == before.st_ino
    assert Path("ledger.json").read_bytes() == ledger


@posix
def test_standard_output_is_not_a_file_to_replace() -> None:
    if not Path("/dev/stdout").exists():
        pytest.skip("there is no /dev/stdout")
    reading, writing = os.pipe()
    try:
        with pytest.raises(OSError, match="a pipe and not a regular file"):
            write_atomically(Path(f"/dev/fd/{writing}"), b"content")
    finally:
        os.close(reading)
        os.close(writing)


@posix
def test_plots_and_journals_replace_nothing_but_regular_files(tmp_path: Path) -> None:
    (path, *_) = write_plots(make_results(), tmp_path / "plots")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file"):
        write_plots(make_results(), tmp_path / "plots")
    assert stat.S_ISFIFO(path.stat().st_mode)
    journal = Journal(tmp_path)
    os.mkfifo(journal.path)
    with pytest.raises(JournalError, match="not a regular file"), journal:
        pass


@posix
@pytest.mark.parametrize("exists", [True, False])
def test_links_are_followed_and_stay_links(exists: bool) -> None:
    Path("far").mkdir()
    target, link = Path("far/model"), Path("model.pairdp")
    link.symlink_to(target)
    if exists:
        target.write_text("old")
        target.chmod(0o640)
        assert "--force" in refused(*SECRET)
        assert target.read_text() == "old"
    run(*SECRET, *["--force"] * exists)
    assert link.is_symlink()
    assert not target.is_symlink()
    load(target)
    assert not exists or stat.S_IMODE(target.stat().st_mode) == 0o640
    scores, scored = Path("scores.csv"), Path("far/scores")
    scores.symlink_to(scored)
    run("predict", "model.pairdp", "data.csv", "-o", "scores.csv")
    assert scores.is_symlink()
    assert scored.read_text().startswith("score,label")
