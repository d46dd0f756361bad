"""Duels of ``auto`` with the paper's algorithms, and the zero model, on cells made by hand."""

from __future__ import annotations

import pytest

from pairdp.studies import certified_comparison, zero_model
from pairdp.studies.certified_comparison import duels
from pairdp.studies.learning import ZERO
from pairdp.studies.results import Cell, Results
from pairdp.studies.summary import summary


def cell(series: str, mean: float, half: float = 0.01, **more: object) -> Cell:
    values: dict[str, object] = {
        "study": "xue2021", "exhibit": "Figure 1", "panel": "diabetes", "measure": "AUC",
        "series": series, "kind": "certified", "protocol": "paper", "x_name": "n", "x": 64.0,
        "mean": mean, "low": mean - half, "high": mean + half, "runs": 20, "certificate": "",
    }  # fmt: skip
    return Cell(**{**values, **more})  # type: ignore[arg-type]


def results(*cells: Cell) -> Results:
    return Results("t", cells, (), {}, {})


@pytest.mark.parametrize(
    ("measure", "auto", "outcome"),
    [
        ("AUC", 0.70, "wins"),
        ("AUC", 0.60, "wins"),  # an equal mean is no loss
        ("AUC", 0.59, "ties"),
        ("AUC", 0.57, "loses"),
        ("excess risk", 0.57, "wins"),
        ("excess risk", 0.61, "ties"),
        ("excess risk", 0.70, "loses"),
    ],
)
def test_outcomes(measure: str, auto: float, outcome: str) -> None:
    better = 0.60
    worse = 0.55 if measure == "AUC" else 0.65
    (found,) = duels(
        results(
            cell("auto", auto, measure=measure),
            cell("DPGDSC", better, measure=measure),
            cell("DPEGD", worse, measure=measure),
            cell("DPEGD", 0.9 if measure == "AUC" else 0.0, kind="printed", measure=measure),
        )
    )
    assert found.best.series == "DPGDSC"
    assert found.outcome == outcome


def test_only_cells_of_the_same_place_and_protocol_meet() -> None:
    alone = [
        cell("auto", 0.6),
        cell("DPGDSC", 0.9, x=128.0),
        cell("DPGDSC", 0.9, protocol="honest"),
    ]
    assert duels(results(*alone)) == ()
    assert summary(results(*alone)).headline == ()


def test_losses_are_told_in_the_summary_and_in_the_remark_of_the_exhibit() -> None:
    found = results(
        cell("auto", 0.70), cell("DPGDSC", 0.60),
        cell("auto", 0.50, x=128.0), cell("DPGDSC", 0.60, x=128.0),
    )  # fmt: skip
    (sentence,) = summary(found).headline
    lost = "(1 of Figure 1, AUC, raw rows over their norms)."
    assert sentence.endswith(f"auto wins 1, ties 0 and loses 1 of 2 cells {lost}")
    (remark,) = certified_comparison.remarks(found, "xue2021")
    assert (remark.study, remark.exhibit) == ("xue2021", "Figure 1")
    first, second = (line for line in remark.text.splitlines() if line.startswith("  "))
    assert "n = 128, paper protocol: auto 0.5000" in first
    assert "loses" in first
    assert "wins" in second
    assert list(certified_comparison.remarks(found, "huai2020")) == []


def test_zero_models_are_compared_with_their_own_series_only() -> None:
    loss = {"measure": "mean square error", "study": "wang2024", "protocol": ""}
    low, high = cell(f"{ZERO}, κ = 0", 0.1, **loss), cell(f"{ZERO}, κ = 1", 0.9, **loss)
    found = results(
        low, high, cell("DP-SGD, κ = 0", 0.2, **loss), cell("DP-SGD, κ = 1", 0.2, **loss),
        cell("DP-SGD, κ = 0", 0.05, x=128.0, **loss), cell(f"{ZERO}, κ = 0", 0.1, x=128.0, **loss),
    )  # fmt: skip
    (remark,) = zero_model.remarks(found, "wang2024")
    assert "DP-SGD, κ = 0, certified noise: 1 of 2 (n = 64)" in remark.text
    assert "DP-SGD, κ = 1, certified noise: 0 of 1" in remark.text


def test_more_is_not_worse_for_auc() -> None:
    found = results(cell(ZERO, 0.5, kind="baseline"), cell("DPGDSC", 0.6))
    assert list(zero_model.remarks(found, "xue2021")) == []


def runs(series: str, values: tuple[float, ...], measure: str = "AUC") -> Cell:
    """Return a cell with its runs; the interval of its mean is far wider than their differences."""
    mean = sum(values) / len(values)
    return cell(series, mean, half=0.2, measure=measure, values=values)


@pytest.mark.parametrize(
    ("difference", "outcome"),
    [
        ((-0.02, -0.03, -0.02, -0.03), "loses"),  # always worse, though both intervals overlap
        ((-0.09, 0.05, -0.08, 0.06), "ties"),
        ((0.01, 0.02, 0.01, 0.02), "wins"),
    ],
)
@pytest.mark.parametrize("measure", ["AUC", "excess risk"])
def test_runs_on_the_same_permutations_are_compared_in_pairs(
    measure: str, difference: tuple[float, ...], outcome: str
) -> None:
    own = (0.5, 0.7, 0.4, 0.8)
    sign = 1 if measure == "AUC" else -1
    auto = tuple(a + sign * b for a, b in zip(own, difference, strict=True))
    (found,) = duels(results(runs("auto", auto, measure), runs("DPGDSC", own, measure)))
    assert found.outcome == outcome
