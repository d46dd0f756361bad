"""What a ledger lets be spent, and what it says is left."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from tests.privacy.ledger.ledger_helpers import gaussian_delta, gaussian_limit, rewrite

BUDGET = Budget(1.0, 1e-5)


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
    paper = certificate(GaussianMechanism(unit_sensitivity(), 20.0, 5), Budget(0.5, 1e-5))
    ledger = BudgetLedger(BUDGET)
    spend = ledger.spend(paper)
    assert (spend.label, spend.event) == ("some learner", paper.event)
    assert ledger.spend(paper, "my label").label == "my label"
    assert [s.label for s in ledger.spends] == ["some learner", "my label"]


def test_a_certificate_that_claims_nothing_does_not_fit() -> None:
    mechanism = GaussianMechanism(unit_sensitivity(), 1000.0, 5)
    release = Release("a vector", mechanism, Sensitivity.stated(1.0), 5)
    baseline = Certificate("baseline", None, 100, (release,), calibration="none")
    with pytest.raises(BudgetExceededError):
        BudgetLedger(BUDGET).spend(baseline)


def test_spends_are_dated() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    spend = BudgetLedger(BUDGET).spend(PureEvent(0.1), "now")
    moment = datetime.fromisoformat(spend.time)
    assert moment.utcoffset() == timedelta(0)
    assert before <= moment <= datetime.now(UTC)


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
            mechanism = GaussianMechanism.calibrate(budget, sensitivity, dimension=5, steps=steps)
        elif kind == "k-norm":
            mechanism = KNormMechanism.calibrate(budget, sensitivity, dimension=5, steps=steps)
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


def test_sampled_releases_are_spent_and_composed() -> None:
    ledger = BudgetLedger(Budget(3.0, 1e-6))
    drawn = FixedSizeSampling(64, 100_000)
    for steps in (20_000, 5_000):
        ledger.spend(SampledEvent(0.5, drawn, steps), f"{steps} steps")
    whole = PrivacyCurve(SampledEvent(0.5, drawn, 25_000)).epsilon(1e-6)
    assert ledger.spent() == pytest.approx(whole, rel=1e-3)


def test_a_token_of_a_stream_is_saved_once_and_known_before_it_is_resumed() -> None:
    ledger = BudgetLedger(BUDGET)
    with pytest.raises(LedgerError, match="does not know"):
        ledger.resume_stream("token")
    ledger.save_stream("token")
    with pytest.raises(LedgerError, match="already saved with this token"):
        ledger.save_stream("token")
