"""The summary's arithmetic, on cells made by hand."""

from __future__ import annotations

import pytest

from pairdp.studies.learning import EUCLID
from pairdp.studies.papers.xue2021.tables import STRONG
from pairdp.studies.readings import LARGEST_NORM
from pairdp.studies.results import Cell, Results
from pairdp.studies.summary import compare, summary


def cell(series: str, kind: str, mean: float, half: float = 0.0, **more: object) -> Cell:
    values: dict[str, object] = {
        "study": "xue2021", "exhibit": "Table 4", "panel": "diabetes", "measure": "AUC",
        "series": series, "kind": kind, "protocol": "" if kind == "paper" else "honest",
        "x_name": "ε", "x": 1.0, "mean": mean, "low": mean - half, "high": mean + half,
        "runs": 0 if kind == "paper" else 20, "certificate": "proved" if series == "auto" else "",
    }  # fmt: skip
    return Cell(**{**values, **more})  # type: ignore[arg-type]


def results(*cells: Cell) -> Results:
    certificates = {
        "proved": {"claim_is_proved": True},
        "false": {"claim_is_proved": False},
    }
    return Results("t", cells, (), certificates, {})


PAPER = (cell("DPGDSC", "paper", 0.60), cell("DPEGD", "paper", 0.65), cell(STRONG, "paper", 0.9))
ACCURACY = {"measure": "accuracy", "exhibit": "Table 2"}


def test_the_best_private_figure_is_what_counts() -> None:
    (found,) = compare(results(*PAPER, cell("auto", "certified", 0.71, 0.01)))
    assert found.best.series == "DPEGD"
    assert found.gain == pytest.approx(0.06)
    assert found.wins
    assert found.on_target


@pytest.mark.parametrize(
    ("mean", "wins", "on_target"),
    [(0.64, False, False), (0.66, True, False), (0.699, True, False), (0.701, True, True)],
)
def test_auc_must_be_better_by_the_margin(mean: float, wins: bool, on_target: bool) -> None:
    # A wide interval does not help.
    (found,) = compare(results(*PAPER, cell("auto", "certified", mean, 0.2)))
    assert (found.wins, found.on_target) == (wins, on_target)


@pytest.mark.parametrize(("half", "on_target"), [(0.005, False), (0.02, True)])
def test_accuracy_must_be_tied_within_its_interval(half: float, on_target: bool) -> None:
    (found,) = compare(
        results(
            cell("DPEGD", "paper", 0.65, **ACCURACY),
            cell("auto", "certified", 0.64, half, **ACCURACY),
        )
    )
    assert not found.wins
    assert found.on_target == on_target


def test_a_budget_that_is_not_proved_wins_nothing() -> None:
    for certificate in ("false", ""):
        auto = cell("auto", "certified", 0.9, certificate=certificate)
        (found,) = compare(results(*PAPER, auto))
        assert not found.wins
        assert not found.on_target


def test_cells_of_other_places_are_not_compared() -> None:
    far = cell("auto", "certified", 0.9, x=2.0)
    assert compare(results(*PAPER, far)) == ()
    assert summary(results(far)).headline == ()


def test_sentences_count_protocols_and_readings_apart() -> None:
    other = {"exhibit": f"Table 4, {LARGEST_NORM}"}
    found = summary(
        results(
            *PAPER,
            cell("auto", "certified", 0.75, 0.01),
            cell("auto", "certified", 0.60, 0.01, protocol="standardised"),
            cell("auto", "certified", 0.60, 0.01, protocol="paper"),
            cell("DPEGD", "printed", 0.50, 0.01),
            cell("DPGDSC", "printed", 0.76, 0.02),
            cell("DPEGD", "paper", 0.65, **other),
            cell("auto", "certified", 0.66, 0.01, protocol="standardised", **other),
        )
    )
    raw, honest, reruns, paper, largest = found.headline
    assert "raw rows over their norms: auto at a proved budget is above" in raw
    assert "public ranges only: auto at a proved budget is above" in honest
    assert "in 1 of 1 cells, by at least 0.05 in 1." in honest
    assert "higher mean in 0 of 1 cells; the intervals do not overlap in 0." in reruns
    assert "standardised on all data: auto at a budget that is proved for the prepared" in paper
    assert "in 0 of 1 cells, by at least 0.05 in 0." in paper
    assert LARGEST_NORM in largest
    assert "in 1 of 1 cells, by at least 0.05 in 0." in largest
    first, second = found.rows
    assert first["paper's best private"] == "0.6500 DPEGD"
    assert first["auto, public ranges only"] == "0.7500 (0.7400 to 0.7600), +0.1000, on target"
    assert first["auto, standardised on all data"].endswith("-0.0500")
    assert second["exhibit"] == other["exhibit"]


def test_figures_that_repeat_another_data_set_are_counted_with_and_without() -> None:
    repeated = cell("DPEGD", "paper", 0.71, note="copied", x=2.0, **ACCURACY)
    found = summary(
        results(
            cell("DPEGD", "paper", 0.65, **ACCURACY),
            cell("auto", "certified", 0.66, 0.01, **ACCURACY),
            repeated,
            cell("auto", "certified", 0.66, 0.01, x=2.0, **ACCURACY),
        )
    )
    (sentence,) = found.headline
    assert "interval in 1 (without the 1 cells where the paper" in sentence
    assert sentence.endswith("1 of 1).")
    assert "of another data set" in found.rows[1]["paper's best private"]


@pytest.mark.parametrize(("mean", "half", "same"), [(0.66, 0.01, 1), (0.66, 0.02, 0), (0.65, 0, 0)])
def test_an_accuracy_that_is_euclids_is_told(mean: float, half: float, same: int) -> None:
    found = summary(
        results(
            cell("DPEGD", "paper", 0.65, **ACCURACY),
            cell("auto", "certified", 0.66, 0.01, **ACCURACY),
            cell(EUCLID, "baseline", mean, half, **ACCURACY),
            cell(EUCLID, "baseline", 0.66, 0.01, protocol="paper", **ACCURACY),
        )
    )
    (sentence,) = found.headline
    exactly = "in 1 of the 1 its accuracy is exactly that of the Euclidean metric"
    assert (exactly in sentence) == bool(same)
    (row,) = found.rows
    assert row["auto, public ranges only"].endswith("as Euclidean") == bool(same)
