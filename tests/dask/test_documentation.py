"""The examples and commands of the page on scale, which need Dask."""

from __future__ import annotations

import doctest
import json
import shlex
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.documentation.pages import DASK, ROOT, blocks

PAGE = ROOT / DASK


@pytest.mark.filterwarnings("ignore")  # of Dask's own
def test_examples_of_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("```", "")
    examples = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples)
    assert results.attempted > 10
    assert results.failed == 0


@pytest.mark.filterwarnings("ignore")
def test_commands_of_the_page_start_a_cluster(tmp_path: Path) -> None:
    """Start the scheduler on a free port, and a worker of it."""
    from distributed import Client

    shells = [block for block in blocks(PAGE) if block.language == "shell"]
    scheduler, worker = (command for block in shells for command in block.commands)
    file = tmp_path / "scheduler.json"
    free = f" --port 0 --no-dashboard --scheduler-file {file}"
    with ExitStack() as running:

        def start(command: str) -> None:
            words = [sys.executable, "-m", *shlex.split(command)]
            process = subprocess.Popen(
                words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            running.callback(process.wait)
            running.callback(process.terminate)

        start(scheduler + free)
        end = time.monotonic() + 60
        while not file.exists() and time.monotonic() < end:
            time.sleep(0.1)
        address = json.loads(file.read_text(encoding="utf-8"))["address"]
        start(worker.replace("tcp://SCHEDULER:8786", address))
        with Client(address, timeout=60) as client:
            client.wait_for_workers(1, timeout=60)
            assert client.submit(sum, [1, 2]).result(timeout=60) == 3
            assert list(client.nthreads().values()) == [1]
