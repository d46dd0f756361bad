"""Imports point downwards only: at the top of modules, inside functions, and by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import import_matrix
from tests.import_matrix import HEIGHT, PACKAGES, ROOT, cycle, imported, layer, modules


def upward(name: str, source: str) -> list[str]:
    """Return what a module imports from its own height or above, other than its own package."""
    here = layer(name)
    return [
        module
        for module in imported(source)
        if layer(module) != here and HEIGHT[layer(module)] >= HEIGHT[here]
    ]


def test_imports_point_downwards() -> None:
    found = {name: upward(name, path.read_text()) for name, path in modules()}
    assert not {name: above for name, above in found.items() if above}


@pytest.mark.parametrize(
    "source",
    [
        "from pairdp.estimators import PrivateRanker",
        "import pairdp.estimators.ranker",
        "from pairdp import estimators",
        "def f():\n    from pairdp.estimators.base import PrivateEstimator",
        "if TYPE_CHECKING:\n    from pairdp.estimators import PrivateRanker",
        "import_module('pairdp.estimators')",
        "def f(name):\n    return import_module(f'pairdp.estimators.{name}')",
        "PLACES = {'ranker': 'pairdp.estimators.ranker:PrivateRanker'}",
    ],
)
def test_every_kind_of_upward_import_is_found(source: str) -> None:
    assert upward("losses.registry", source)
    assert not upward("cli.common", source)


def test_names_in_prose_are_no_imports() -> None:
    assert not upward("losses.base", '"""See pairdp.estimators."""\nraise E("use pairdp.load")')


def exported(stub: Path) -> Iterator[str]:
    """Yield the modules from which a package exports names, which are its own."""
    for node in ast.parse(stub.read_text()).body:
        assert isinstance(node, ast.ImportFrom), f"{stub} has more than exports"
        assert node.level == 1, f"{stub} exports names of another package"
        yield from [node.module] if node.module else [alias.name for alias in node.names]


@pytest.mark.parametrize(
    "stub", sorted(ROOT.rglob("__init__.pyi")), ids=lambda path: path.parent.name
)
def test_packages_export_names_of_their_own_modules(stub: Path) -> None:
    for module in exported(stub):
        place = stub.parent / module.replace(".", "/")
        assert place.with_suffix(".py").exists() or (place / "__init__.pyi").exists()


def test_every_package_has_its_layer() -> None:
    packages = {name.split(".")[0] for name, _ in modules()}
    assert packages <= PACKAGES


def test_no_modules_import_each_other() -> None:
    """Within a package too, at the top or inside functions, but for types alone."""
    assert cycle() == []


def test_a_cycle_within_a_package_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "losses").mkdir()
    (tmp_path / "losses" / "one.py").write_text("from pairdp.losses.two import x")
    (tmp_path / "losses" / "two.py").write_text("def f():\n    import pairdp.losses.one")
    (tmp_path / "losses" / "three.py").write_text("from pairdp.losses import one")
    monkeypatch.setattr(import_matrix, "ROOT", tmp_path)
    assert set(cycle()) == {"losses.one", "losses.two"}
