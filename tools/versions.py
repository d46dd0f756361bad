"""Install a wheel with the lowest and the newest versions of its dependencies, and try it.

``python -m tools.versions dist/pairdp-0.2.0-py3-none-any.whl --pythons python3.11 python3.13``
makes a fresh environment for each Python and each of both, in a temporary directory. The lowest
versions are the lower bounds in pyproject.toml, of the library and of its extras; what these
require in turn is as new as they allow. ``tools/smoke.py`` is run in each environment, and with
``--tests`` some files of tests too.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
EXTRAS = ("dask", "fast", "plot", "river", "tables")
"""Those that users install, but for torch, which is large and of which one version is tried."""


def lowest(extras: tuple[str, ...], python: str) -> Iterator[str]:
    """Yield a constraint ``name==lower bound`` for every requirement, on a version of Python."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    groups = [project["dependencies"], *(project["optional-dependencies"][e] for e in extras)]
    for requirement in map(Requirement, (line for group in groups for line in group)):
        if requirement.marker is None or requirement.marker.evaluate({"python_version": python}):
            bounds = [each.version for each in requirement.specifier if each.operator == ">="]
            yield f"{requirement.name}=={bounds[0]}"


def installed(python: str, folder: Path, wheel: Path, kind: str, extras: tuple[str, ...]) -> Path:
    """Return the Python of a fresh environment that has the wheel and its extras."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    inside = folder / "bin" / "python"
    command = [str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--only-binary", ":all:", f"{wheel.resolve()}[{','.join(extras)}]"]
    if kind == "lowest":
        code = "import sys; print(f'{sys.version_info[0]}.{sys.version_info[1]}')"
        version = subprocess.run([inside, "-c", code], capture_output=True, text=True, check=True)
        constraints = folder / "lowest.txt"
        constraints.write_text("\n".join(lowest(extras, version.stdout.strip())) + "\n", "utf-8")
        command += ["--constraint", str(constraints)]
    subprocess.run(command, check=True)
    return inside


def main() -> int:
    """Install and try all combinations; return 1 if one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--pythons", nargs="+", default=[sys.executable])
    parser.add_argument("--kinds", nargs="+", default=["lowest", "newest"])
    parser.add_argument("--tests", nargs="*", default=[], help="files of tests to run as well")
    given = parser.parse_args()
    extras = (*EXTRAS, "test") if given.tests else EXTRAS
    failed = 0
    for python in given.pythons:
        for kind in given.kinds:
            with tempfile.TemporaryDirectory() as folder:
                began = time.monotonic()
                try:
                    inside = installed(python, Path(folder), given.wheel, kind, extras)
                    _try(inside, given.tests)
                    result = "ok"
                except subprocess.CalledProcessError as error:
                    result, failed = f"FAILED: {' '.join(map(str, error.cmd))[-200:]}", 1
            print(f"{python} {kind}: {result} ({time.monotonic() - began:.0f} s)", flush=True)
    return failed


def _try(python: Path, tests: list[str]) -> None:
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as elsewhere:  # the wheel is tried, not the sources
        smoke = ROOT / "tools" / "smoke.py"
        subprocess.run([python, str(smoke)], check=True, cwd=elsewhere, env=settings)
    if tests:
        command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
        subprocess.run([*command, *tests], check=True, cwd=ROOT, env=settings)


if __name__ == "__main__":
    sys.exit(main())
