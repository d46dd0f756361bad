"""Every public module of a package is imported, and private ones are not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pairdp._discovery import import_modules


def test_public_modules_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "discovered_package"
    package.mkdir()
    for name in ("__init__", "public", "_private"):
        (package / f"{name}.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    import_modules("discovered_package")
    assert "discovered_package.public" in sys.modules
    assert "discovered_package._private" not in sys.modules
