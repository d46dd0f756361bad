"""Run benchmarks: ``python -m benchmarks NAME ...``, or all of them without a name.

``python -m benchmarks --list`` says what each of them prints. Options after a single name are
passed to that benchmark: ``python -m benchmarks utility --quick``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from inspect import signature
from itertools import takewhile
from pkgutil import iter_modules

import benchmarks

_PARTS = ("__main__", "opacus_peer", "timing")
NAMES = [m.name for m in iter_modules(benchmarks.__path__) if m.name not in _PARTS]


def main(arguments: list[str]) -> int:
    """Run the named benchmarks, or all of them."""
    if arguments == ["--list"]:
        for name in NAMES:
            summary = (import_module(f"benchmarks.{name}").__doc__ or "").splitlines()[0]
            print(f"{name:20s} {summary}")
        return 0
    names = list(takewhile(lambda argument: not argument.startswith("-"), arguments))
    options = arguments[len(names) :]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}; known: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    if options:
        run = import_module(f"benchmarks.{names[0]}").main if len(names) == 1 else main
        if run is main or not signature(run).parameters:
            print("options need the name of one benchmark that has some", file=sys.stderr)
            return 2
        run(options)
        return 0
    for name in names or NAMES:
        import_module(f"benchmarks.{name}").main()
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
