"""The table of printed, required and certified noise."""

from __future__ import annotations

import pytest

from pairdp.algorithms.printed.descent_table import Row, main, noise_table


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return noise_table()


def find(rows: list[Row], algorithm: str, epsilon: float, delta: float) -> Row:
    (row,) = (r for r in rows if (r.algorithm, r.epsilon, r.delta) == (algorithm, epsilon, delta))
    return row


@pytest.mark.slow
def test_dpgdc2_fails_as_printed(rows: list[Row]) -> None:
    row = find(rows, "DPGDC2", 2.0, 1e-5)
    assert row.true_epsilon_any_loss == pytest.approx(2.115, abs=5e-4)
    assert not row.claim_holds
    assert find(rows, "DPGDC2", 1.0, 1e-5).claim_holds


def test_kang_fails_for_metrics_also_for_its_own_loss(rows: list[Row]) -> None:
    row = find(rows, "Kang2021, metric, its G = 1", 1.0, 1e-5)
    assert row.true_epsilon > 1.1
    assert not row.claim_holds


def test_certified_noise_is_least_and_true(rows: list[Row]) -> None:
    assert rows
    for row in rows:
        assert row.certified <= row.required * (1 + 1e-9)
        if row.claim_holds and not row.is_about_one_loss:
            assert row.required <= row.printed * (1 + 1e-9)


def test_output_perturbation_holds_everywhere_as_printed(rows: list[Row]) -> None:
    for row in rows:
        if row.algorithm in ("DPGDSC", "DPGDC", "DPEGD", "OffPairStrC", "OffPairC"):
            assert row.claim_holds


@pytest.mark.slow
def test_one_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--n", "200", "--features", "4"])
    out = capsys.readouterr().out
    assert "n = 200, 4 features" in out
    assert "CLAIM FALSE OR UNPROVED" in out
