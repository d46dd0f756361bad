"""Which package imports which; ``python -m tests.import_matrix`` prints the matrix."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "pairdp"

# Lowest first, as in docs/architecture.md. Those on one line do not import each other.
LAYERS = (
    ("_silence", "_coded_cells"),
    (
        "_version",
        "_checks",
        "_files",
        "_sealed",
        "_sums",
        "_roots",
        "_provenance",
        "_reading",
        "_arrow_tables",
        "_discovery",
        "drawing",
    ),
    ("engines", "storage", "tables", "clipping", "label_coding", "unit_limit"),
    ("schema", "gathering"),
    ("privacy.accounting", "privacy.errors"),
    ("privacy.mechanisms",),
    ("privacy.bounds",),
    ("privacy.certificates",),
    ("privacy.ledger",),
    ("privacy",),
    ("ranges", "evaluation"),
    ("constraints",),
    ("score_sums", "records"),
    ("partitioned_records",),
    ("losses",),
    ("pairs", "testing"),
    ("problem",),
    ("pointwise_problem", "design_problem"),
    ("algorithms", "theory"),
    ("diagnostics",),
    ("online", "model_file"),
    ("verification.report",),
    ("verification.certificates",),
    ("verification.models",),
    ("report",),
    ("estimators", "audit"),
    ("selection", "dask"),
    ("verification", "studies"),
    ("comparison", "demo"),
    ("cli",),
    ("__main__",),
)
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
PACKAGES = {name.split(".")[0] for name in HEIGHT}


def layer(module: str) -> str:
    """Return the longest known name that a module is in."""
    parts = module.split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next(name for name in names if name in HEIGHT)


def modules() -> Iterator[tuple[str, Path]]:
    """Yield every module below the package itself, which only says where its names are."""
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            yield name, path


def imported(source: str, *, types: bool = True) -> Iterator[str]:
    """Yield what a module imports, anywhere in it, and what it names in strings.

    A string that is the full name of a module, or begins an f-string with one, counts as an import:
    whatever it is passed to may import it.

    Parameters
    ----------
    source : str
        The module.
    types : bool
        Whether imports for type checkers alone count.
    """
    body = ast.parse(source).body
    body = body if types else _at_run_time(body)
    for node in (inner for outer in body for inner in ast.walk(outer)):
        if isinstance(node, ast.Import):
            yield from (a.name[7:] for a in node.names if a.name.startswith("pairdp."))
        elif isinstance(node, ast.ImportFrom) and node.level:
            raise AssertionError("a relative import")
        elif isinstance(node, ast.ImportFrom) and node.module == "pairdp":
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pairdp."):
            yield from (_home(str(node.module)[7:], alias.name) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = re.fullmatch(r"pairdp\.([\w.]*\w)[.:]?\w*", node.value)
            if named and named[1].split(".")[0] in PACKAGES:
                yield named[1]


def _at_run_time(body: list[ast.stmt]) -> list[ast.stmt]:
    return [
        node
        for node in body
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]


def _home(package: str, name: str) -> str:
    """Return the module that a name is imported from, where its package exports it."""
    place = ROOT / package.replace(".", "/")
    if (place / name).is_dir() or (place / f"{name}.py").exists():
        return f"{package}.{name}"
    stub = place / "__init__.pyi"
    found = stub.exists() and re.search(rf"from \.([\w.]+) import {name} as", stub.read_text())
    return _home(f"{package}.{found[1]}", name) if found else package


def cycle() -> list[str]:
    """Return modules each of which imports the next at run time, the last the first; or none."""
    graph = {
        name: {module for module in imported(path.read_text(), types=False) if module != name}
        for name, path in modules()
    }
    while leaves := {name for name, found in graph.items() if not found & graph.keys()}:
        graph = {name: found for name, found in graph.items() if name not in leaves}
    path: list[str] = []
    while graph:
        name = path[-1] if path else min(graph)
        following = min(graph[name] & graph.keys())
        if following in path:
            return path[path.index(following) :]
        path.append(following)
    return path


def main() -> None:
    """Print how many imports there are from each package (row) to each (column), and its lines."""
    counts: Counter[tuple[str, str]] = Counter()
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for name, path in modules():
        here = layer(name)
        files[here] += 1
        lines[here] += len(path.read_text().splitlines())
        counts.update({(here, layer(module)) for module in imported(path.read_text())})
    names = [name for names in LAYERS for name in names if files[name]]
    print("Modules of the row that import from the column, lowest layer first; its lines")
    print(" " * 32 + "".join(f"{i:4}" for i in range(len(names))))
    for i, here in enumerate(names):
        row = "".join(f"{counts[here, there] or '.':>4}" for there in names)
        print(f"{i:3} {here:28}{row}  {files[here]:4} modules {lines[here]:6} lines")
    upward = sum(n for (a, b), n in counts.items() if a != b and HEIGHT[b] >= HEIGHT[a])
    print(f"a cycle of modules: {' → '.join(cycle()) or 'none'}")
    print(f"{sum(files.values())} modules, {sum(lines.values())} lines, {upward} upward imports")


if __name__ == "__main__":
    main()
