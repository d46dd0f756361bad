"""An algorithm is one file: found by name, planned, stored, verified, and taken by auto."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from pairdp import PrivateRanker, load, verify
from pairdp.algorithms import algorithms, find_algorithm, registry
from pairdp.algorithms.choice import candidates
from pairdp.cli.main import main
from pairdp.verification import verify_file

FILE = '''
"""The mean of signed records, as weights of a ranker."""

from dataclasses import dataclass

from pairdp.algorithms import Algorithm, PlanDraft, Settings, register_algorithm
from pairdp.algorithms.choice import register_candidates
from pairdp.algorithms.noise import output_release
from pairdp.losses import LogisticRanking
from pairdp.privacy import Sensitivity


@dataclass(frozen=True)
class SignedMean(Algorithm):
    name: str = "Mean of signed records"

    settings_type = Settings

    def draft(self, task):
        moved = Sensitivity.of("mean of signed records", data_norm=task.problem.data_norm, n=task.n)
        return PlanDraft((output_release("signed mean", task, moved, moved.value),), Settings())

    def execute(self, plan, records, noise, progress):
        (release,) = plan.certificate.releases
        mean = records.y @ records.x / records.n
        noisy = release.mechanism.release(mean, noise.stream("output noise"))
        return plan.problem.constraint.project(noisy)


register_algorithm("signed-mean", SignedMean())


@register_candidates("ranking")
def ranking_candidates(task):
    if task.features == 3:
        yield task.candidate(task.problem(LogisticRanking()), SignedMean(), noise=0.0, ridge=0.0)
'''
RNG = np.random.default_rng(0)
Y = RNG.integers(2, size=300)
X = (RNG.normal(size=(300, 3)) + Y[:, None]) / 8


@pytest.fixture(autouse=True)
def _own_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    algorithms()  # all of the library register before
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))
    entries = {model: dict(found) for model, found in candidates._ENTRIES.items()}
    monkeypatch.setattr(candidates, "_ENTRIES", entries)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "signed_mean.py").write_text(FILE)
    monkeypatch.syspath_prepend(tmp_path)
    yield "signed_mean"
    del sys.modules["signed_mean"]


@pytest.fixture
def module(file: str) -> ModuleType:
    return importlib.import_module(file)


def ranker(algorithm: str = "signed-mean", **options: object) -> PrivateRanker:
    shared: dict[str, Any] = {"model": "linear", "data_norm": 1.0, "random_state": 0, **options}
    return PrivateRanker(2.0, 1e-6, algorithm=algorithm, **shared)


def test_it_is_used_by_its_name(module: ModuleType) -> None:
    model = ranker().fit(X, Y)
    assert model.certificate_.algorithm == "Mean of signed records"
    assert model.plan_.claim_is_proved
    assert model.score(X, Y) > 0.85


def test_printed_noise_is_refused_as_for_all_that_no_paper_prints(module: ModuleType) -> None:
    with pytest.raises(ValueError, match="no paper prints the noise of Mean of signed records"):
        ranker(calibration="printed").plan(300, 3)


@pytest.mark.parametrize("algorithm", ["signed-mean", "auto"])
def test_the_command_line_imports_and_plans_it(file: str, algorithm: str) -> None:
    size = ["--n", "300", "--features", "3", "--epsilon", "2", "--model", "linear"]
    done = CliRunner().invoke(main, ["plan", *size, "--algorithm", algorithm, "--import", file])
    assert done.exit_code == 0, done.output
    assert "Mean of signed records" in done.output


def test_it_is_stored_and_verified_on_trust(module: ModuleType, tmp_path: Path) -> None:
    model = ranker().fit(X, Y)
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="signed_mean:SignedMean"):
        load(tmp_path / "model")
    loaded = load(tmp_path / "model", trusted=[module.SignedMean])
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    report = verify(model.certificate_, trusted=["signed_mean:SignedMean"])
    assert report.holds
    assert report.on_trust == ("signed_mean:SignedMean",)
    assert all(each.holds for each in verify_file(tmp_path / "model", trusted=[module.SignedMean]))


def test_auto_takes_it_when_it_says_that_it_is_best(module: ModuleType) -> None:
    model = ranker("auto").fit(X, Y)
    assert model.certificate_.algorithm == "Mean of signed records"
    assert model.plan_.reasons[0].startswith("auto: noise 0 times the expected signal")


def test_auto_does_not_consider_it_where_it_does_not_apply(module: ModuleType) -> None:
    def considered(features: int) -> set[type]:
        found = ranker("auto").choices(300, features).candidates
        return {type(candidate.algorithm) for candidate in found}

    assert considered(3) - considered(4) == {module.SignedMean}


@pytest.fixture(params=["pairdp.algorithms", "pairdp.online"])
def package(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Yield a package of the library that has the file as one of its modules."""
    own = f"SignedMeanOf{request.param.rpartition('.')[2].title()}"  # names of classes are unique
    (tmp_path / "one_file_more.py").write_text(FILE.replace("SignedMean", own))
    found = importlib.import_module(request.param)
    monkeypatch.setattr(found, "__path__", [*found.__path__, str(tmp_path)])
    yield request.param
    sys.modules.pop(f"{request.param}.one_file_more", None)


def test_a_file_in_a_package_is_all_that_an_algorithm_needs(package: str) -> None:
    assert find_algorithm("signed-mean").name == "Mean of signed records"
    assert "signed-mean" in algorithms("pairs")
    assert ranker("auto").plan(300, 3).certificate.algorithm == "Mean of signed records"
