"""The table of gains over the printed noise of the stochastic papers."""

from __future__ import annotations

import math

import pytest

from pairdp.algorithms.printed import sgd_table


def test_at_least_ten_times_less_for_any_loss_and_fifty_for_a_rounded_hinge() -> None:
    row = sgd_table.yang_row(1000, 1000)
    assert row["printed"] == pytest.approx(1697, rel=1e-3)
    assert row["printed"] / row["any loss"] > 9.9
    assert row["printed"] / row["any loss, in passes"] > 10
    assert row["printed"] / row["hinge"] > 19
    assert row["printed"] / row["rounded"] > 80
    assert row["rounded, in passes"] < row["rounded"] < row["hinge"] < row["any loss"]


@pytest.mark.parametrize(
    ("pairs", "n", "steps", "epsilon", "any_loss", "ranking"),
    [
        (True, 1000, 1000, 2.0, 1.352, 0.676),
        (True, 5000, 1000, 1.0, 1.353, 0.677),
        (False, 5000, 5000, 2.0, 1.154, 0.577),
    ],
)
def test_certified_noise_on_sampled_steps(
    pairs: bool, n: int, steps: int, epsilon: float, any_loss: float, ranking: float
) -> None:
    row = sgd_table.wang_row(n, steps, epsilon, pairs=pairs)
    assert row["any loss"] == pytest.approx(any_loss, rel=0.005)
    assert row["ranking"] == pytest.approx(ranking, rel=0.005)
    assert row["printed"] > 2 * row["ranking"]


def test_where_no_beta_serves_the_table_says_so() -> None:
    assert math.isnan(sgd_table.wang_row(1000, 1000, 1.0, pairs=True)["printed"])


def test_the_command_prints_both_tables(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sgd_table, "SIZES", ((100, 1),))
    monkeypatch.setattr(sgd_table, "WANG", ((1000, 1000),))
    sgd_table.main()
    out = capsys.readouterr().out
    assert "equation (5)" in out
    assert "no β" in out
    assert out.count("x)") == 5 + 2 * 2 + 2 * 3


@pytest.mark.parametrize(("size", "noise"), [(2, 0.677), (10, 0.174), (50, 0.078), (5000, 0.061)])
def test_larger_batches_need_less_noise(size: int, noise: float) -> None:
    assert sgd_table.batch_row(size) == pytest.approx(noise, rel=0.02)
