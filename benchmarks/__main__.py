"""Run every benchmark: ``make bench``, or ``python -m benchmarks [name ...]``."""

from __future__ import annotations

import sys

from benchmarks import (
    algorithms,
    auto_metric,
    auto_ranking,
    calibration,
    import_time,
    metric,
    moments,
    noise,
    online,
    ranking,
    stochastic,
)

BENCHMARKS = {
    "import": import_time.main,
    "calibration": calibration.main,
    "noise": noise.main,
    "ranking": ranking.main,
    "metric": metric.main,
    "algorithms": algorithms.main,
    "moments": moments.main,
    "stochastic": stochastic.main,
    "online": online.main,
    "auto": auto_ranking.main,
    "auto-metric": auto_metric.main,
}


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all of them."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}; known: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        BENCHMARKS[name]()
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
