"""The printed noise of Huai 2020 against what is certified."""

from __future__ import annotations

import pytest

from pairdp.online import printed_table

# n, α, printed σ at the end, gains of noise on models and in gradients (errata, H1,
# whose G = 4 is that of an unbounded set: 2 % more than on the ball).
KNOWN = [
    (100, 1e-3, 1.0e4, 273, 219),
    (100, 1.0, 12.8, 8.7, 11.5),
    (1000, 1e-3, 3.9e3, 24, 23),
    (1000, 0.1, 39.9, 6.3, 8.3),
    (10_000, 1e-2, 141, 5.7, 7.5),
]


@pytest.mark.parametrize(("n", "alpha", "printed", "models", "gradients"), KNOWN)
def test_the_table_is_reproduced(
    n: int, alpha: float, printed: float, models: float, gradients: float
) -> None:
    row = printed_table.gain_row(n, alpha)
    assert row["printed"] == pytest.approx(printed, rel=0.04)
    assert row["models_end"] == pytest.approx(models, rel=0.04)
    assert row["gradients_end"] == pytest.approx(gradients, rel=0.04)


def test_at_least_twenty_times_less_noise_at_the_end() -> None:
    row = printed_table.gain_row(1000, 1e-3)
    assert min(row["models_end"], row["gradients_end"]) >= 20


def test_every_row_gains() -> None:
    for n in (100, 1000):
        for alpha in printed_table.ALPHAS:
            row = printed_table.gain_row(n, alpha)
            assert all(gain > 5 for name, gain in row.items() if name != "printed")
