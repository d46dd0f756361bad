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
unused = {{
    "asyncio", "narwhals", "numpy.f2py", "numpy.testing", "pandas", "scipy.interpolate",
    "scipy.optimize", "scipy.stats", "sklearn.metrics", "sklearn.pipeline",
}}
print("loaded", *sorted(unused & set(sys.modules)))
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
PACKAGE = """
import sys
from pairdp.cli.deferred_imports import deferred
names = "xml", "xml.dom", "xml.dom.minidom"
{before}
with deferred(*names):
    import xml.dom.minidom as first
    {during}
assert not {{*names}} & {{*sys.modules}} or {used}
import xml.dom.minidom as second
assert second.parseString is first.parseString
assert sys.modules["xml"].dom.minidom is second
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


@pytest.mark.skipif("pyarrow" not in sys.modules, reason="needs pyarrow")
@pytest.mark.parametrize("options", [[], ["--invalid", "null"]])
def test_predictions_do_not_import_what_they_do_not_use(options: list[str]) -> None:
    write(table())
    _run(LOADED.format(arguments=[*BOUNDED, "--classes", "0,1"]))
    arguments = ["predict", "model.pairdp", "data.csv", *options, "-o", "scores.csv"]
    assert _run(LOADED.format(arguments=arguments)).splitlines()[-1] == "loaded"
    assert Path("scores.csv").exists()


@pytest.mark.parametrize(
    ("before", "during"), [("", ""), ("", "first.parseString"), ("import xml.dom", "")]
)
def test_a_package_and_its_modules_are_deferred_together(before: str, during: str) -> None:
    _run(PACKAGE.format(before=before, during=during, used=bool(before or during)))


def test_modules_are_imported_without_looking_for_garbage() -> None:
    code = "import gc\nfrom pairdp.cli.main import main\nmain.get_command(None, 'plan')\n"
    _run(code + "assert gc.isenabled() and gc.get_freeze_count() > 10_000")


def test_a_deferred_module_is_imported_when_it_is_used() -> None:
    _run(USED)
