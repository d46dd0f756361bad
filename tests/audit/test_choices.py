"""The private choice of a model, audited on the neighbours that change its odds most."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp import Budget
from pairdp.audit import audit_choice
from pairdp.audit.choices import _signs, worst_scores
from pairdp.evaluation.selection import ModelSelection, centred_sum
from pairdp.privacy import PermuteAndFlip, Unit

SURE = 1 - 1e-7


@pytest.mark.parametrize("records", [1, 3])
@pytest.mark.parametrize("models", [2, 5])
def test_scores_move_by_the_whole_sensitivity(models: int, records: int) -> None:
    """In opposite directions: more than that, no pair of neighbours can do to two models."""
    unit = None if records == 1 else Unit("person", records)
    plan = ModelSelection(models).plan(400, Budget(1.0), unit)
    one, other = worst_scores(plan)
    changed = np.any([a != b for a, b in zip(one, other, strict=True)], axis=0)
    assert changed.sum() == records
    moved = [
        centred_sum(b, _signs(plan)) - centred_sum(a, _signs(plan))
        for a, b in zip(one, other, strict=True)
    ]
    assert moved[0] == pytest.approx(records, rel=0.01)
    assert moved[1] == pytest.approx(-records, rel=0.01)
    assert moved[2:] == [0] * (models - 2)


def test_the_lower_bound_is_close_to_the_claim_and_below() -> None:
    plan = ModelSelection(4).plan(100, Budget(2.0))
    report = audit_choice(plan, runs=3000, confidence=SURE)
    assert not report.is_violated
    assert 0.9 < report.lower_bound <= 2.0


def test_too_little_noise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = ModelSelection(2).plan(100, Budget(1.0))
    exact = PermuteAndFlip._release

    def quarter(self: PermuteAndFlip, vector: np.ndarray, draws: np.random.Generator) -> np.ndarray:
        return exact(self, 4 * vector, draws)

    monkeypatch.setattr(PermuteAndFlip, "_release", quarter)
    report = audit_choice(plan, runs=2000, confidence=SURE)
    assert report.is_violated
    assert audit_choice(plan, claimed=Budget(5.0), runs=200).claimed == Budget(5.0)
