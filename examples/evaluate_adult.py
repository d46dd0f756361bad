"""Fit a private scorecard to the Adult data set, and evaluate it privately on the test part.

Usage: python examples/evaluate_adult.py adult.csv
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from pairdp import PrivateScorecard, evaluate
from pairdp.drawing import write_svg

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "tests" / "schema" / "files" / "adult.json"


def columns(path: Path, part: str) -> dict[str, list[str]]:
    """Return the columns of one part of the table, by name."""
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["part"] == part]
    return {name: [row[name] for row in rows] for name in rows[0]}


def main() -> None:
    """Fit on the training part, evaluate on the test part, and draw the ROC curve."""
    path = Path(sys.argv[1])
    test = columns(path, "test")
    model = PrivateScorecard(1.0, 1e-6, schema=SCHEMA, random_state=0)
    model.fit(columns(path, "train"))
    found = evaluate(model, test, epsilon=0.5, roc=True, random_state=0)
    print(found)
    print(found.at(0.0))
    print(f"AUC without privacy: {model.score(test):.4f}")
    svg = write_svg(found.roc.figure("A scorecard on Adult, evaluated at ε = 0.5"))
    (ROOT / "docs" / "roc-adult.svg").write_text(svg, "utf-8")


if __name__ == "__main__":
    main()
