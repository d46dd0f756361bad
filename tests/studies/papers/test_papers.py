"""What the studies plan to run, and what their remarks compute."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from pairdp.studies.jobs import Job
from pairdp.studies.learning import AUTO, EUCLID, ZERO, Learning
from pairdp.studies.papers import STUDIES, kang2021, wang2024
from pairdp.studies.papers.huai2020 import remarks as huai_remarks
from pairdp.studies.papers.xue2021 import panel, repeats
from pairdp.studies.papers.xue2021.preparations import EXHIBIT, preparation_remarks
from pairdp.studies.papers.xue2021.remarks import remarks as xue_remarks
from pairdp.studies.papers.xue2021.tables import (
    APPROXIMATE,
    PURE,
    STRONG,
    TABLE_2,
    TABLE_3,
    TABLE_4,
)
from pairdp.studies.population import FEATURES, ExcessRisk, draw, least, problem_of
from pairdp.studies.readings import READINGS
from pairdp.studies.results import HIGHER_IS_BETTER, Cell, Results
from pairdp.studies.run import find_study
from pairdp.studies.study import Scale

EMPTY = Results("t", (), (), {}, {})


@pytest.mark.parametrize("name", STUDIES)
def test_places_are_unique_and_jobs_have_keys(name: str) -> None:
    study = find_study(name, Scale())
    places = Counter(
        (p.exhibit, p.panel, p.measure, p.series, p.kind, p.protocol, p.x) for p in study.planned
    )
    assert max(places.values()) == 1
    assert all(isinstance(cell.job, Job) for cell in study.planned)
    assert all(cell.job.runs == 20 for cell in study.planned)
    assert study.assumptions


@pytest.mark.parametrize("name", STUDIES)
def test_quick_runs_a_part_of_the_same_exhibits(name: str) -> None:
    full, quick = find_study(name, Scale()), find_study(name, Scale(3, quick=True))
    assert {p.exhibit for p in quick.planned} == {p.exhibit for p in full.planned}
    assert {(p.exhibit, p.series, p.kind, p.x) for p in quick.planned} <= {
        (p.exhibit, p.series, p.kind, p.x) for p in full.planned
    }
    assert len(quick.planned) < len(full.planned)
    assert all(cell.job.runs == 3 for cell in quick.planned)


def test_unknown_studies_are_refused() -> None:
    with pytest.raises(ValueError, match="known: huai2020"):
        find_study("other", Scale())


def test_every_printed_cell_of_xue_has_auto_both_noises_and_a_baseline() -> None:
    study = find_study("xue2021", Scale())
    run = {(p.exhibit, p.panel, p.x, p.series, p.kind, p.protocol) for p in study.planned}
    for figure in study.reported:
        at = (figure.exhibit, figure.panel, figure.x)
        if figure.exhibit == "Preparations":
            continue
        main = "," not in figure.exhibit
        for protocol in ("paper", "honest", "standardised") if main else ("standardised",):
            assert (*at, AUTO, "certified", protocol) in run
            if main and "without noise" not in figure.series:
                for kind in ("printed", "certified"):
                    assert (*at, figure.series, kind, protocol) in run
        if figure.measure == "accuracy":
            assert (*at, EUCLID, "baseline", "standardised") in run


def _preparations(means: dict[str, tuple[float, float]]) -> list[str]:
    """Return the titles of the remarks for given AUCs of preparations on both data sets."""
    cells = [
        Cell(
            "xue2021", EXHIBIT, f"{dataset}, {STRONG}", "AUC", name, "baseline", "", "n", 256.0,
            mean, mean - 0.01, mean + 0.01, 20, "",
        )
        for name, pair in means.items()
        for dataset, mean in zip(("diabetes", "retinopathy"), pair, strict=True)
    ]  # fmt: skip
    return [remark.title for remark in preparation_remarks(cells) if remark.exhibit == EXHIBIT]


def test_a_preparation_must_fit_both_data_sets() -> None:
    (title,) = _preparations({"raw": (0.648, 0.663), "other": (0.648, 0.70)})
    assert title.endswith(f"{STRONG}: raw")
    (title,) = _preparations({"raw": (0.70, 0.663), "other": (0.648, 0.70)})
    assert title.endswith(": none")


def test_every_preparation_is_run_without_noise_and_has_numbers_to_meet() -> None:
    study = find_study("xue2021", Scale()).only([EXHIBIT])
    assert {cell.series for cell in study.planned} == set(READINGS)
    assert len(READINGS) == 11
    jobs = [cell.job for cell in study.planned]
    assert all(isinstance(job, Learning) and job.epsilon is None for job in jobs)
    panels = {(cell.panel, cell.measure) for cell in study.planned}
    assert panels == {(cell.panel, cell.measure) for cell in study.reported}


@pytest.mark.parametrize("name", STUDIES)
def test_errors_stand_beside_the_zero_model(name: str) -> None:
    planned = find_study(name, Scale()).planned
    errors = [cell for cell in planned if cell.measure not in HIGHER_IS_BETTER]
    places = {
        (cell.exhibit, cell.panel, cell.measure, cell.protocol, cell.x)
        for cell in errors
        if cell.series.startswith(ZERO)
    }
    assert all((c.exhibit, c.panel, c.measure, c.protocol, c.x) in places for c in errors)


@pytest.mark.slow
def test_the_zero_model_has_the_errors_of_predicting_nothing() -> None:
    risk = ExcessRisk(ZERO, "logistic", 0.1, 50, runs=2).run(None)
    expected = math.log(2) - least("logistic", 0.1)
    np.testing.assert_allclose(risk.values["excess risk"], expected, rtol=1e-9)
    assert risk.values["AUC"] == (0.5, 0.5)
    assert risk.certificate is None
    square = wang2024.LowNoise("least squares", 0.1, is_zero=True, runs=2).run(None)
    y = wang2024.records("least squares", 1)[1][0.1]
    np.testing.assert_allclose(square.values["mean square error"], np.mean(y**2))


def test_budgets_of_xue_are_as_printed() -> None:
    for cell in find_study("xue2021", Scale()).planned:
        job = cell.job
        assert isinstance(job, Learning)
        if cell.exhibit.startswith("Table 4"):
            assert job.n == 256
        if job.epsilon is not None:
            expected = 1 / job.n if cell.panel.endswith(APPROXIMATE) else 0.0
            assert job.delta == expected
            assert cell.x_name == "n" or job.epsilon == cell.x


def test_huai_has_its_sizes_and_budgets() -> None:
    places = find_study("huai2020", Scale()).planned
    sizes = {e: sorted({p.x for p in places if p.exhibit == e}) for e in ("Figure 1", "Figure 6")}
    assert (sizes["Figure 1"][0], sizes["Figure 1"][-1]) == (40, 90)
    assert (sizes["Figure 6"][0], sizes["Figure 6"][-1]) == (50, 350)
    cancer = {p.panel.split(",")[0] for p in places if p.exhibit in ("Figure 1", "Figure 3")}
    assert cancer == {"hepatitis", "cancer_original", "cancer_wdbc"}
    spent = [p.job for p in places if isinstance(p.job, Learning) and p.job.epsilon is not None]
    assert {job.epsilon for job in spent} == {0.5, 1.5, 2.5}
    assert all(job.delta == 1 / job.n for job in spent)


def test_rows_of_table_3_that_repeat_another_data_set_are_found() -> None:
    block = next(b for b in TABLE_3 if (b.dataset, b.budget) == ("retinopathy", PURE))
    assert set(repeats(TABLE_3, block, "DPEGD")) == {3, 4, 5}
    for table in (TABLE_2, TABLE_4):
        assert not any(repeats(table, b, series) for b in table for series in b.rows)
    figures = find_study("xue2021", Scale()).reported
    noted = [f for f in figures if f.note and f.exhibit == "Table 3"]
    assert len(noted) == 3 * (5 + 4)
    assert all("retinopathy" in f.panel and f.x >= 1 for f in noted)


def test_xue_remarks_compute_the_printed_noise() -> None:
    first = next(iter(xue_remarks(EMPTY)))
    lipschitz = 4 / (1 + math.exp(-4)) + 1e-3
    sensitivity = 8 * lipschitz / (1e-3 * 256)
    sigma = math.sqrt(2 * math.log(1.25 * 256)) * sensitivity
    assert f"= {sensitivity:.4g}, in a ball" in first.text
    assert f"= {sigma:.4g} for each of 8" in first.text


def test_huai_remarks_compute_the_burn_in() -> None:
    first = next(iter(huai_remarks(EMPTY)))
    assert f"{16 * (4.001 / 0.001) ** 2:.4g}" in first.text


def test_kang_takes_a_logarithm_of_steps_and_tells_what_its_constant_gives() -> None:
    assert kang2021.steps(1000) == math.ceil(4 * math.log(1000))
    ranking, metric = kang2021.study(Scale(2, quick=True)).remarks(EMPTY)
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


def test_panels_name_data_and_budget() -> None:
    assert panel("diabetes", PURE) == "diabetes, pure ε"
