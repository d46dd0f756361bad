"""Print line and branch coverage by package, from the JSON that ``make coverage`` writes."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

COUNTS = ("covered_lines", "num_statements", "covered_branches", "num_branches")


def package_of(file: str) -> str:
    """Return the package of a module; the subpackages of `privacy` are told apart."""
    parts = Path(file).parts
    inner = parts[parts.index("pairdp") + 1 :]
    return "/".join(inner[: 2 if inner[0] == "privacy" and len(inner) > 2 else 1])


def per_cent(covered: int, total: int) -> float:
    return 100 * covered / total if total else 100.0


def main(path: str) -> None:
    """Print the table."""
    packages: dict[str, Counter[str]] = {}
    for file, found in json.loads(Path(path).read_text())["files"].items():
        if "pairdp" not in Path(file).parts:
            continue  # a module that a test wrote
        counts = packages.setdefault(package_of(file), Counter())
        counts.update({name: found["summary"][name] for name in COUNTS})
    packages["total"] = sum(packages.values(), Counter())
    print(f"{'':<24}{'lines':>8}{'branches':>10}{'of':>7}")
    for name, counts in packages.items():
        lines, statements, branches, all_branches = (counts[count] for count in COUNTS)
        print(
            f"{name:<24}{per_cent(lines, statements):7.1f}%"
            f"{per_cent(branches, all_branches):9.1f}%{all_branches:7}"
        )


if __name__ == "__main__":
    main(sys.argv[1])
