"""Modules that a command imports only if it uses them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.helpers import BOUNDED, table, write

LOADED = """
import sys
from pairdp.cli.main import main
try:
    main({arguments!r})
except SystemExit as done:
    assert done.code == 0
print("loaded", *sorted({{"pandas", "scipy.stats", "sklearn.metrics"}} & set(sys.modules)))
"""
USED = """
import sys
from pairdp.cli.deferred_imports import deferred
with deferred("wave", "json.tool", "no_such_module"):
    import wave, json.tool
    assert "no_such_module" not in sys.modules
    assert wave.WAVE_FORMAT_PCM == 1  # used: imported
    assert sys.modules["wave"].__file__
assert "json.tool" not in sys.modules
assert wave.open
import json.tool
assert json.tool.main
"""


def _run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.skipif("pyarrow" not in sys.modules, reason="needs pyarrow")
@pytest.mark.parametrize("missing", [False, True])
def test_a_fit_does_not_import_what_it_does_not_use(missing: bool) -> None:
    frame = table()
    if missing:  # as null records
        frame.loc[3, "age"] = None
    write(frame)
    arguments = [*BOUNDED, "--invalid", "null", "--classes", "0,1"]
    assert _run(LOADED.format(arguments=arguments)).splitlines()[-1] == "loaded"
    assert Path("model.pairdp").exists()


def test_a_deferred_module_is_imported_when_it_is_used() -> None:
    _run(USED)
