"""What the studies plan to run, and how outcomes become results."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from pairdp.studies import wang2024
from pairdp.studies.assembly import assemble
from pairdp.studies.huai2020_remarks import remarks as huai_remarks
from pairdp.studies.jobs import Job, RunResult
from pairdp.studies.kang2021 import steps
from pairdp.studies.kang2021 import study as kang2021
from pairdp.studies.learning import AUTO, EUCLID, Learning
from pairdp.studies.plan import Place, Scale, Study
from pairdp.studies.population import FEATURES, draw, least, problem_of
from pairdp.studies.results import Remark, Results
from pairdp.studies.run import STUDIES, find_study
from pairdp.studies.xue2021 import panel, repeats
from pairdp.studies.xue2021_figures import APPROXIMATE, PURE, TABLE_2, TABLE_3, TABLE_4
from pairdp.studies.xue2021_remarks import remarks as xue_remarks
from tests.studies.small import Count

EMPTY = Results("t", (), (), {}, {})


@pytest.mark.parametrize("name", STUDIES)
def test_places_are_unique_and_jobs_have_keys(name: str) -> None:
    study = find_study(name, Scale())
    places = Counter(
        (p.exhibit, p.panel, p.measure, p.series, p.kind, p.protocol, p.x) for p in study.places
    )
    assert max(places.values()) == 1
    assert all(isinstance(place.job, Job) for place in study.places)
    assert all(place.job.runs == 20 for place in study.places)
    assert study.reading


@pytest.mark.parametrize("name", STUDIES)
def test_quick_runs_a_part_of_the_same_exhibits(name: str) -> None:
    full, quick = find_study(name, Scale()), find_study(name, Scale(3, quick=True))
    assert {p.exhibit for p in quick.places} == {p.exhibit for p in full.places}
    assert {(p.exhibit, p.series, p.kind, p.x) for p in quick.places} <= {
        (p.exhibit, p.series, p.kind, p.x) for p in full.places
    }
    assert len(quick.places) < len(full.places)
    assert all(place.job.runs == 3 for place in quick.places)


def test_unknown_studies_are_refused() -> None:
    with pytest.raises(ValueError, match="known: huai2020"):
        find_study("other", Scale())


def test_every_printed_cell_of_xue_has_auto_both_noises_and_a_baseline() -> None:
    study = find_study("xue2021", Scale())
    run = {(p.exhibit, p.panel, p.x, p.series, p.kind, p.protocol) for p in study.places}
    for figure in study.figures:
        at = (figure.exhibit, figure.panel, figure.x)
        protocols = ("paper",) if "," in figure.exhibit else ("paper", "honest")
        for protocol in protocols:
            assert (*at, AUTO, "certified", protocol) in run
            if "," not in figure.exhibit and "without noise" not in figure.series:
                for kind in ("printed", "certified"):
                    assert (*at, figure.series, kind, protocol) in run
        if figure.measure == "accuracy":
            assert (*at, EUCLID, "baseline", "paper") in run


def test_budgets_of_xue_are_as_printed() -> None:
    for place in find_study("xue2021", Scale()).places:
        job = place.job
        assert isinstance(job, Learning)
        if place.exhibit.startswith("Table 4"):
            assert job.n == 256
        if job.epsilon is not None:
            expected = 1 / job.n if place.panel.endswith(APPROXIMATE) else 0.0
            assert job.delta == expected
            assert place.x_name == "n" or job.epsilon == place.x


def test_huai_has_its_sizes_and_budgets() -> None:
    places = find_study("huai2020", Scale()).places
    sizes = {e: sorted({p.x for p in places if p.exhibit == e}) for e in ("Figure 1", "Figure 6")}
    assert (sizes["Figure 1"][0], sizes["Figure 1"][-1]) == (40, 90)
    assert (sizes["Figure 6"][0], sizes["Figure 6"][-1]) == (50, 350)
    spent = [p.job for p in places if isinstance(p.job, Learning) and p.job.epsilon is not None]
    assert {job.epsilon for job in spent} == {0.5, 1.5, 2.5}
    assert all(job.delta == 1 / job.n for job in spent)


def test_rows_of_table_3_that_repeat_another_data_set_are_found() -> None:
    block = next(b for b in TABLE_3 if (b.dataset, b.budget) == ("retinopathy", PURE))
    assert set(repeats(TABLE_3, block, "DPEGD")) == {3, 4, 5}
    for table in (TABLE_2, TABLE_4):
        assert not any(repeats(table, b, series) for b in table for series in b.rows)
    figures = find_study("xue2021", Scale()).figures
    noted = [f for f in figures if f.note and f.exhibit == "Table 3"]
    assert len(noted) == 3 * (5 + 4)
    assert all("retinopathy" in f.panel and f.x >= 1 for f in noted)


def test_xue_remarks_compute_the_printed_noise() -> None:
    first = next(iter(xue_remarks(EMPTY)))
    lipschitz = 4 / (1 + math.exp(-4)) + 1e-3
    sensitivity = 8 * lipschitz / (1e-3 * 256)
    sigma = math.sqrt(2 * math.log(1.25 * 256)) * sensitivity
    assert f"= {sensitivity:.4g}, on a ball" in first.text
    assert f"= {sigma:.4g} for each of 8" in first.text


def test_huai_remarks_compute_the_burn_in() -> None:
    first = next(iter(huai_remarks(EMPTY)))
    assert f"{16 * (4.001 / 0.001) ** 2:.4g}" in first.text


def test_kang_takes_a_logarithm_of_steps_and_tells_what_its_constant_gives() -> None:
    assert steps(1000) == math.ceil(4 * math.log(1000))
    ranking, metric = kang2021(Scale(2, quick=True)).remarks(EMPTY)
    assert "the claim holds" in ranking.text
    assert "NOT proved" in metric.text


def test_wangs_records_are_as_described() -> None:
    for setting, figure in wang2024.FIGURES.items():
        x, labels = wang2024.records(setting, 0)
        assert x.shape == (5000, 10)
        np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1)
        best = x @ np.array(figure.truth)
        if setting == "least squares":
            assert max(np.abs(y).max() for y in labels.values()) <= 0.5
            np.testing.assert_allclose(labels[0.0], best)
        else:
            np.testing.assert_array_equal(labels[0.0], np.where(best > 0, 1.0, -1.0))


def test_the_least_risk_is_below_that_of_many_points() -> None:
    problem = problem_of("logistic", 0.1)
    everyone = problem.records(*draw(4000, 10**6))
    floor = least("logistic", 0.1)
    rng = np.random.default_rng(0)
    for _ in range(50):
        point = problem.constraint.project(rng.normal(size=FEATURES))
        assert problem.value(point, everyone) >= floor - 1e-9


def _study(*places: Place) -> Study:
    return Study("kang2021", "t", places, (), lambda results: [Remark("s", "e", "x", "y")], "read")


def _place(job: Job, **more: object) -> Place:
    values: dict[str, object] = {
        "exhibit": "e", "panel": "p", "measure": "value", "series": "s", "kind": "certified",
        "protocol": "", "x_name": "n", "x": 1.0, "job": job,
    }  # fmt: skip
    return Place(**{**values, **more})  # type: ignore[arg-type]


def test_outcomes_become_cells_certificates_and_remarks() -> None:
    first, second = Count(1, "d", runs=3), Count(2, "d", runs=3)
    certificate = {"statement": "s", "json": {"n": 1}}
    outcomes = {
        first.key: RunResult({"value": (1.0, 2.0, 3.0)}, certificate),
        second.key: RunResult({}, refused="burn-in of 8 is longer than 3"),
    }
    study = _study(
        _place(first), _place(first, x=2.0), _place(second, kind="printed"),
        _place(second, kind="printed", x=2.0),
    )  # fmt: skip
    found = assemble("t", [study], outcomes, {"a": "b"})
    assert [cell.mean for cell in found.cells] == [2.0, 2.0]
    assert found.cells[0].runs == 3
    (key,) = found.certificates
    assert {cell.certificate for cell in found.cells} == {key}
    own, refused = found.remarks
    assert own.title == "x"
    assert refused.title == "s with printed noise cannot be run in 2 cells"
    assert "p, n = 1; p, n = 2:\n  burn-in of 8" in refused.text
    assert found.facts == {"a": "b", "how kang2021 was read": "read"}


def test_of_many_reasons_the_first_and_the_last_are_told() -> None:
    pieces = [Count(i, "d", runs=2) for i in range(5)]
    outcomes = {job.key: RunResult({}, refused=f"burn-in {job.number}") for job in pieces}
    study = _study(*(_place(job, x=float(job.number)) for job in pieces))
    remark = assemble("t", [study], outcomes, {}).remarks[-1]
    assert remark.title.endswith("cannot be run in 5 cells")
    assert "burn-in 0" in remark.text
    assert "3 more of the kind" in remark.text
    assert "burn-in 2" not in remark.text
    assert "burn-in 4" in remark.text


def test_panels_name_data_and_budget() -> None:
    assert panel("diabetes", PURE) == "diabetes, pure ε"
