"""The tables, the methods and the comparisons of ``python -m benchmarks utility``."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.__main__ import main as run_benchmarks
from benchmarks.utility import main
from benchmarks.utility.families import TUNED_ON
from benchmarks.utility.held_out import HELD_OUT
from benchmarks.utility.methods import METHODS
from benchmarks.utility.results import differences

FAMILIES = {**TUNED_ON, **HELD_OUT}


def test_no_family_is_both_tuned_on_and_held_out() -> None:
    assert not TUNED_ON.keys() & HELD_OUT.keys()


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_has_the_share_of_positives_that_it_says_and_fits_its_schema(name: str) -> None:
    family = FAMILIES[name]
    split = family.split(name, 1000, 0)
    assert abs(split.labels[1].mean() - family.rate) < 0.05
    assert family.summary.endswith(".")
    for count in split.schema.outside({c: split.train[c] for c in split.schema.features}).values():
        assert count.unknown == 0
    rows, _ = split.rows
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-9
    again = family.split(name, 1000, 0)
    assert np.array_equal(rows, again.rows[0])


@pytest.mark.parametrize("name", ["DPEBM", "DP-GD logistic", "AdaSSP"])
def test_a_private_peer_learns_when_the_budget_is_large(name: str) -> None:
    if name == "DPEBM":
        pytest.importorskip("interpret", reason="make test-peers installs interpret-core")
    split = TUNED_ON["linear"].split("linear", 20_000, 0)
    positive = split.labels[1]
    scores = METHODS[name].scores(split, 8.0, 0)
    assert np.corrcoef(scores, positive)[0, 1] > 0.35


def test_differences_are_paired_by_seed() -> None:
    rows = [
        {"part": "p", "table": "t", "n": 9, "epsilon": 1.0, "seed": s, "method": m, "auc": auc}
        for s, m, auc in [(0, "a", 0.9), (0, "b", 0.7), (1, "a", 0.5), (2, "b", 0.1)]
    ]
    ((key, found),) = differences(rows, "a", "b").items()
    assert key == ("p", "t", 9, 1.0)
    assert np.allclose(found, [0.2])


def test_a_run_prints_tables_and_summary(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--sizes", "300", "--epsilons", "1", "8", "--seeds", "2", "--jobs", "1"]
    main(["--families", "skewed", "--methods", "scorecard", "AdaSSP", *small])
    text = capsys.readouterr().out
    assert "skewed (tuned on): n = 300, 10 columns" in text
    assert "better / worse by two standard errors" in text


def test_options_go_to_one_benchmark_that_has_some(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_benchmarks(["timing"]) == 2
    assert run_benchmarks(["noise_speed", "--quick"]) == 2
    assert run_benchmarks(["--quick"]) == 2
    assert "options need the name of one benchmark" in capsys.readouterr().err
