"""Time and modules of ``import pairdp`` and of a plain fit, in new interpreters."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

ROUNDS = 7
SKLEARN = "import numpy, sklearn.base, sklearn.pipeline"
IMPORT = "import pairdp"
FIT = """
import pairdp
X = [[0.1 * i, 1 - 0.1 * i] for i in range(20)]
pairdp.PrivateRanker(epsilon=1, data_norm=1.0).fit(X, [0, 1] * 10)
"""
COUNT = """
import sys
print(sum(name.partition(".")[0] == "pairdp" for name in sys.modules), len(sys.modules))
"""


def seconds(code: str) -> float:
    """Return the wall time of a new interpreter that runs ``code``."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def modules(code: str) -> tuple[int, int]:
    """Return how many modules of pairdp, and of all libraries, a new interpreter has loaded."""
    command = [sys.executable, "-c", code + COUNT]
    own, every = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(own), int(every)


def main() -> None:
    """Print times beside that of importing scikit-learn, and numbers of modules."""
    codes = {"sklearn": SKLEARN, "import pairdp": IMPORT, "import and fit": FIT}
    counts = {name: modules(code) for name, code in codes.items()}  # and fill the file cache
    # Interleaved, so that other load on the machine affects all of them.
    times: dict[str, list[float]] = {name: [] for name in ("bare", *codes)}
    for _ in range(ROUNDS):
        for name in times:
            times[name].append(seconds(codes.get(name, "pass")))
    middle = {name: statistics.median(values) for name, values in times.items()}
    base = middle["sklearn"] - middle["bare"]
    print(f"New interpreters, median of {ROUNDS} interleaved rounds, less an empty one")
    for name, (own, every) in counts.items():
        taken = middle[name] - middle["bare"]
        print(
            f"  {name:15} {taken:6.3f} s  {taken / base:5.2f}x sklearn   "
            f"{own:4} modules of pairdp, {every:5} in all"
        )


if __name__ == "__main__":
    main()
