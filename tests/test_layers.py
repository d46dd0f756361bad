"""Imports point downwards only, at the top of modules and inside functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "pairdp"

# Lowest first, as in docs/architecture.md. Those on one line do not import each other.
LAYERS = (
    (
        "_version",
        "_checks",
        "_files",
        "_sealed",
        "_sums",
        "_provenance",
        "_reading",
        "_discovery",
        "drawing",
    ),
    ("storage", "tables", "clipping", "label_coding"),
    ("privacy.accounting", "privacy.errors"),
    ("privacy.mechanisms",),
    ("privacy.bounds",),
    ("privacy.certificates",),
    ("privacy.ledger",),
    ("privacy",),
    ("constraints",),
    ("score_sums", "records"),
    ("losses",),
    ("pairs", "testing"),
    ("problem",),
    ("pointwise_problem",),
    ("algorithms",),
    ("online", "model_file"),
    ("estimators", "audit"),
    ("verification", "studies"),
    ("demo",),
    ("cli",),
)
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}


def layer(module: str) -> str:
    """Return the longest known name that a module is in."""
    parts = module.split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next(name for name in names if name in HEIGHT)


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:  # the package itself only says where its names are
            yield name, path


def exported(stub: Path) -> Iterator[str]:
    """Yield the modules from which a package exports names, which are its own."""
    for node in ast.parse(stub.read_text()).body:
        assert isinstance(node, ast.ImportFrom), f"{stub} has more than exports"
        assert node.level == 1, f"{stub} exports names of another package"
        yield from [node.module] if node.module else [alias.name for alias in node.names]


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (a.name[7:] for a in node.names if a.name.startswith("pairdp."))
        elif isinstance(node, ast.ImportFrom) and node.level:
            raise AssertionError(f"{path} has a relative import")
        elif isinstance(node, ast.ImportFrom) and node.module == "pairdp":
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pairdp."):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"[7:]
                is_module = (ROOT / inner.replace(".", "/")).exists() or (
                    ROOT / (inner.replace(".", "/") + ".py")
                ).exists()
                yield inner if is_module else str(node.module)[7:]


@pytest.mark.parametrize(("name", "path"), list(modules()), ids=lambda value: str(value)[-40:])
def test_imports_point_downwards(name: str, path: Path) -> None:
    here = layer(name)
    for module in imported(path):
        there = layer(module)
        assert there == here or HEIGHT[there] < HEIGHT[here], f"{name} imports {module}"


@pytest.mark.parametrize(
    "stub", sorted(ROOT.rglob("__init__.pyi")), ids=lambda path: path.parent.name
)
def test_packages_export_names_of_their_own_modules(stub: Path) -> None:
    for module in exported(stub):
        place = stub.parent / module.replace(".", "/")
        assert place.with_suffix(".py").exists() or (place / "__init__.pyi").exists()


def test_every_package_has_its_layer() -> None:
    packages = {name.split(".")[0] for name, _ in modules()}
    assert packages <= {name.split(".")[0] for name in HEIGHT}
