"""The names of algorithms: found when they are asked for, and taken once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pairdp.algorithms import GradientDescent, algorithms, find_algorithm, register_algorithm


def fresh(code: str) -> list[str]:
    """Return what code prints in a process that has imported nothing yet."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_name_loads_its_module_and_no_streams() -> None:
    loaded = fresh(
        "import sys\n"
        "from pairdp.algorithms import find_algorithm\n"
        "find_algorithm('DPEGD')\n"
        "print(*sys.modules)"
    )
    assert "pairdp.algorithms.epoch_descent" in loaded
    assert "pairdp.online" not in loaded


def test_streams_are_found_by_name_before_anything_is_imported() -> None:
    found = fresh(
        "from pairdp.algorithms import find_algorithm\n"
        "print(find_algorithm('OnPairC').noise)\n"
        "from pairdp.algorithms import algorithms\n"
        "print(*algorithms('stream'))"
    )
    assert found[0] == "models"
    assert {"OnPairStrC", "OnPairC", "OnPairGradient"} <= set(found[1:])


@pytest.mark.slow
def test_packages_of_algorithms_are_searched() -> None:
    for code in ("find_algorithm('scorecard').name", "*algorithms()"):
        found = fresh(f"from pairdp.algorithms import *\nprint({code})")
        assert {"scorecard", "Scorecard"} & set(found)


@pytest.mark.parametrize("name", ["moments", "OnPairC"])
def test_no_other_algorithm_takes_a_name_of_the_library(name: str) -> None:
    (said,) = fresh(
        "from pairdp.algorithms import GradientDescent, register_algorithm\n"
        "class Mine(GradientDescent): pass\n"
        f"try: register_algorithm({name!r}, Mine())\n"
        "except ValueError: print('refused')"
    )
    assert said == "refused"


def test_names_are_listed_in_order_and_found() -> None:
    names = list(algorithms())
    assert names == sorted(names)
    assert all(find_algorithm(name) is algorithms()[name] for name in names)


@pytest.mark.parametrize("name", ["auto", "DPGDSC"])
def test_a_taken_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="already registered"):
        register_algorithm(name, GradientDescent(steps=7))
