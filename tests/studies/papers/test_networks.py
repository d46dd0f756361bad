"""The study of networks: every method runs, and the printed noise is stated with its true ε."""

from __future__ import annotations

import pytest

from pairdp.studies.network_learning import NetworkLearning, rotated
from pairdp.studies.papers import kang2021_networks
from pairdp.studies.results import Results
from pairdp.studies.study import Scale


@pytest.mark.parametrize("method", ["reference", "linear", "additive"])
def test_every_method_has_an_auc_and_a_certificate(method: str) -> None:
    found = NetworkLearning(method, 200, 4.0, 1e-6, runs=2).run(None)  # type: ignore[arg-type]
    assert all(0 < value < 1 for value in found.values["AUC"])
    assert found.certificate is not None
    assert found.certificate["claim_is_proved"]


def test_the_printed_noise_is_larger_than_the_certified_one() -> None:
    printed = NetworkLearning("pairwise", 1000, 1.0, 1e-6, "printed", "theorem", runs=2).plan(12)
    certified = NetworkLearning("pairwise", 1000, 1.0, 1e-6, schedule="theorem", runs=2).plan(12)
    assert printed.true_epsilon < 0.5
    assert certified.true_epsilon == pytest.approx(1.0, rel=1e-3)
    (remark,) = kang2021_networks.study(Scale(2, quick=True)).remarks(Results("t", (), (), {}, {}))
    assert "printed σ" in remark.text


def test_runs_have_one_rotation_and_other_records() -> None:
    assert rotated(5, 0)[0].shape == (5, 12)
    assert not (rotated(5, 0)[0] == rotated(5, 1)[0]).any()
