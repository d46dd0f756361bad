"""Modules of a package are imported for what they register, and only as many as needed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pairdp._discovery import find_registered, import_modules

PACKAGE = "discovered_package"
REGISTERS = "from discovered_registry import REGISTRY\nREGISTRY[__name__] = 1\n"
MODULES = {
    "__init__": "",
    "_private": REGISTERS,
    "first": REGISTERS,
    "needs_an_extra": "import no_such_library\n",
    "second": REGISTERS,
}


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    (tmp_path / PACKAGE).mkdir()
    for name, code in MODULES.items():
        (tmp_path / PACKAGE / f"{name}.py").write_text(code)
    (tmp_path / "discovered_registry.py").write_text("REGISTRY = {}\n")
    monkeypatch.syspath_prepend(tmp_path)
    import discovered_registry  # type: ignore[import-not-found]

    yield discovered_registry.REGISTRY
    for module in [name for name in sys.modules if name.startswith("discovered_")]:
        del sys.modules[module]


def test_public_modules_are_imported_unless_a_library_is_missing(registry: dict[str, int]) -> None:
    import_modules(PACKAGE)
    assert set(registry) == {f"{PACKAGE}.first", f"{PACKAGE}.second"}


def test_modules_are_imported_until_the_name_is_known(registry: dict[str, int]) -> None:
    assert find_registered(registry, f"{PACKAGE}.first", PACKAGE) == 1
    assert set(registry) == {f"{PACKAGE}.first"}


def test_what_a_package_exports_is_found_first(registry: dict[str, int], tmp_path: Path) -> None:
    export = f"def __getattr__(name):\n    import {PACKAGE}.second\n"
    (tmp_path / PACKAGE / "__init__.py").write_text(export)
    assert find_registered(registry, f"{PACKAGE}.second", PACKAGE) == 1
    assert set(registry) == {f"{PACKAGE}.second"}


def test_an_unknown_name_is_not_found(registry: dict[str, int]) -> None:
    assert find_registered(registry, "nowhere", PACKAGE) is None


def test_an_error_inside_the_package_is_raised(registry: dict[str, int], tmp_path: Path) -> None:
    (tmp_path / PACKAGE / "second.py").write_text(f"import {PACKAGE}.missing\n")
    with pytest.raises(ModuleNotFoundError, match="missing"):
        import_modules(PACKAGE)
