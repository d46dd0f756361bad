"""Interrupts: Ctrl-C and termination in the middle of any command.

Commands used to end with exit code 1 on Ctrl-C, as for a table that is refused, so that a script
went on as if the data were bad. An interrupt ends with 130 and a termination with 143, wherever it
comes, and leaves no file that is half written.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import pairdp
from pairdp.cli import main as cli
from pairdp.cli.main import main

pytestmark = pytest.mark.slow

COMMANDS = {
    "plan": ["--n", "100", "--features", "2"],
    "fit": ["data.csv", "--label", "y", "--unscaled", "-o", "model"],
    "schema": ["data.csv"],
    "show": ["model"],
    "predict": ["model", "data.csv"],
    "evaluate": ["model", "data.csv", "--epsilon", "1"],
    "calibrate": ["model", "evaluation.json", "-o", "calibrated"],
    "report": ["model", "-o", "report.html"],
    "compare": ["--n", "100"],
    "verify": ["model"],
    "ledger": ["new", "ledger.json"],
    "audit": ["DPGDSC"],
    "study": ["xue2021"],
    "demo": [],
}


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_every_command_is_here() -> None:
    assert set(COMMANDS) == set(cli._COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_an_interrupt_of_a_command_ends_with_130(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = click.Context(main)
    command = main.get_command(context, name)
    assert command is not None
    if isinstance(command, click.Group):
        command = command.commands[COMMANDS[name][0]]
    monkeypatch.setattr(command, "invoke", interrupt)
    result = CliRunner().invoke(main, [name, *COMMANDS[name]])
    assert result.exit_code == 130
    assert "interrupted" in result.stderr
    # While its module is being imported, too.
    monkeypatch.setattr(cli, "import_module", interrupt)
    assert CliRunner().invoke(main, [name, *COMMANDS[name]]).exit_code == 130


STRUCK = """
import os, signal, sys, time
from {module} import {owner}
before = {owner}.{name}
def struck(*args, **options):
    before(*args, **options)
    os.kill(os.getpid(), {signal})
    time.sleep(30)
{owner}.{name} = struck
from pairdp.cli.main import main
main(sys.argv[1:])
"""
PLACES = {
    "running": ("pairdp.algorithms.plan", "Plan", "run"),
    "writing": ("pairdp", "_files", "os.fsync"),
}


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("place", "which", "code"),
    [("running", "SIGINT", 130), ("writing", "SIGINT", 130), ("writing", "SIGTERM", 143)],
)
def test_a_signal_leaves_nothing_half_written(
    place: str, which: str, code: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{a},{i % 2}" for i, a in enumerate(rng.uniform(size=50))]
    (tmp_path / "data.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    (tmp_path / "bounds.json").write_text(json.dumps({"x": [0, 1]}))
    before = {path.name for path in tmp_path.iterdir()}
    module, owner, name = PLACES[place]
    number = int(getattr(signal, which))
    script = STRUCK.format(module=module, owner=owner, name=name, signal=number)
    args = ["fit", "data.csv", "--label", "y", "--bounds", "bounds.json", "-o", "model"]
    ended = subprocess.run(
        [sys.executable, "-c", script, *args, "--algorithm", "DPGDC"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(pairdp.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    assert {path.name for path in tmp_path.iterdir()} == before
