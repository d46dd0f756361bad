"""Check what the wheel and the sdist contain; ``python -m tools.distribution dist``."""

from __future__ import annotations

import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "pairdp"
IN_SDIST = (
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "LICENSE", "Makefile",
    "pyproject.toml", "PKG-INFO", "src/pairdp/py.typed", "tests/test_package.py", "tools/smoke.py",
    "docs/privacy.md", "examples/tutorials/plot_hospital.py", "requirements-dev.lock",
)  # fmt: skip


def wheel_faults(names: list[str]) -> list[str]:
    """Return what is wrong with the names of a wheel's files."""
    sources = {
        str(path.relative_to(PACKAGE.parent))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    licences = ("LICENSE", "src/pairdp/studies/data/files/ATTRIBUTION.md")
    found = [f"missing: {name}" for name in sorted(sources - set(names))]
    found += [
        f"missing: {licence}"
        for licence in licences
        if not any(name.endswith(f".dist-info/licenses/{licence}") for name in names)
    ]
    others = (name for name in names if name not in sources and ".dist-info/" not in name)
    return found + [f"not part of the package: {name}" for name in others]


def sdist_faults(names: list[str]) -> list[str]:
    """Return what is wrong with the names of an sdist's files."""
    inside = {name.partition("/")[2] for name in names}
    found = [f"missing: {name}" for name in IN_SDIST if name not in inside]
    waste = ("__pycache__", ".venv", ".git/", "dist/", "pairdp-demo")
    return found + [f"waste: {name}" for name in names if any(word in name for word in waste)]


def main() -> int:
    """Print faults and sizes; return 1 if there is a fault."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "dist")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["name"]
    faults: list[str] = []
    for wheel in folder.glob(f"{project}-*.whl"):
        with zipfile.ZipFile(wheel) as file:
            names = file.namelist()
        print(f"{wheel.name}: {len(names)} files, {wheel.stat().st_size / 1e6:.2f} MB")
        faults += wheel_faults(names)
    for sdist in folder.glob(f"{project}-*.tar.gz"):
        with tarfile.open(sdist) as archive:
            names = archive.getnames()
        print(f"{sdist.name}: {len(names)} files, {sdist.stat().st_size / 1e6:.2f} MB")
        faults += sdist_faults(names)
    for fault in faults:
        print(fault)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
