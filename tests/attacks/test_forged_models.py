"""Models and streams whose plan and certificate disagree: none of them may pass as true."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import pairdp
from pairdp import (
    CertificateError,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateMetric,
    PrivateRanker,
    load,
    save,
    verify,
)
from pairdp._sealed import seal
from pairdp.algorithms.registry import algorithms
from pairdp.cli.main import main
from pairdp.online import OnlineDescent, OnlineSession
from pairdp.verification import verify_file, verify_model
from tests.attacks.honest_plans import BUDGET, PLANS, Document, divided, forged
from tests.audit.cases import RANKING
from tests.model_file.models import X, Y, forge, opened


def models() -> dict[str, Any]:
    # So much that no model is warned of as drowned in noise.
    shared: dict[str, Any] = {"epsilon": 8.0, "delta": 1e-5, "data_norm": 1.0, "random_state": 1}
    targets = X @ np.array([0.3, -0.2, 0.1])
    return {
        "ranker": PrivateRanker(**shared).fit(X, Y),
        "quadratic ranker": PrivateRanker(model="quadratic", **shared).fit(X, Y),
        "ranker, DPGDSC": PrivateRanker(algorithm="DPGDSC", threshold=0.0, **shared).fit(X, Y),
        "metric": PrivateMetric(algorithm="scatter", **shared).fit(X, Y),
        "classifier": PrivateLinearClassifier(**shared).fit(X, Y),
        "regressor": PrivateLinearRegressor(**shared).fit(X, targets),
        "stream": OnlinePrivateRanker(**shared).fit(X, Y),
    }


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    return models()


NAMES = [
    "ranker", "quadratic ranker", "ranker, DPGDSC", "metric", "classifier", "regressor", "stream",
]  # fmt: skip


def resealed(path: Path, change: Callable[[Document], None]) -> None:
    """Edit the certificate of a model, and compute every digest anew."""
    header, arrays = opened(path)
    stated = header["steps"][0]["certificate"]
    del stated["digest"]
    change(stated)
    header["steps"][0]["certificate"] = json.loads(seal(stated))
    forge(path, header, arrays)


@pytest.mark.parametrize("name", NAMES)
def test_models_hold_and_are_refused_with_other_noise(
    tmp_path: Path, fitted: dict[str, Any], name: str
) -> None:
    path = tmp_path / "model"
    save(fitted[name], path)
    assert all(report.holds for report in verify_file(path))
    assert all(report.holds for report in verify_model(fitted[name]))
    resealed(path, divided)
    with pytest.raises(CertificateError, match="planning again gives"):
        verify_file(path)
    done = CliRunner().invoke(main, ["verify", str(path)])
    assert done.exit_code == 1
    assert "planning again gives" in done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_a_model_with_the_certificate_of_other_parameters_is_refused(
    tmp_path: Path, fitted: dict[str, Any], name: str
) -> None:
    """The certificate is an honest one, of less noise than the model's parameters give."""
    model = fitted[name]
    path = tmp_path / "model"
    save(model, path)
    header, arrays = opened(path)
    for other in (
        model.plan_.algorithm.plan(model.plan_.problem, 10**6, model.plan_.task.features, BUDGET),
        type(model)(**{**model.get_params(), "epsilon": 20.0}).plan(len(X), X.shape[1]),
    ):
        assert verify(other.certificate).holds
        swapped = copy.deepcopy(header)
        swapped["steps"][0]["certificate"] = json.loads(other.certificate.to_json())
        forge(path, swapped, arrays)
        with pytest.raises(CertificateError, match="not follow from the model's parameters"):
            verify_file(path)


def test_reasons_of_a_model_are_those_of_its_plan(tmp_path: Path, fitted: dict[str, Any]) -> None:
    path = tmp_path / "model"
    save(fitted["ranker"], path)
    header, arrays = opened(path)
    for name in ("reasons", "departures"):
        forged = json.loads(json.dumps(header))
        forged["steps"][0][name] = ["the noise is far larger than it need be"]
        forge(path, forged, arrays)
        with pytest.raises(CertificateError, match="plan_ does not follow"):
            verify_file(path)


def test_no_number_of_a_plan_is_in_a_file_twice(tmp_path: Path, fitted: dict[str, Any]) -> None:
    """A model file had a plan of scale 0.524 beside a certificate of 0.000524, and passed."""
    path = tmp_path / "model"
    save(fitted["ranker, DPGDSC"], path)
    (step,) = opened(path)[0]["steps"]
    assert "plan" not in step
    (release,) = load(path).plan_.certificate.releases
    assert step["certificate"]["releases"][0]["scale"] == release.mechanism.scale


@pytest.mark.parametrize(
    "algorithm",
    [*algorithms("stream", published=True).values(), OnlineDescent(5, batch_size=4)],
    ids=str,
)
def test_streams_go_through_the_same_check(tmp_path: Path, algorithm: Any) -> None:
    session = OnlineSession(algorithm.plan(RANKING, 30, 2, BUDGET))
    session.learn(np.ones((14, 2)) / 2, [1, -1] * 7)
    path = tmp_path / "stream"
    session.save(path)
    (report,) = verify_file(path)
    assert report.holds
    header, arrays = opened(path)
    stated = header["certificate"]
    del stated["digest"]
    divided(stated)
    header["certificate"] = json.loads(seal(stated))
    forge(path, header, arrays)
    with pytest.raises(CertificateError, match="planning again gives"):
        verify_file(path)
    with pytest.raises(pairdp.ModelFileError, match="planning again gives"):
        OnlineSession.resume(path)


def test_a_paused_estimator_goes_through_the_same_check(tmp_path: Path) -> None:
    model = OnlinePrivateRanker(1.0, 1e-5, horizon=200, random_state=1, data_norm=1.0)
    model.partial_fit(X, Y, classes=[0, 1])
    path = tmp_path / "stream"
    model.pause(path)
    assert all(report.holds for report in verify_file(path))
    header, arrays = opened(path)
    other = OnlinePrivateRanker(9.0, 1e-5, horizon=200, data_norm=1.0).plan(200, 3).certificate
    header["estimator"]["certificate"] = json.loads(other.to_json())
    forge(path, header, arrays)
    with pytest.raises(CertificateError, match="of the stream and of its estimator differ"):
        verify_file(path)
    header["certificate"] = header["estimator"]["certificate"]
    forge(path, header, arrays)
    with pytest.raises(CertificateError, match="not follow from the model's parameters"):
        verify_file(path)
    assert path.exists()


def test_the_command_has_a_code_for_what_was_not_planned_again(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    certificate = PLANS["DPGDSC"]().certificate
    path.write_text(certificate.to_json())
    assert CliRunner().invoke(main, ["verify", str(path)]).exit_code == 0
    path.write_text(forged(certificate, lambda document: document.update(plan=None)))
    done = CliRunner().invoke(main, ["verify", str(path)])
    assert done.exit_code == 5
    assert done.stdout.startswith("NOT PLANNED AGAIN: ")
    told = CliRunner().invoke(main, ["verify", str(path), "--json"])
    assert told.exit_code == 5
    found = json.loads(told.stdout)
    assert found["holds"] is False
    assert found["certificates"][0]["planned_again"] is False
