"""AUC of all private models beside other private methods and models without privacy.

Tables are read through schemas: adult and german, synthetic families that constants were tuned on
(`families`), others that they were not (`held_out`) and, with ``--report``, the data sets of the
papers, which are for reports only. With ``interpret-core`` installed, DPEBM is measured in the same
run. A run of all parts ends with the tables of `benchmarks.utility_metrics`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    from benchmarks.utility.methods import METHODS
    from benchmarks.utility.runs import EPSILONS, FAMILIES

    parser = argparse.ArgumentParser("python -m benchmarks utility", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few tables, sizes, ε and seeds")
    parser.add_argument("--report", action="store_true", help="the papers' data sets too")
    names = [name for families in FAMILIES.values() for name in families]
    parser.add_argument("--families", nargs="+", choices=names, metavar="NAME",
                        default=[], help="only these")  # fmt: skip
    parser.add_argument("--parts", nargs="+", metavar="PART",
                        choices=["mixed", *FAMILIES, "papers"], help="only these")  # fmt: skip
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="NAME", help="only these")
    parser.add_argument("--sizes", nargs="+", type=int, metavar="N", help="n of the families")
    parser.add_argument("--epsilons", nargs="+", type=float, metavar="ε", help=f"{EPSILONS}")
    parser.add_argument("--seeds", type=int, metavar="K", help="seeds of tables and noise")
    parser.add_argument("--jobs", type=int, default=2, metavar="K", help="processes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="results, one object a line")
    parser.add_argument("--reuse", type=Path, nargs="+", default=[], metavar="FILE",
                        help="results of earlier runs, which are not measured again")  # fmt: skip
    return parser


def main(arguments: Sequence[str] = ()) -> None:
    """Measure, and print tables and the summary."""
    from tests.studies.data.places import DATA

    from benchmarks import utility_metrics
    from benchmarks.utility.methods import available
    from benchmarks.utility.report import print_report
    from benchmarks.utility.results import read
    from benchmarks.utility.runs import EPSILONS, FAMILIES, MIXED, cells, run
    from benchmarks.utility.tables import DELTA

    given = _parser().parse_args(arguments)
    quick = given.quick
    parts = given.parts or ["mixed", *FAMILIES]
    if given.report and "papers" not in parts:
        parts.append("papers")
    if given.families:
        parts = [part for part in parts if part in FAMILIES]
    sizes = given.sizes or ((2000,) if quick else (500, 2000, 5000, 20_000))
    epsilons = given.epsilons or ((1.0, 4.0) if quick else EPSILONS)
    seeds = given.seeds or (2 if quick else 4)
    found = list(cells(parts, given.families, sizes, seeds))
    if quick and not given.sizes:
        found = [cell for cell in found if cell.n <= 5000]
    methods = available(given.methods)
    for name in MIXED:
        if not (DATA / f"{name}.csv").is_file():
            print(f"{name}: skipped, there is no {name}.csv in {DATA}")
    if "DPEBM" not in methods and not given.methods:
        print("DPEBM: skipped, interpret-core is not installed")
    known = [row for path in given.reuse for row in read(path)]
    rows = run(found, list(methods), epsilons, known=known, path=given.json, jobs=given.jobs)
    print(
        f"AUC on other records, mean ± standard error over seeds; δ = {DELTA:g} for every n.\n"
        "Guarantees are for replacing a record; DPEBM's, for adding or removing one, is weaker.\n"
    )
    print_report(rows, epsilons)
    if given.report or not (quick or given.families or given.parts or given.methods):
        print()
        utility_metrics.main(["--families", "--mixed", *(["--medical"] if given.report else [])])


if __name__ == "__main__":
    main()
