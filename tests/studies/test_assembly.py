"""Confidence intervals, against scipy, and how results of jobs become results of a study."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pairdp.studies.assembly import assemble, interval
from pairdp.studies.jobs import Job, RunResult
from pairdp.studies.results import Remark
from pairdp.studies.study import PlannedCell, Study
from tests.studies.small import Count


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
@settings(derandomize=True, deadline=None)
def test_as_scipy_has_it(runs: list[float]) -> None:
    found = interval(runs)
    error = stats.sem(runs)
    low, high = stats.t.interval(0.95, len(runs) - 1, loc=np.mean(runs), scale=max(error, 1e-300))
    np.testing.assert_allclose(found, (np.mean(runs), low, high), rtol=1e-9, atol=1e-6)


def test_the_interval_covers_as_often_as_it_says() -> None:
    # 20 000 intervals: the share that covers has standard deviation 0.0015, and 5.5 of these
    # are 0.0085; a false alarm has probability below 1e-6.
    rng = np.random.default_rng(0)
    covered = [low <= 0 <= high for _, low, high in map(interval, rng.normal(size=(20_000, 5)))]
    assert abs(np.mean(covered) - 0.95) < 0.0085


def test_equal_runs_have_no_width_and_one_run_no_interval() -> None:
    assert interval([0.5, 0.5, 0.5]) == (0.5, 0.5, 0.5)
    with pytest.raises(ValueError, match="at least 2 runs"):
        interval([0.5])


def _study(*planned: PlannedCell) -> Study:
    return Study("kang2021", "t", planned, lambda results: [Remark("s", "e", "x", "y")], "none")


def _planned(job: Job, **more: object) -> PlannedCell:
    values: dict[str, object] = {
        "exhibit": "e", "panel": "p", "measure": "value", "series": "s", "kind": "certified",
        "protocol": "", "x_name": "n", "x": 1.0, "job": job,
    }  # fmt: skip
    return PlannedCell(**{**values, **more})  # type: ignore[arg-type]


def test_results_of_jobs_become_cells_certificates_and_remarks() -> None:
    first, second = Count(1, "d", runs=3), Count(2, "d", runs=3)
    certificate = {"statement": "s", "json": {"n": 1}}
    results = {
        first.key: RunResult({"value": (1.0, 2.0, 3.0)}, certificate),
        second.key: RunResult({}, refused="burn-in of 8 is longer than 3"),
    }
    study = _study(
        _planned(first), _planned(first, x=2.0), _planned(second, kind="printed"),
        _planned(second, kind="printed", x=2.0),
    )  # fmt: skip
    found = assemble("t", [study], results, {"a": "b"})
    assert [cell.mean for cell in found.cells] == [2.0, 2.0]
    assert found.cells[0].runs == 3
    (key,) = found.certificates
    assert {cell.certificate for cell in found.cells} == {key}
    own, refused = found.remarks
    assert own.title == "x"
    assert refused.title == "s with printed noise cannot be run in 2 cells"
    assert "p, n = 1; p, n = 2:\n  burn-in of 8" in refused.text
    assert found.facts == {"a": "b", "assumptions for kang2021": "none"}


def test_of_many_reasons_the_first_and_the_last_are_told() -> None:
    jobs = [Count(i, "d", runs=2) for i in range(5)]
    results = {job.key: RunResult({}, refused=f"burn-in {job.number}") for job in jobs}
    study = _study(*(_planned(job, x=float(job.number)) for job in jobs))
    remark = assemble("t", [study], results, {}).remarks[-1]
    assert remark.title.endswith("cannot be run in 5 cells")
    assert "burn-in 0" in remark.text
    assert "3 similar reasons" in remark.text
    assert "burn-in 2" not in remark.text
    assert "burn-in 4" in remark.text
