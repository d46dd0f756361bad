"""Jobs on data: the papers' problems, baselines, and runs that repeat."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from pairdp import verify
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import HingeRanking, LogisticMetric, LogisticRanking
from pairdp.privacy import Certificate
from pairdp.studies.jobs import certificate_key
from pairdp.studies.learning import (
    AUTO,
    EUCLID,
    LOGISTIC,
    MEANS,
    Learning,
    algorithm,
)
from pairdp.studies.protocols import permuted_split, prepared

RANKING = Learning("ranking", "cancer_wdbc", "honest", 60, AUTO, 1.0, 0.01, runs=2)
METRIC = replace(RANKING, goal="metric")


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    prepared.cache_clear()
    yield
    prepared.cache_clear()


@pytest.mark.parametrize(
    "job",
    [
        RANKING,
        METRIC,
        replace(RANKING, method="DPGDSC", regularization=1e-3, calibration="printed"),
        replace(RANKING, method="OnPairC"),
        replace(METRIC, method="OffPairC"),
    ],
)
def test_a_run_repeats_itself_after_pickling_and_has_a_certificate(job: Learning) -> None:
    first, again = job.run(None), pickle.loads(pickle.dumps(job)).run(None)
    assert first == again
    measure = "AUC" if job.goal == "ranking" else "accuracy"
    assert set(first.values) == {measure}
    assert len(first.values[measure]) == 2
    assert all(0 <= value <= 1 for value in first.values[measure])
    assert first.certificate is not None
    assert (first.certificate["epsilon"], first.certificate["delta"]) == (1.0, 0.01)
    assert "60 records" in first.certificate["statement"]


def test_the_certificate_of_auto_is_proved_and_verifies() -> None:
    found = RANKING.run(None).certificate
    assert found is not None
    assert found["claim_is_proved"]
    certificate = Certificate._from_dict(found["json"])
    assert "holds" in str(verify(certificate))
    assert "given seed" in certificate.noise_source
    assert certificate_key(found) == certificate_key(dict(found))


def test_more_runs_begin_with_the_same_ones() -> None:
    few, more = RANKING.run(None), replace(RANKING, runs=4).run(None)
    assert more.values["AUC"][:2] == few.values["AUC"]
    assert len(set(more.values["AUC"])) == 4


def test_auto_pays_for_no_threshold() -> None:
    plan = RANKING.plan(30)
    assert not any("threshold" in release.name for release in plan.certificate.releases)


def test_baselines_are_what_their_names_say() -> None:
    records = prepared("cancer_wdbc", "honest", None)
    part = permuted_split(records, 60, 1)
    bare = replace(RANKING, epsilon=None, delta=0.0)
    neighbours = KNeighborsClassifier(3).fit(part.x, part.y).score(part.x_test, part.y_test)
    euclid = replace(bare, goal="metric", method=EUCLID).run(None)
    assert euclid.values["accuracy"][1] == pytest.approx(neighbours)
    apart = part.x[part.y > 0].mean(axis=0) - part.x[part.y < 0].mean(axis=0)
    means = replace(bare, method=MEANS).run(None)
    assert means.values["AUC"][1] == pytest.approx(roc_auc_score(part.y_test, part.x_test @ apart))
    logistic = replace(bare, method=LOGISTIC).run(None)
    assert min(logistic.values["AUC"]) > 0.9
    assert euclid.certificate is means.certificate is logistic.certificate is None


def test_without_a_budget_there_is_no_noise_and_no_certificate() -> None:
    bare = replace(RANKING, method="OffPairC", epsilon=None, delta=0.0)
    assert bare.run(None).certificate is None
    assert np.mean(bare.run(None).values["AUC"]) > 0.9


def test_the_objective_is_that_of_the_papers_problem() -> None:
    job = replace(
        RANKING, method="OffPairStrC", regularization=0.5, epsilon=None, delta=0.0, objective=True
    )
    found = job.run(None)
    part = permuted_split(prepared("cancer_wdbc", "honest", None), 60, 0)
    problem = job.problem
    records = problem.records(part.x, part.y)
    fit = job.plan(30).run(records, job.noise(0), progress=False)
    assert found.values["objective"][0] == pytest.approx(problem.value(fit.parameters, records))


@pytest.mark.parametrize("goal", ["ranking", "metric"])
def test_auto_minimises_the_papers_loss_where_the_objective_is_measured(goal: str) -> None:
    job = replace(RANKING, goal=goal, objective=True)  # type: ignore[arg-type]
    assert job.plan(8).problem.loss == job.problem.loss
    assert "objective" in job.run(None).values


def test_what_cannot_be_planned_as_printed_is_refused_with_its_arithmetic() -> None:
    online = replace(RANKING, method="OnPairC", calibration="printed", schedule="theorem")
    refused = online.run(None)
    assert refused.values == {}
    assert "burn-in" in refused.refused
    without = replace(online, schedule="tuned")
    assert without.run(None).refused == ""


def test_problems_are_the_papers() -> None:
    ranking = replace(RANKING, regularization=1e-3).problem
    assert (ranking.loss, ranking.constraint) == (LogisticRanking(), L2Ball(1.0))
    assert ranking.regularization == 1e-3
    assert replace(RANKING, loss="hinge").problem.loss == HingeRanking()
    metric = METRIC.problem
    assert (metric.loss, metric.constraint) == (LogisticMetric(), PSDFrobeniusBall(1.0))


def test_algorithms_are_found_online_and_offline() -> None:
    assert "Algorithm 1" in algorithm("DPGDSC").name
    assert algorithm("OnPairStrC").name.startswith("OnPairStrC")
    with pytest.raises(ValueError, match="no algorithm is named"):
        algorithm("other")


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="cannot be read"):
        replace(RANKING, dataset="diabetes").run(tmp_path)
