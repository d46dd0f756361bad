"""Parts of a study, and the cells of printed noise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pairdp.studies.learning import Learning
from pairdp.studies.results import Cell, Remark, Results
from pairdp.studies.run import find_study, select
from pairdp.studies.study import BY_THEOREM, PlannedCell, Position, Scale, Study

EMPTY = Results("t", (), (), {}, {})
JOB = Learning("ranking", "diabetes", "honest", 60, "DPGDSC", 1.0, 0.01, runs=2)
AT = Position("Table 1", "diabetes, δ", "AUC", "honest", "n", 60)


def _study() -> Study:
    planned = [
        PlannedCell(exhibit, f"{dataset}, δ = 1/n", "AUC", "", "n", 60.0, "a", "certified", JOB)
        for exhibit in ("Table 1", "Table 1, other rows", "Table 11", "Figure 1", "Figure 2")
        for dataset in ("diabetes", "hepatitis")
    ]
    reported = [
        Cell(
            "s", "Table 1", f"{dataset}, δ = 1/n", "AUC", "a", "paper", "", "n", 60.0,
            1, 1, 1, 0, "",
        )
        for dataset in ("diabetes", "hepatitis")
    ]  # fmt: skip
    found = [Remark("s", where, where, "") for where in ("Table 1", "Figures 1 and 2", "Figure 2")]
    return Study("s", "t", tuple(planned), lambda _: found, "none", tuple(reported))


def test_a_table_has_its_variants_and_no_other_table() -> None:
    part = _study().only(["table 1"])
    assert part.exhibits == ("Table 1", "Table 1, other rows")
    assert len(part.reported) == 2
    assert [remark.title for remark in part.remarks(EMPTY)] == ["Table 1"]


def test_a_remark_on_two_figures_belongs_to_both() -> None:
    part = _study().only(["Figure 1"])
    assert [remark.title for remark in part.remarks(EMPTY)] == ["Figures 1 and 2"]
    assert part.reported == ()


def test_data_sets_are_chosen_in_planned_and_reported_cells() -> None:
    part = _study().only(datasets=["Hepatitis"])
    assert part.datasets == ("hepatitis",)
    assert [cell.panel for cell in part.reported] == ["hepatitis, δ = 1/n"]
    assert part.exhibits == _study().exhibits


def test_all_is_kept_if_nothing_is_named() -> None:
    study = _study()
    assert (study.only().planned, study.only().reported) == (study.planned, study.reported)
    assert list(study.only().remarks(EMPTY)) == list(study.remarks(EMPTY))


def test_unknown_parts_are_refused_with_those_that_there_are() -> None:
    with pytest.raises(
        ValueError, match=r"s has no exhibit 'Table 2'; it has: Table 1; .*Figure 2"
    ):
        _study().only(["Table 2"])
    with pytest.raises(ValueError, match=r"no data set 'iris'; it has: diabetes; hepatitis"):
        _study().only(datasets=["iris"])


def test_a_selection_without_cells_is_refused_with_what_there_is() -> None:
    study = find_study("xue2021", Scale(2, quick=True))
    with pytest.raises(ValueError, match=r"no cell of diabetes there; Figure 3 has: retinopathy"):
        study.only(["Figure 3"], ["diabetes"])


def test_of_several_studies_those_with_the_exhibit_are_run() -> None:
    studies = [find_study(name, Scale(2, quick=True)) for name in ("kang2021", "wang2024")]
    (found,) = select(studies, ["Figure 2"])
    assert (found.name, found.exhibits) == ("wang2024", ("Figure 2",))
    with pytest.raises(ValueError, match=r"kang2021 has no exhibit 'Table 9'.*\nwang2024 has no"):
        select(studies, ["Table 9"])


def test_printed_cells_state_their_schedule() -> None:
    (alone,) = AT.printed("DPGDSC", JOB, has_theorem=False)
    tuned, theorem = AT.printed("DPGDSC", JOB, has_theorem=True)
    assert alone == tuned
    assert tuned.job == replace(JOB, calibration="printed", schedule="tuned")
    assert theorem.job == replace(JOB, calibration="printed", schedule="theorem")
    assert theorem.series == "DPGDSC" + BY_THEOREM


def test_the_schedule_of_a_job_is_that_of_its_plan() -> None:
    printed = replace(JOB, calibration="printed", schedule="tuned", regularization=1e-3)
    assert printed.plan(8).task.schedule == "tuned"
