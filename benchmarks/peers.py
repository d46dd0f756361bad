"""Which features other libraries for private or metric learning have, by names in their sources.

``pip install --no-deps --target peers diffprivlib opacus opendp interpret-core metric-learn
jax-privacy`` and ``python -m benchmarks peers --folder peers`` print, for every library, its
version and the public classes, functions and parameters whose names match a feature. Nothing of it
is run, so that their dependencies are not needed. A feature under another name is missed, and a
name says nothing about quality.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

PEERS = {
    "diffprivlib": "diffprivlib",
    "opacus": "opacus",
    "opendp": "opendp",
    "interpret-core": "interpret/glassbox",
    "metric-learn": "metric_learn",
    "jax-privacy": "jax_privacy",
}
FEATURES = {
    "pairwise or ranking losses, AUC": r"pairwise(?!_dist)|ranking(?!s)|ranker|(^|_)auc(_|$)|AUC",
    "Mahalanobis metrics": r"mahalanobis",
    "scikit-learn estimators": r"(?i)(classifier|regressor|regression|transformer|scaler|pca|nca)$",
    "networks": r"(?i)per_?sample_?grad|clipped_?(value_and_)?grad|GradSampleModule",
    "accountants or ledgers": r"(?i)account|odometer|ledger|(^|_)filter$",
    "exact or secure noise": r"(?i)^(make_)?(discrete_?)?(gauss|laplace|geometric|snapping)|secure",
    "private evaluation": r"(?i)evaluat|(^|_)roc(_|$)|auc",
    "certificates that others verify": r"(?i)certificat|verif",
    "audits": r"(?i)audit|attack|canar",
    "schemas of mixed tables": r"(?i)schema|one_?hot|categor",
    "reports": r"(?i)report(?!_noisy)|model_?card",
}


def public_names(folder: Path) -> Iterator[str]:
    """Yield names of public classes and functions, and of parameters, in a package."""
    for path in sorted(folder.rglob("*.py")):
        if re.search(r"test", str(path.relative_to(folder))) or path.name.startswith("conftest"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                yield node.name
            if isinstance(node, ast.arg):
                yield node.arg


def main(options: list[str] | None = None) -> None:
    """Print versions, and for each feature up to four names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks peers", description=__doc__)
    parser.add_argument("--folder", type=Path, help="where the libraries were installed")
    target = parser.parse_args(options or []).folder
    if target is None:
        print("peers needs --folder, a directory with the libraries: see its --help")
        return
    versions = {
        found.metadata["Name"].lower().replace("_", "-"): found.version
        for found in distributions(path=[str(target)])
    }
    for name, folder in PEERS.items():
        names = sorted(set(public_names(target / folder)))
        print(f"{name} {versions[name]}: {len(names)} public names")
        for feature, pattern in FEATURES.items():
            found = [each for each in names if re.search(pattern, each)]
            print(f"  {feature:34s} {len(found):3d}  {', '.join(found[:4])}")
