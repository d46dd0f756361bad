from __future__ import annotations

import errno
import itertools
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

import pairdp
from pairdp._sealed import seal, unseal
from pairdp.privacy import (
    ApproximateEvent,
    Budget,
    BudgetExceededError,
    BudgetLedger,
    Certificate,
    Event,
    FixedSizeSampling,
    GaussianEvent,
    GaussianMechanism,
    KNormMechanism,
    LaplaceMechanism,
    LedgerError,
    Mechanism,
    NonPrivateEvent,
    ParallelEvent,
    PoissonSampling,
    PrivacyCurve,
    PureEvent,
    Release,
    SampledEvent,
    Sensitivity,
    SequentialEvent,
)

BUDGET = Budget(1.0, 1e-5)


def gaussian_delta(epsilon: float, mu: float) -> float:
    low = -mu / 2 - epsilon / mu
    return float(norm.cdf(low + mu) - math.exp(epsilon) * norm.cdf(low))


def gaussian_limit(budget: Budget) -> float:
    return float(brentq(lambda m: gaussian_delta(budget.epsilon, m) - budget.delta, 0.01, 10))


def certificate(mechanism: Mechanism, budget: Budget, count: int = 1) -> Certificate:
    release = Release("a vector", mechanism, Sensitivity.stated(1.0), 5, count)
    return Certificate("some learner", budget, 100, (release,))


def unit_sensitivity() -> float:
    return Sensitivity.stated(1.0).value


def spend_all(budget: Budget, events: list[Event]) -> BudgetLedger:
    ledger = BudgetLedger(budget)
    for number, event in enumerate(events):
        ledger.spend(event, f"release {number}")
    return ledger


def test_an_empty_ledger_has_its_whole_budget() -> None:
    ledger = BudgetLedger(BUDGET)
    assert ledger.budget == BUDGET
    assert ledger.spends == ()
    assert ledger.spent() == 0
    remaining = ledger.remaining()
    assert remaining.pure_epsilon == 1.0
    assert remaining.gaussian_mu == pytest.approx(gaussian_limit(BUDGET), rel=1e-9)
    assert remaining.gaussian_epsilon == pytest.approx(1.0, rel=1e-9)


def test_gaussian_spends_add_up_as_squares() -> None:
    ledger = spend_all(BUDGET, [GaussianEvent(0.06), GaussianEvent(0.08)])
    assert gaussian_delta(ledger.spent(), 0.1) == pytest.approx(BUDGET.delta, rel=1e-9)
    left = math.sqrt(gaussian_limit(BUDGET) ** 2 - 0.1**2)
    assert ledger.remaining().gaussian_mu == pytest.approx(left, rel=1e-9)


@pytest.mark.parametrize("count", [1, 2, 10, 50])
def test_gaussian_spends_fill_the_analytic_limit(count: int) -> None:
    share = gaussian_limit(BUDGET) / math.sqrt(count)
    ledger = spend_all(BUDGET, [GaussianEvent(share * (1 - 1e-9))] * count)
    assert ledger.spent() == pytest.approx(BUDGET.epsilon, rel=1e-6)
    with pytest.raises(BudgetExceededError):
        spend_all(BUDGET, [GaussianEvent(share * (1 + 1e-9))] * count)


def test_pure_spends_add_up_and_fill_the_budget() -> None:
    ledger = spend_all(Budget(1.0), [PureEvent(0.25), PureEvent(0.125, count=4), PureEvent(0.25)])
    assert ledger.spent() == 1.0
    assert ledger.remaining().pure_epsilon == 0
    with pytest.raises(BudgetExceededError):
        ledger.spend(PureEvent(1e-12), "a crumb")


def test_a_hundred_hundredths_are_a_whole() -> None:
    ledger = spend_all(Budget(1.0), [PureEvent(0.01)] * 100)
    with pytest.raises(BudgetExceededError):
        ledger.spend(PureEvent(0.01), "one more")
    assert len(ledger.spends) == 100


def test_mixtures_are_cheaper_than_adding_epsilons() -> None:
    events: list[Event] = [PureEvent(0.3), GaussianEvent(0.15), PureEvent(0.1)]
    spent = spend_all(BUDGET, events).spent()
    alone = [PrivacyCurve(event).epsilon(BUDGET.delta) for event in events]
    assert max(alone) < spent < 0.98 * sum(alone)


def test_many_pure_spends_cost_less_than_their_sum_when_delta_is_positive() -> None:
    assert spend_all(BUDGET, [PureEvent(0.02, count=100)]).spent() < 0.9


def test_parallel_parts_cost_their_worst() -> None:
    ledger = BudgetLedger(Budget(1.0))
    ledger.spend(ParallelEvent((PureEvent(0.5), PureEvent(0.75))), "two parts")
    assert ledger.spent() == 0.75


