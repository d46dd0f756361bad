"""Fit a private scorecard to the Adult data set, print its AUC, and draw its columns.

Usage: python examples/scorecard_adult.py adult.csv [page.html]
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

from pairdp import PrivateScorecard, evaluate, verify
from pairdp.drawing import write_svg

SCHEMA = Path(__file__).parents[1] / "tests" / "schema" / "files" / "adult.json"
SHOWN = {
    "age": "scorecard-age.svg",
    "marital_status": "scorecard-marital-status.svg",
    "education_num": "scorecard-education-num.svg",
    "hours_per_week": "scorecard-hours-per-week.svg",
}


def columns(path: Path) -> dict[str, dict[str, list[str]]]:
    """Return the columns of both parts of the table, by name."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        part: {name: [row[name] for row in rows if row["part"] == part] for name in rows[0]}
        for part in ("train", "test")
    }


def figures_to_show(model: PrivateScorecard) -> Iterator[tuple[str, str]]:
    """Yield the names of files for the documentation, and their content."""
    for figure in model.figures():
        if figure.title in SHOWN:
            yield SHOWN[figure.title], write_svg(figure)


def main() -> None:
    """Fit, verify, score and draw."""
    parts = columns(Path(sys.argv[1]))
    model = PrivateScorecard(1.0, 1e-6, schema=SCHEMA, random_state=0).fit(parts["train"])
    print(str(verify(model.certificate_)).splitlines()[0])
    print(f"AUC on the test part: {model.score(parts['test']):.4f}")
    print(f"released privately: {evaluate(model, parts['test'], epsilon=1.0, random_state=0)}")
    card = model.table(points_to_double=20, base_points=500)
    shown = card[card["column"].isin(["marital_status", "education_num"])]
    print(shown.round({"points": 0, "noise": 0, "share": 3}).to_string(index=False))
    for name, svg in figures_to_show(model):
        (Path(__file__).parents[1] / "docs" / name).write_text(svg, "utf-8")
    if len(sys.argv) > 2:
        model.write_figures(sys.argv[2])


if __name__ == "__main__":
    main()
