"""One certificate for releases on parts of the records."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from pairdp import Budget, BudgetLedger, Certificate, PrivateRanker, plan_evaluation, verify
from pairdp.privacy import NoiseSource
from pairdp.privacy.certificates.combined import (
    certificates_in,
    combine,
    is_combined,
    split_of,
)
from pairdp.privacy.certificates.held_out import HeldOut
from pairdp.privacy.mechanisms.noise_source import SECURE, SEEDED

SPLIT = HeldOut(0.25)
BUDGET = Budget(1.0, 1e-6)


def of_ranker(n: int = 300, budget: Budget = BUDGET, **parameters: object) -> Certificate:
    ranker = PrivateRanker(budget.epsilon, budget.delta, model="linear", data_norm=1.0)
    return ranker.set_params(**parameters).plan(n, 2).certificate


def of_evaluation(n: int = 100, epsilon: float = 1.0, **parameters: int) -> Certificate:
    return plan_evaluation(n, epsilon, **parameters).certificate


def whole(**parameters: int) -> Certificate:
    return combine(
        400,
        [
            ("training", of_ranker(**parameters)),
            ("evaluation", of_evaluation(**parameters)),
        ],
        SPLIT,
    )


def test_the_whole_costs_the_larger_part() -> None:
    found = whole()
    assert found.budget == BUDGET
    assert found.n == 400
    assert found.holds
    assert is_combined(found)
    assert not is_combined(of_ranker())
    smaller = combine(400, [("training", of_ranker()), ("evaluation", of_evaluation(epsilon=0.3))],
                      SPLIT)  # fmt: skip
    assert smaller.budget == BUDGET
    larger = combine(400, [("training", of_ranker()), ("evaluation", of_evaluation(epsilon=3.0))],
                     SPLIT)  # fmt: skip
    assert larger.budget == Budget(3.0, 1e-6)
    assert larger.epsilon() == pytest.approx(3.0)


def test_it_holds_and_is_read_back() -> None:
    found = whole()
    report = verify(found.to_json())
    assert report.holds
    assert Certificate.from_json(found.to_json()) == found
    assert pickle.loads(pickle.dumps(found)) == found
    assert split_of(found) == SPLIT
    assert [part for part, _ in certificates_in(found)] == ["training", "evaluation"]
    assert certificates_in(found)[0].certificate == of_ranker()
    words = found.statement()
    assert "100 of the 400 rows are for evaluation" in " ".join(words.split())
    assert "on the 300 records of training" in " ".join(words.split())


def test_units_are_split_as_a_whole() -> None:
    found = whole(max_records=3)
    assert verify(found).holds
    assert found.unit is not None
    assert all(release.part is not None and release.part.by_unit for release in found.releases)
    assert "All rows of one unit are in the part of its first row" in " ".join(
        found.statement().split()
    )


def test_releases_on_the_same_part_add_up() -> None:
    entries = [("training", of_ranker())] * 3 + [("evaluation", of_evaluation(epsilon=1.5))]
    found = combine(400, entries, SPLIT)
    assert found.budget == Budget(3.0, 3e-6)
    assert "3 times" in found.algorithm
    assert verify(found).holds
    tight = Budget(round(found.epsilon(3e-6), 3) + 0.001, 3e-6)
    claimed = combine(400, entries, SPLIT, budget=tight)
    assert tight.epsilon < 2.5
    assert verify(claimed).holds
    with pytest.raises(ValueError, match="which is more than"):
        combine(400, entries, SPLIT, budget=Budget(1.5, 1e-6))


def test_releases_on_all_records_add_to_those_on_parts() -> None:
    entries = [(None, of_evaluation(400, 0.5)), ("training", of_ranker())]
    found = combine(400, entries, SPLIT)
    assert found.budget == Budget(1.5, 1e-6)
    assert verify(found).holds


def test_parts_of_certificates_become_parts_of_parts() -> None:
    epochs = of_ranker(algorithm="DPEGD", threshold=0.0)
    assert len({release.part for release in epochs.releases}) > 1
    once = combine(400, [("training", epochs), ("evaluation", of_evaluation())], SPLIT)
    assert once.budget == BUDGET
    assert verify(once).holds
    twice = combine(400, [("training", epochs)] * 2, SPLIT)
    assert verify(twice).holds
    # A record may be in the most expensive part of both.
    assert twice.epsilon(1e-6) > 1.3
    nested = combine(500, [("training", once), ("evaluation", of_evaluation())], HeldOut(0.2))
    assert nested.budget == BUDGET
    assert verify(nested).holds


def test_noise_sources_are_those_of_the_runs() -> None:
    sources = [NoiseSource(), NoiseSource(1)]
    for choice, stated in [((0, 0), SECURE), ((0, 1), SEEDED), ((1, 1), SEEDED)]:
        entries = [
            (name, certificate.with_noise_source(sources[place]))
            for place, (name, certificate) in zip(choice, certificates_in(whole()), strict=True)
        ]
        assert combine(400, entries, SPLIT).noise_source == stated
    with pytest.raises(ValueError, match="of plans, and others of runs"):
        combine(400, [entries[0], certificates_in(whole())[1]], SPLIT)
    assert verify(whole().with_noise_source(sources[0])).holds


def test_what_cannot_be_combined_is_refused() -> None:
    ranker, evaluation = of_ranker(), of_evaluation()
    for entries, split, message in [
        ([], SPLIT, "no certificate"),
        ([("test", ranker)], SPLIT, "no part 'test'"),
        ([("training", ranker)], None, "no part 'training'"),
        ([("training", evaluation)], SPLIT, "is for n = 100 records"),
        ([(None, ranker)], None, "is for n = 300 records"),
        ([("training", ranker), ("evaluation", of_evaluation(max_records=2))], SPLIT, "different"),
        ([("training", of_ranker(epsilon=None, delta=None, algorithm="minimizer"))], SPLIT, "no p"),
    ]:
        with pytest.raises(ValueError, match=message):
            combine(400, entries, split)
    with pytest.raises(TypeError, match="must be Certificates"):
        combine(400, [("training", BUDGET)], SPLIT)  # type: ignore[list-item]


def test_a_ledger_pays_for_it_once() -> None:
    ledger = BudgetLedger(BUDGET)
    ledger.spend(whole())
    assert len(ledger.spends) == 1
    assert ledger.spent() == pytest.approx(1.0, rel=1e-3)
    assert ledger.remaining().pure_epsilon < 1e-3


def test_by_hand_certificates_are_not_planned_again() -> None:
    by_hand = replace(of_ranker(), plan=None)
    found = combine(400, [("training", by_hand), ("evaluation", of_evaluation())], SPLIT)
    report = verify(found)
    assert not report.holds
    assert report.headline.startswith("NOT PLANNED AGAIN")