def test_a_sampled_release_costs_less_than_on_all_records() -> None:
    sampled = SampledEvent(0.5, FixedSizeSampling(10, 1000), 5)
    spent = spend_all(BUDGET, [sampled]).spent()
    assert spent < PrivacyCurve(GaussianEvent(0.5)).epsilon(BUDGET.delta)
    assert spent == pytest.approx(PrivacyCurve(sampled).epsilon(BUDGET.delta))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.floats(1e-3, 0.6), max_size=12))
def test_pure_spends_are_refused_exactly_when_the_sum_exceeds(amounts: list[float]) -> None:
    ledger = BudgetLedger(Budget(1.0))
    kept: list[float] = []
    for amount in amounts:
        if math.fsum([*kept, amount]) <= 1.0:
            ledger.spend(PureEvent(amount), "fits")
            kept.append(amount)
        else:
            with pytest.raises(BudgetExceededError):
                ledger.spend(PureEvent(amount), "does not")
    assert [s.event for s in ledger.spends] == [PureEvent(a) for a in kept]


def test_overspending_says_what_is_left_and_spends_nothing(tmp_path: Path) -> None:
    ledger = BudgetLedger(Budget(1.0), tmp_path / "ledger.json")
    ledger.spend(PureEvent(0.75), "first")
    before = (tmp_path / "ledger.json").read_bytes()
    with pytest.raises(BudgetExceededError, match=r"second model .* ε = 0\.25.*Nothing was spent"):
        ledger.spend(PureEvent(0.5), "second model")
    assert (tmp_path / "ledger.json").read_bytes() == before
    assert len(ledger.spends) == 1
    ledger.spend(PureEvent(0.25), "what was said to be left")


def test_overspending_with_noise_says_both_kinds_that_are_left() -> None:
    ledger = spend_all(BUDGET, [GaussianEvent(0.1)])
    with pytest.raises(BudgetExceededError) as caught:
        ledger.spend(GaussianEvent(0.5), "too much")
    message, left = str(caught.value), ledger.remaining()
    for said in ("ε = 1", "δ = 1e-05", f"{left.pure_epsilon:.6g}", f"{left.gaussian_mu:.6g}"):
        assert said in message
    assert len(ledger.spends) == 1


@pytest.mark.parametrize("budget", [Budget(1.0), BUDGET])
@pytest.mark.parametrize(
    "event",
    [
        NonPrivateEvent(),
        ParallelEvent((PureEvent(0.1), NonPrivateEvent())),
        SequentialEvent((PureEvent(0.1), NonPrivateEvent())),
    ],
)
def test_a_release_without_guarantee_never_fits(budget: Budget, event: Event) -> None:
    ledger = BudgetLedger(budget)
    with pytest.raises(BudgetExceededError):
        ledger.spend(event, "baseline")
    assert ledger.spends == ()


@pytest.mark.parametrize("event", [GaussianEvent(1e-6), ApproximateEvent(0.1, 1e-9)])
def test_a_pure_budget_has_no_delta_to_spend(event: Event) -> None:
    ledger = BudgetLedger(Budget(1.0))
    with pytest.raises(BudgetExceededError):
        ledger.spend(event, "with delta")
    assert ledger.remaining().gaussian_mu == 0


@pytest.mark.parametrize(
    "event",
    [
        PureEvent(800.0),
        PureEvent(1e308, count=10),
        PureEvent(1.0, count=10**15),
        GaussianEvent(1e308),
        SampledEvent(1e300, FixedSizeSampling(1, 10), 5),
        SampledEvent(1e300, PoissonSampling(0.1), 5),
    ],
    ids=lambda event: repr(event)[:40],
)
@pytest.mark.parametrize("budget", [Budget(1.0), BUDGET], ids=["pure", "approximate"])
def test_absurd_costs_do_not_fit(budget: Budget, event: Event) -> None:
    ledger = BudgetLedger(budget)
    with pytest.raises(BudgetExceededError):
        ledger.spend(event, "absurd")
    assert ledger.spends == ()


@pytest.mark.parametrize("garbage", ["pure", 0.5, None, object(), {"kind": "pure"}, PureEvent])
def test_what_is_no_cost_is_refused_by_name(garbage: object) -> None:
    ledger = BudgetLedger(BUDGET)
    with pytest.raises((TypeError, ValueError)) as caught:
        ledger.spend(garbage, "garbage")
    assert not isinstance(caught.value, BudgetExceededError)
    if garbage is not None:
        assert "got None" not in str(caught.value)
        assert not str(caught.value).endswith(": None")
    assert ledger.spends == ()


