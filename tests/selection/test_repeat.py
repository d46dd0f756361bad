"""Searches that fit a random number of candidates drawn at random."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairdp import (
    Budget,
    BudgetLedger,
    Certificate,
    CertificateError,
    PrivateRanker,
    PrivateScorecard,
    PrivateSearch,
    load,
    verify,
)
from pairdp.algorithms.repeated_search import gaussian_mu
from pairdp.privacy import RepeatAndSelect
from pairdp.verification import verify_file, verify_model

N = 4000
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
X = (RNG.normal(size=(N, 6)) + np.outer(Y, [2.0, 0.5, 0, 0, 0, 0])) / 12
RANKER = PrivateRanker(1.0, 1e-6, model="linear", algorithm="moments", data_norm=1.0)
SETS = [{"features": [place]} for place in range(6)]


def search(candidates: Any = SETS, **options: Any) -> PrivateSearch:
    return PrivateSearch(
        RANKER, candidates, **{"unpromising": "ignore", "random_state": 0, **options}
    )


def test_more_than_four_paid_candidates_are_drawn_at_random() -> None:
    assert search(SETS[:4]).plan(N, 6).method == "split"
    assert search(SETS[:4], method="repeat").plan(N, 6).method == "repeat"
    assert search(method="split").plan(N, 6).method == "split"
    assert search(budget=Budget(1.0)).plan(N, 6).method == "split"
    plan = search().plan(N, 6)
    assert plan.method == "repeat"
    split = search(method="split").plan(N, 6)
    parts = [each.candidates[0].plan.task.budget for each in (plan, split)]
    assert parts[0].epsilon > parts[1].epsilon  # type: ignore[union-attr]
    assert "never drawn with probability" in str(plan)
    with pytest.raises(ValueError, match="needs δ > 0"):
        search(method="repeat", budget=Budget(1.0)).plan(N, 6)
    with pytest.raises(ValueError, match="method"):
        search(method="other").plan(N, 6)


def test_each_fit_costs_what_the_certificate_says() -> None:
    plan = search().plan(N, 6)
    runs = plan.selection.mechanism.runs  # type: ignore[union-attr]
    for each in plan.candidates:
        assert 0.999 * runs.mu < gaussian_mu(each.plan.certificate) <= runs.mu


def test_it_finds_the_good_candidate_and_keeps_one_certificate(tmp_path: Path) -> None:
    found = [search(budget=Budget(8.0, 1e-5), random_state=seed).fit(X, Y) for seed in (0, 2)]
    assert sum(made.best_params_ == {"features": [0]} for made in found) >= 1  # it may be missed
    made = found[0]
    assert made.certificate_.budget == Budget(8.0, 1e-5)
    assert verify(made.certificate_).holds
    assert all(report.holds for report in verify_model(made))
    made.save(tmp_path / "a.pairdp")
    read = load(tmp_path / "a.pairdp")
    np.testing.assert_array_equal(read.coef_, made.best_estimator_.coef_)
    assert [report.holds for report in verify_file(tmp_path / "a.pairdp")] == [True]
    statement = " ".join(made.privacy_statement().split())
    assert "a geometric number of fits, 18 on average" in statement


def test_only_noisy_scores_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Released scores fall from fit to fit, whatever the records are: the first one is chosen."""
    drawn: list[int] = []
    scores: list[float] = []
    draw = RepeatAndSelect.draw

    def recorded(self: RepeatAndSelect, generator: np.random.Generator) -> int:
        drawn.append(draw(self, generator))
        return drawn[-1]

    def falling(self: RepeatAndSelect, vector: Any, generator: np.random.Generator) -> Any:
        scores.append(-float(len(scores)))
        return np.array(scores[-1:])

    monkeypatch.setattr(RepeatAndSelect, "draw", recorded)
    monkeypatch.setattr(RepeatAndSelect, "_release", falling)
    made = search(random_state=3).fit(X, Y)
    assert len(scores) == len(drawn) > 1
    assert made.best_index_ == drawn[0] != 0  # the first column is by far the best


def test_a_ledger_pays_for_all_runs_once() -> None:
    ledger = BudgetLedger(Budget(2.0, 1e-5))
    search(random_state=None, ledger=ledger).fit(X, Y)
    assert len(ledger.spends) == 1


def test_no_bar_and_no_warning_tells_how_many_runs_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    search(verbose=True).fit(X, Y)
    shown = capsys.readouterr().err
    assert "it" not in shown.replace("fits", "")
    assert "%" not in shown


def test_candidates_with_other_noise_are_split() -> None:
    ranker = PrivateRanker(1.0, 1e-6, data_norm=1.0)
    sampled = [{"algorithm": "DPGDC2", "radius": radius} for radius in (0.2, 0.4, 0.6, 0.8, 1.0)]
    assert PrivateSearch(ranker, sampled).plan(N, 6).method == "repeat"
    cards = [("card", PrivateScorecard(1.0, 1e-6, data_norm=1.0)), ("ranker", RANKER)]
    assert PrivateSearch(None, cards, method="repeat").plan(N, 6).method == "repeat"
    pure = [("sgd", PrivateRanker(1.0, 1e-6, algorithm="Yang2021", data_norm=1.0)), *cards]
    with pytest.raises(ValueError, match="noise is Gaussian"):
        PrivateSearch(None, pure, method="repeat").plan(N, 6)


def edited(certificate: Certificate, **runs: object) -> Certificate:
    values = certificate.to_dict()
    values["releases"][0]["runs"].update(runs)  # type: ignore[index]
    from pairdp._sealed import seal

    return Certificate.from_json(seal(values))


def test_forged_certificates_are_refused() -> None:
    certificate = search().plan(N, 6).certificate
    assert verify(Certificate.from_json(certificate.to_json())).holds
    with pytest.raises(CertificateError, match="too small for what is claimed"):
        edited(certificate, epsilon=0.5)
    with pytest.raises(CertificateError):
        verify(edited(certificate, mean=10))
    with pytest.raises(CertificateError):
        verify(edited(certificate, mu=0.01))
    values = certificate.to_dict()
    fields = values["plan"]["statistic"]["fields"]  # type: ignore[index]
    first = json.loads(fields["candidates"]["tuple"][0])
    richer = RANKER.plan(3200, 6).certificate  # with the whole budget
    fields["candidates"]["tuple"][0] = richer.to_json()
    from pairdp._sealed import seal

    assert first["n"] == 3200
    with pytest.raises(CertificateError, match="costs more than is planned"):
        verify(Certificate.from_json(seal(values)))
