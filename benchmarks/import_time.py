"""Time of ``import pairdp``, compared with ``import sklearn.base``, in new interpreters."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

ROUNDS = 7


def seconds(code: str) -> float:
    """Return the wall time of a new interpreter that runs ``code``."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def main() -> None:
    """Print the times and the ratio of an import on top of scikit-learn to scikit-learn's."""
    codes = {
        "bare": "pass",
        "base": "import sklearn.base",
        "both": "import sklearn.base, pairdp",
        "only": "import pairdp",
    }
    seconds(codes["both"])  # fill the file cache
    # Interleaved, so that other load on the machine affects all of them.
    times: dict[str, list[float]] = {name: [] for name in codes}
    for _ in range(ROUNDS):
        for name, code in codes.items():
            times[name].append(seconds(code))
    middle = {name: statistics.median(values) for name, values in times.items()}
    base, both = middle["base"] - middle["bare"], middle["both"] - middle["bare"]
    only = middle["only"] - middle["bare"]
    print(f"Import time, median of {ROUNDS} interleaved rounds")
    print(f"  import sklearn.base           {base:6.3f} s")
    print(
        f"  import sklearn.base, pairdp   {both:6.3f} s   {both / base:5.2f}x, {both - base:+.3f} s"
    )
    print(f"  import pairdp                 {only:6.3f} s   {only / base:5.2f}x")


if __name__ == "__main__":
    main()