@pytest.mark.parametrize("label", ["", "   ", None, 5])
def test_labels_must_say_something(label: object) -> None:
    ledger = BudgetLedger(BUDGET)
    with pytest.raises((TypeError, ValueError), match="label"):
        ledger.spend(PureEvent(0.1), label)
    assert ledger.spends == ()


@pytest.mark.parametrize("budget", [1.0, (1.0, 1e-5), None, "1"])
def test_the_budget_must_be_a_budget(budget: object) -> None:
    with pytest.raises(TypeError, match="budget must be a Budget"):
        BudgetLedger(budget)


def test_a_budget_is_spent_as_what_is_known_of_it() -> None:
    ledger = BudgetLedger(BUDGET)
    assert ledger.spend(Budget(0.25), "pure").event == PureEvent(0.25)
    assert ledger.spend(Budget(0.25, 1e-6), "other").event == ApproximateEvent(0.25, 1e-6)
    assert ledger.spent() <= 0.5


def test_a_certificate_is_spent_as_its_event_under_its_name() -> None:
    paper = certificate(GaussianMechanism(unit_sensitivity(), 20.0), Budget(0.5, 1e-5))
    ledger = BudgetLedger(BUDGET)
    spend = ledger.spend(paper)
    assert (spend.label, spend.event) == ("some learner", paper.event)
    assert ledger.spend(paper, "my label").label == "my label"
    assert [s.label for s in ledger.spends] == ["some learner", "my label"]


def test_a_certificate_that_claims_nothing_does_not_fit() -> None:
    mechanism = GaussianMechanism(unit_sensitivity(), 1000.0)
    release = Release("a vector", mechanism, Sensitivity.stated(1.0), 5)
    baseline = Certificate("baseline", None, 100, (release,), calibration="none")
    with pytest.raises(BudgetExceededError):
        BudgetLedger(BUDGET).spend(baseline)


def test_spends_are_dated() -> None:
    spend = BudgetLedger(BUDGET).spend(PureEvent(0.1), "now")
    moment = datetime.fromisoformat(spend.time)
    assert moment.utcoffset() == timedelta(0)
    assert abs(moment.timestamp() - time.time()) < 60


@pytest.mark.parametrize("steps", [1, 3, 7, 30])
@pytest.mark.parametrize("kind", ["gaussian", "k-norm", "laplace"])
def test_a_release_calibrated_for_the_whole_budget_fits_an_unspent_ledger(
    kind: str, steps: int
) -> None:
    refused = []
    for hundredths in range(5, 300, 7):
        epsilon, sensitivity = hundredths / 100, unit_sensitivity()
        budget = Budget(epsilon, 1e-5) if kind == "gaussian" else Budget(epsilon)
        mechanism: Mechanism
        if kind == "gaussian":
            mechanism = GaussianMechanism.calibrate(budget, sensitivity, steps=steps)
        elif kind == "k-norm":
            mechanism = KNormMechanism.calibrate(budget, sensitivity, steps=steps)
        else:
            mechanism = LaplaceMechanism.calibrate(budget, sensitivity, dimension=5, steps=steps)
        try:
            BudgetLedger(budget).spend(certificate(mechanism, budget, steps))
        except BudgetExceededError:
            refused.append(epsilon)
    assert refused == []


HISTORIES: dict[str, tuple[Budget, list[Event]]] = {
    "pure budget": (Budget(1.0), [PureEvent(0.1), PureEvent(0.2), PureEvent(0.05, count=3)]),
    "gaussian": (BUDGET, [GaussianEvent(0.1), GaussianEvent(0.07)]),
    "mixture": (BUDGET, [PureEvent(0.3), GaussianEvent(0.1)]),
    "one pure, delta positive": (BUDGET, [PureEvent(0.5)]),
    "many pure, delta positive": (BUDGET, [PureEvent(0.01, count=90)]),
    "sampled": (BUDGET, [SampledEvent(1.0, FixedSizeSampling(10, 1000), 10)]),
}


@pytest.mark.parametrize("kind", [PureEvent, GaussianEvent])
@pytest.mark.parametrize("history", HISTORIES)
def test_what_remains_fits_and_one_percent_more_does_not(
    history: str, kind: type[PureEvent] | type[GaussianEvent]
) -> None:
    budget, events = HISTORIES[history]
    ledger = spend_all(budget, events)
    remaining = ledger.remaining()
    amount = remaining.pure_epsilon if kind is PureEvent else remaining.gaussian_mu
    if budget.is_pure and kind is GaussianEvent:
        assert amount == 0
        return
    assert amount > 0
    with pytest.raises(BudgetExceededError):
        ledger.spend(kind(amount * 1.01), "one percent more")
    ledger.spend(kind(amount), "what remains")


