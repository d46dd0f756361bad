"""Imports go one way: drawing, then the report of studies, then running studies."""

from __future__ import annotations

import ast
from importlib.resources import files

import pytest


def imported(package: str) -> set[str]:
    """Return what the modules of a package import from the library, inside functions too."""
    trees = [
        ast.parse(path.read_text("utf-8"))
        for path in files(package).iterdir()
        if path.name.endswith(".py")
    ]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    names |= {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
    return {name for name in names if name.startswith("pairdp")}


@pytest.mark.parametrize(
    ("package", "below"),
    [
        ("pairdp.drawing", ()),
        ("pairdp.studies.report", ("pairdp.drawing", "pairdp.studies.results")),
        ("pairdp.studies.data", ()),
    ],
)
def test_imports_go_one_way(package: str, below: tuple[str, ...]) -> None:
    found = imported(package)
    assert found
    assert all(name.startswith((package, "pairdp._", *below)) for name in found)