def test_remaining_gaussian_epsilon_belongs_to_its_ratio() -> None:
    remaining = spend_all(BUDGET, [PureEvent(0.3), GaussianEvent(0.1)]).remaining()
    delta = gaussian_delta(remaining.gaussian_epsilon, remaining.gaussian_mu)
    assert delta == pytest.approx(BUDGET.delta, rel=1e-6)


def test_remaining_is_readable() -> None:
    assert str(BudgetLedger(Budget(0.5)).remaining()) == "one pure release of ε = 0.5"
    both = str(BudgetLedger(BUDGET).remaining())
    assert re.fullmatch(
        r"one pure release of ε = 1, or one Gaussian release of Δ/σ = 0\.268\d+ "
        r"\(ε = 1 by itself\)",
        both,
    )


def test_nothing_remains_of_a_ledger_overspent_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    BudgetLedger(Budget(1.0), path).spend(PureEvent(1.0), "all of it")
    rewrite(path, lambda document: document["spends"][0]["event"].update(epsilon=3.0))
    ledger = BudgetLedger.load(path)
    assert ledger.remaining().pure_epsilon == 0
    with pytest.raises(BudgetExceededError):
        ledger.spend(PureEvent(1e-9), "more")


def rewrite(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    document = unseal(path.read_bytes())
    change(document)
    path.write_text(seal(document), encoding="utf-8")


def names_in(directory: Path) -> set[str]:
    return {entry.name for entry in directory.iterdir()}


EVERY_KIND: list[Event] = [
    GaussianEvent(0.01),
    PureEvent(0.01, count=3),
    ApproximateEvent(0.01, 1e-8),
    SampledEvent(0.1, FixedSizeSampling(10, 1000), 3),
    SampledEvent(0.1, PoissonSampling(0.01), 3),
    ParallelEvent((PureEvent(0.01), SequentialEvent((GaussianEvent(0.01), PureEvent(0.005))))),
]


def test_saved_and_restored(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(BUDGET, path)
    spends = tuple(ledger.spend(event, f"ünïcode {event}") for event in EVERY_KIND)
    for restored in (BudgetLedger(BUDGET, str(path)), BudgetLedger.load(str(path))):
        assert restored.budget == BUDGET
        assert restored.spends == spends == ledger.spends


def test_a_restored_ledger_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(BUDGET, path)
    for mu in (0.1, 0.2):
        ledger.spend(GaussianEvent(mu), "noisy")
    restored = BudgetLedger.load(path)
    assert restored.spent() == ledger.spent()
    assert restored.remaining() == ledger.remaining()
    with pytest.raises(BudgetExceededError):
        restored.spend(GaussianEvent(0.2), "too much")


def test_a_new_ledger_is_on_disk_at_once(tmp_path: Path) -> None:
    BudgetLedger(BUDGET, tmp_path / "ledger.json")
    document = json.loads((tmp_path / "ledger.json").read_text(encoding="utf-8"))
    assert document["format"] == "pairdp ledger"
    assert document["format_version"] == 1
    assert document["relation"] == "replace-one"
    assert document["budget"] == {"epsilon": 1.0, "delta": 1e-5}
    assert document["spends"] == []


def test_a_spend_is_on_disk_when_it_returns(tmp_path: Path) -> None:
    ledger = BudgetLedger(Budget(1.0), tmp_path / "ledger.json")
    for count in range(1, 5):
        ledger.spend(PureEvent(0.1), "again")
        assert len(BudgetLedger.load(tmp_path / "ledger.json").spends) == count
    assert names_in(tmp_path) <= {"ledger.json", "ledger.json.lock"}


def test_two_ledgers_on_one_file_see_each_others_spends(tmp_path: Path) -> None:
    one, other = (BudgetLedger(Budget(1.0), tmp_path / "ledger.json") for _ in range(2))
    one.spend(PureEvent(0.75), "one")
    assert [s.label for s in other.spends] == ["one"]
    assert other.remaining().pure_epsilon == 0.25
    with pytest.raises(BudgetExceededError):
        other.spend(PureEvent(0.5), "other")


def test_ledgers_in_memory_are_separate() -> None:
    one, other = BudgetLedger(Budget(1.0)), BudgetLedger(Budget(1.0))
    one.spend(PureEvent(1.0), "one")
    assert other.spends == ()


@pytest.mark.parametrize("other", [Budget(2.0, 1e-5), Budget(1.0, 1e-6), Budget(1.0)])
def test_another_budget_is_refused(tmp_path: Path, other: Budget) -> None:
    path = tmp_path / "ledger.json"
    BudgetLedger(BUDGET, path).spend(PureEvent(0.1), "first")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=re.escape(f"has {BUDGET}, not {other}")):
        BudgetLedger(other, path)
    assert path.read_bytes() == before


def test_a_budget_that_changes_under_an_open_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(Budget(1.0), path)
    rewrite(path, lambda document: document.update(budget={"epsilon": 100.0, "delta": 0.0}))
    with pytest.raises(LedgerError, match="own budget"):
        ledger.spend(PureEvent(0.1), "after")


def test_loading_a_missing_file_is_an_error_and_makes_none(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be read"):
        BudgetLedger.load(tmp_path / "ledger.json")
    assert not (tmp_path / "ledger.json").exists()


def test_a_deleted_file_is_not_a_fresh_budget(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(Budget(1.0), path)
    ledger.spend(PureEvent(1.0), "all of it")
    path.unlink()
    with pytest.raises(LedgerError):
        ledger.spend(PureEvent(1.0), "again")
    assert not path.exists()


def test_a_directory_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "ledger.json").mkdir()
    with pytest.raises(LedgerError, match="cannot be read"):
        BudgetLedger(BUDGET, tmp_path / "ledger.json")
    with pytest.raises(LedgerError, match="cannot be read"):
        BudgetLedger.load(tmp_path / "ledger.json")
    assert (tmp_path / "ledger.json").is_dir()


def test_a_symbolic_link_is_the_ledger_it_points_to(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    BudgetLedger(Budget(1.0), real)
    link.symlink_to(real)
    BudgetLedger(Budget(1.0), link).spend(PureEvent(1.0), "all of it")
    with pytest.raises(BudgetExceededError):
        BudgetLedger(Budget(1.0), real).spend(PureEvent(1.0), "all of it again")


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(BUDGET, path)
    ledger.spend(PureEvent(0.25), "first")
    ledger.spend(GaussianEvent(0.125), "second")
    return path


def resealed(**changes: object) -> Callable[[bytes], bytes]:
    return lambda content: seal({**unseal(content), **changes}).encode()


def without(*path: str | int) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        document = unseal(content)
        inner: object = document
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]
        return seal(document).encode()

    return change


def with_event(**event: object) -> Callable[[bytes], bytes]:
    return resealed(spends=[{"label": "x", "time": "t", "event": event}])


def edited(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        assert content.count(old) == 1
        return content.replace(old, new)

    return change


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "zeros": lambda content: bytes(len(content)),
    "half": lambda content: content[: len(content) // 2],
    "twice": lambda content: content + content,
    "not JSON": lambda _: b"spent: a lot",
    "not text": lambda _: bytes(range(128, 256)),
    "other JSON": lambda _: b'{"a": 1}',
    "JSON list": lambda _: b"[]",
    "no digest": lambda content: json.dumps(unseal(content)).encode(),
    "spend changed, digest kept": edited(b'"epsilon": 0.25', b'"epsilon": 0.01'),
    "spend dropped, digest kept": lambda content: json.dumps(
        {**json.loads(content), "spends": []}
    ).encode(),
    "budget raised, digest kept": edited(b'"delta": 1e-05', b'"delta": 1e-02'),
    "not a number": edited(b'"epsilon": 0.25', b'"epsilon": NaN'),
    "infinite": edited(b'"epsilon": 0.25', b'"epsilon": 1e999'),
    "a key twice": edited(b'"mu": 0.125', b'"mu": 0.125, "mu": 0.125'),
    "newer version": resealed(format_version=2),
    "version in words": resealed(format_version="1"),
    "another format": resealed(format="pairdp certificate"),
    "another relation": resealed(relation="add-remove"),
    "unknown field": resealed(comment="hello"),
    "no spends": without("spends"),
    "no budget": without("budget"),
    "no label": without("spends", 0, "label"),
    "no event": without("spends", 0, "event"),
    "no epsilon": without("budget", "epsilon"),
    "spends are no list": resealed(spends={}),
    "spends are nothing": resealed(spends=None),
    "a spend is a number": resealed(spends=[1]),
    "budget below zero": resealed(budget={"epsilon": -1.0, "delta": 0.0}),
    "budget in words": resealed(budget={"epsilon": "1", "delta": 0.0}),
    "unknown event": with_event(kind="free", mu=0.1),
    "event below zero": with_event(kind="pure", epsilon=-0.5, count=1),
    "event with more fields": with_event(kind="pure", epsilon=0.5, count=1, free=True),
    "event without count": with_event(kind="pure", epsilon=0.5),
    "half a release": with_event(kind="pure", epsilon=0.5, count=0.5),
    "parallel to nothing": with_event(kind="parallel", parts=[]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused_and_left_as_it_is(written: Path, damage: str) -> None:
    ledger = BudgetLedger(BUDGET, written)
    damaged = DAMAGES[damage](written.read_bytes())
    written.write_bytes(damaged)
    attempts: list[Callable[[], object]] = [
        lambda: BudgetLedger.load(written),
        lambda: BudgetLedger(BUDGET, written),
        lambda: ledger.spend(PureEvent(0.01), "more"),
        ledger.remaining,
        ledger.spent,
        lambda: ledger.spends,
    ]
    for attempt in attempts:
        with pytest.raises(LedgerError, match=re.escape(str(written))):
            attempt()
    assert written.read_bytes() == damaged
    assert names_in(written.parent) <= {"ledger.json", "ledger.json.lock"}


def test_a_newer_version_is_named(written: Path) -> None:
    written.write_bytes(resealed(format_version=2)(written.read_bytes()))
    with pytest.raises(LedgerError, match=r"format version 2 .* use a newer pairdp"):
        BudgetLedger.load(written)


def test_truncated_files_are_refused(written: Path) -> None:
    whole = written.read_bytes()
    for length in range(0, len(whole.rstrip()), 3):
        written.write_bytes(whole[:length])
        with pytest.raises(LedgerError):
            BudgetLedger.load(written)
        assert written.read_bytes() == whole[:length]


def test_files_with_a_flipped_byte_are_refused(written: Path) -> None:
    whole = written.read_bytes()
    for position in range(0, len(whole) - 1, 3):
        flipped = bytearray(whole)
        flipped[position] ^= 1
        written.write_bytes(flipped)
        with pytest.raises(LedgerError):
            BudgetLedger.load(written)


def test_a_repaired_file_works_again(written: Path) -> None:
    ledger = BudgetLedger(BUDGET, written)
    whole = written.read_bytes()
    written.write_bytes(whole[:100])
    with pytest.raises(LedgerError):
        ledger.spend(PureEvent(0.01), "while damaged")
    written.write_bytes(whole)
    ledger.spend(PureEvent(0.01), "after repair")
    assert [s.label for s in ledger.spends] == ["first", "second", "after repair"]


def raising(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failing_disk_spends_nothing(
    written: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    ledger = BudgetLedger.load(written)
    before, spends = written.read_bytes(), ledger.spends
    with monkeypatch.context() as broken:
        broken.setattr(os, call, raising(OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(LedgerError, match=r"No space left on device.*Nothing was spent"):
            ledger.spend(PureEvent(0.01), "on a full disk")
    assert written.read_bytes() == before
    assert names_in(written.parent) <= {"ledger.json", "ledger.json.lock"}
    assert ledger.spends == spends
    ledger.spend(PureEvent(0.01), "with space again")
    assert len(BudgetLedger.load(written).spends) == len(spends) + 1


def test_what_is_said_of_a_spend_is_true_when_the_directory_cannot_be_flushed(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, fsync, calls = BudgetLedger.load(written), os.fsync, itertools.count(1)

    def fail_second(handle: int) -> None:
        if next(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")
        fsync(handle)

    before = len(ledger.spends)
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fail_second)
        try:
            ledger.spend(PureEvent(0.01), "flushed or not")
        except LedgerError as error:
            spent = "Nothing was spent" not in str(error)
        else:
            spent = True
    assert len(BudgetLedger.load(written).spends) == before + spent


def test_a_new_ledger_on_a_failing_disk_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", raising(OSError(errno.EIO, "Input/output error")))
        with pytest.raises(LedgerError, match="Input/output error"):
            BudgetLedger(BUDGET, tmp_path / "ledger.json")
    assert names_in(tmp_path) <= {"ledger.json.lock"}


def test_an_interrupt_while_writing_spends_nothing(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, before = BudgetLedger.load(written), written.read_bytes()
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", raising(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            ledger.spend(PureEvent(0.01), "interrupted")
    assert written.read_bytes() == before
    assert len(ledger.spends) == 2
    ledger.spend(PureEvent(0.01), "afterwards")


# One process imports the library and forks for every order it gets, so that a
# worker costs milliseconds. Workers write + for a spend that returned and - for a
# refused one; the forking process writes their process ids first and ! at last.
WORKERS = r"""
import io, json, os, signal, sys, traceback
from pairdp.privacy import BudgetExceededError, BudgetLedger, GaussianEvent, PureEvent

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def dying(function, call, after):
    calls = 0
    def wrapper(*args):
        nonlocal calls
        calls += 1
        if calls == call and not after:
            die()
        function(*args)
        if calls == call:
            die()
    return wrapper

class HalfWritten:
    def __init__(self, file):
        self.file = file
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.file.close()
    def write(self, content):
        self.file.write(content[: len(content) // 2])
        self.file.flush()
        die()

def die_at(function=None, call=1, after=False):
    if function == "write":
        whole = io.open
        def half(path, mode="r", *args, **kwargs):
            file = whole(path, mode, *args, **kwargs)
            return HalfWritten(file) if mode == "wb" else file
        io.open = half
    elif function:
        setattr(os, function, dying(getattr(os, function), call, after))

def work(order):
    event = {"pure": PureEvent, "gaussian": GaussianEvent}[order["kind"]](order["amount"])
    ledger = BudgetLedger.load(order["path"])
    die_at(**order.get("die", {}))
    for attempt in range(order["tries"]):
        try:
            ledger.spend(event, f"{os.getpid()}")
            os.write(1, b"+")
        except BudgetExceededError:
            os.write(1, b"-")
            if order["stop"]:
                return

for line in sys.stdin:
    order, children = json.loads(line), []
    waiting, go = os.pipe()
    for _ in range(order["processes"]):
        child = os.fork()
        if child == 0:
            os.close(go)
            os.read(waiting, 1)
            try:
                work(order)
            except BaseException:
                traceback.print_exc()
                os.write(1, b"?")
            os._exit(0)
        children.append(child)
    os.write(1, (" ".join(map(str, children)) + "\n").encode())
    os.close(go), os.close(waiting)
    for child in children:
        os.waitpid(child, 0)
    os.write(1, b"!")
"""


class Workers:
    """Processes that spend from a ledger file when told to."""

    def __init__(self) -> None:
        source = str(Path(pairdp.__file__).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKERS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": source, "OPENBLAS_NUM_THREADS": "1"},
        )

    def start(
        self,
        path: Path,
        kind: str,
        amount: float,
        *,
        processes: int = 1,
        tries: int = 1_000_000,
        stop: bool = False,
        die: dict[str, object] | None = None,
    ) -> list[int]:
        """Set workers going and return their process ids."""
        order = {
            "path": str(path), "kind": kind, "amount": amount, "processes": processes,
            "tries": tries, "stop": stop, "die": die or {},
        }  # fmt: skip
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            line += self._byte()
        return [int(child) for child in line.split()]

    def wait_for(self, count: int) -> str:
        """Return the next so many answers of the workers."""
        return b"".join(self._byte() for _ in range(count)).decode()

    def finish(self) -> str:
        """Return what the workers wrote until the last of them ended."""
        written = b""
        while not written.endswith(b"!"):
            written += self._byte()
        return written[:-1].decode()

    def _byte(self) -> bytes:
        assert self.process.stdout is not None
        byte = self.process.stdout.read(1)
        assert byte, "the workers' process ended"
        return byte

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=30)


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    group = Workers()
    yield group
    group.close()


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


@needs_fork
@pytest.mark.parametrize(
    ("kind", "budget", "amount"),
    [("pure", Budget(100.0), 1e-3), ("gaussian", BUDGET, 1e-3)],
    ids=["pure", "gaussian"],
)
def test_survives_being_killed_at_any_moment(
    tmp_path: Path, workers: Workers, kind: str, budget: Budget, amount: float
) -> None:
    path, delays = tmp_path / "ledger.json", random.Random(20240501)  # noqa: S311
    survivor = BudgetLedger(budget, path)
    on_disk, all_acknowledged = 0, 0
    for _ in range(25):
        (child,) = workers.start(path, kind, amount)
        written = workers.wait_for(delays.randrange(4))
        time.sleep(delays.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
        written += workers.finish()
        assert set(written) <= {"+"}
        spends = BudgetLedger.load(path).spends
        assert on_disk + len(written) <= len(spends) <= on_disk + len(written) + 1
        survivor.spend(PureEvent(1e-6), "going on")
        on_disk, all_acknowledged = len(spends) + 1, all_acknowledged + len(written)
        assert len(BudgetLedger.load(path).spends) == on_disk
    assert all_acknowledged >= 25


DEATHS: dict[str, tuple[dict[str, object], bool]] = {
    "half written": ({"function": "write"}, False),
    "before the content is flushed": ({"function": "fsync", "call": 1}, False),
    "after the content is flushed": ({"function": "fsync", "call": 1, "after": True}, False),
    "before the rename": ({"function": "replace"}, False),
    "after the rename": ({"function": "replace", "after": True}, True),
    "before the directory is flushed": ({"function": "fsync", "call": 2}, True),
    "after the directory is flushed": ({"function": "fsync", "call": 2, "after": True}, True),
}


@needs_fork
@pytest.mark.parametrize("death", DEATHS)
def test_survives_being_killed_at_every_step_of_a_spend(
    tmp_path: Path, workers: Workers, death: str
) -> None:
    path, (die, is_spent) = tmp_path / "ledger.json", DEATHS[death]
    ledger = BudgetLedger(Budget(1.0), path)
    ledger.spend(PureEvent(0.5), "before")
    workers.start(path, "pure", 0.25, tries=1, die=die)
    assert workers.finish() == "", "the worker was to die before its spend returned"
    expected = [PureEvent(0.5), *[PureEvent(0.25)] * is_spent]
    assert [s.event for s in BudgetLedger.load(path).spends] == expected
    assert [s.event for s in ledger.spends] == expected
    ledger.spend(PureEvent(0.25), "after")
    assert len(BudgetLedger.load(path).spends) == len(expected) + 1
    assert names_in(tmp_path) <= {"ledger.json", "ledger.json.lock"}


@needs_fork
def test_eight_processes_never_overspend_a_pure_budget(tmp_path: Path, workers: Workers) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(Budget(1.0), path)
    children = workers.start(path, "pure", 0.01, processes=8, tries=30)
    written = workers.finish()
    assert written.count("+") == 100
    assert written.count("-") == 8 * 30 - 100
    assert len(written) == 8 * 30
    assert len(ledger.spends) == 100
    assert ledger.spent() == 1.0
    assert len({s.label for s in ledger.spends}) > 1
    assert {s.label for s in ledger.spends} <= {str(child) for child in children}


@needs_fork
def test_eight_processes_never_overspend_a_gaussian_budget(
    tmp_path: Path, workers: Workers
) -> None:
    path, room = tmp_path / "ledger.json", 60
    ledger = BudgetLedger(BUDGET, path)
    amount = gaussian_limit(BUDGET) / math.sqrt(room + 0.5)
    # No process can take it all, and each stops when it is refused, which is slow to explain.
    workers.start(path, "gaussian", amount, processes=8, tries=room // 4, stop=True)
    written = workers.finish()
    assert set(written) == {"+", "-"}
    assert written.count("+") == room
    assert [s.event for s in ledger.spends] == [GaussianEvent(amount)] * room
    assert gaussian_delta(BUDGET.epsilon, amount * math.sqrt(room)) <= BUDGET.delta


@pytest.mark.parametrize("on_disk", [True, False])
def test_threads_sharing_a_ledger_never_overspend(tmp_path: Path, on_disk: bool) -> None:
    ledger = BudgetLedger(Budget(1.0), tmp_path / "ledger.json" if on_disk else None)

    def try_six(_: int) -> int:
        spent = 0
        for _ in range(6):
            try:
                ledger.spend(PureEvent(1 / 32), "from a thread")
                spent += 1
            except BudgetExceededError:
                pass
        return spent

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(try_six, range(8))) == 32
    assert len(ledger.spends) == 32
    assert ledger.spent() == 1.0


def test_a_ledger_held_for_too_long_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.json"
    slow = BudgetLedger(Budget(1.0), path)
    impatient = BudgetLedger(Budget(1.0), path, timeout=0.2)
    writing, go_on = threading.Event(), threading.Event()
    fsync = os.fsync

    def stuck(handle: int) -> None:
        writing.set()
        go_on.wait(10)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", stuck)
    holder = threading.Thread(target=slow.spend, args=(PureEvent(0.75), "slow"))
    holder.start()
    try:
        assert writing.wait(10)
        start = time.monotonic()
        with pytest.raises(LedgerError, match=r"in use by another process for over 0\.2 s"):
            impatient.spend(PureEvent(0.75), "impatient")
        with pytest.raises(LedgerError, match=r"longer timeout"):
            BudgetLedger.load(path, timeout=0.2)
        assert 0.4 <= time.monotonic() - start < 5
    finally:
        go_on.set()
        holder.join()
    assert [s.label for s in impatient.spends] == ["slow"]
    with pytest.raises(BudgetExceededError):
        impatient.spend(PureEvent(0.75), "impatient")


def test_waits_for_a_ledger_that_is_soon_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.json"
    slow, patient = (BudgetLedger(Budget(1.0), path) for _ in range(2))
    writing, fsync = threading.Event(), os.fsync

    def slowed(handle: int) -> None:
        writing.set()
        time.sleep(0.05)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", slowed)
    holder = threading.Thread(target=slow.spend, args=(PureEvent(0.5), "slow"))
    holder.start()
    assert writing.wait(10)
    patient.spend(PureEvent(0.5), "patient")
    holder.join()
    assert [s.label for s in patient.spends] == ["slow", "patient"]


def test_a_second_name_for_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(Budget(1.0), path)
    os.link(path, tmp_path / "other.json")
    with pytest.raises(LedgerError, match="hard link"):
        ledger.spend(PureEvent(0.1), "under two names")
    with pytest.raises(ValueError, match="path must not be empty"):
        BudgetLedger(Budget(1.0), "")


def test_sampled_releases_are_spent_and_composed() -> None:
    ledger = BudgetLedger(Budget(3.0, 1e-6))
    drawn = FixedSizeSampling(64, 100_000)
    for steps in (20_000, 5_000):
        ledger.spend(SampledEvent(0.5, drawn, steps), f"{steps} steps")
    whole = PrivacyCurve(SampledEvent(0.5, drawn, 25_000)).epsilon(1e-6)
    assert ledger.spent() == pytest.approx(whole, rel=1e-3)
