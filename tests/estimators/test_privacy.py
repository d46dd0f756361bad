"""Nothing leaves a fit but what its certificate lists."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV

from pairdp import (
    Budget,
    BudgetExceededError,
    BudgetLedger,
    PrivateMetric,
    PrivateRanker,
    verify,
)
from pairdp.algorithms import MinimizerRelease, MomentRelease, NoisyGradientDescent
from tests.estimators.data import FEW_RECORDS, budget_of, three_classes, two_classes

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)

MODELS: dict[str, BaseEstimator] = {
    "auto ranker": PrivateRanker(random_state=0, data_norm=1.0),
    "linear": PrivateRanker(model="linear", random_state=0, data_norm=1.0),
    "quadratic": PrivateRanker(model="quadratic", random_state=0, data_norm=1.0),
    "moments": PrivateRanker(algorithm=MomentRelease(), random_state=0, data_norm=1.0),
    "minimiser": PrivateRanker(algorithm=MinimizerRelease(), random_state=0, data_norm=1.0),
    "DPEGD": PrivateRanker(algorithm="DPEGD", random_state=0, data_norm=1.0),
    "mini-batches": PrivateRanker(
        algorithm=NoisyGradientDescent(batch_size=40, steps=10, step_size=0.1),
        random_state=0,
        data_norm=1.0,
    ),
    "pure": PrivateRanker(2.0, 0.0, random_state=0, data_norm=1.0),
    "auto metric": PrivateMetric(random_state=0, data_norm=1.0),
    "DPGDSC metric": PrivateMetric(algorithm="DPGDSC", random_state=0, data_norm=1.0),
}

# Every attribute of a fitted model, and what pays for it. Nothing else may be there.
PAID_BY = {
    "coef_": "the releases that certificate_ lists",
    "parameters_": "the releases that certificate_ lists",
    **dict.fromkeys(
        (
            "bins_",
            "edges_",
            "counts_",
            "deviations_",
            "interactions_",
            "factors_",
            "product_deviations_",
        ),
        "the releases that certificate_ lists",
    ),
    "components_": "the releases that certificate_ lists",
    "eigenvalues_": "the releases that certificate_ lists",
    "intercept_": "the release 'threshold', or the released class moments; 0 for log-odds",
    "certificate_": "public facts",
    "plan_": "public facts",
    "parameter_noise_": "public facts; for moments, the releases that certificate_ lists",
    "n_features_in_": "the public shape",
    "feature_names_in_": "the public names of columns",
    "classes_": "public labels, as certificate_ assumes",
}


@pytest.fixture(params=list(MODELS))
def model(request: pytest.FixtureRequest) -> BaseEstimator:
    return clone(MODELS[request.param])


def fitted(model: BaseEstimator, seed: int = 0) -> Any:
    return clone(model).fit(*two_classes(400, seed=seed))


def test_each_attribute_is_paid_for(model: BaseEstimator) -> None:
    found = set(vars(fitted(model))) - set(model.get_params())
    assert found <= set(PAID_BY)
    assert {"certificate_", "plan_", "n_features_in_"} <= found


def test_certificates_hold_and_pay_for_the_threshold(model: BaseEstimator) -> None:
    made = fitted(model)
    certificate = made.certificate_
    assert certificate.holds
    verify(certificate)
    assert certificate.budget == budget_of(model, 400)
    assert certificate.n == 400
    if isinstance(model, PrivateRanker):
        names = {release.name for release in certificate.releases}
        free = made.model_ != "linear" and made.intercept_ == 0
        assert free or "threshold" in names or "means of classes" in names
        assert "Which two labels occur is public." in certificate.assumptions
    assert f"ε = {model.epsilon:g}" in " ".join(made.privacy_statement().split())


def test_plans_know_the_shape_alone(model: BaseEstimator) -> None:
    one, other = fitted(model, 0), fitted(model, 1)
    assert one.plan_ == other.plan_ == model.plan(400, 4)
    assert one.certificate_ == other.certificate_


def numbers(thing: object, seen: set[int]) -> list[np.ndarray]:
    """Every array that can be reached from an object."""
    if id(thing) in seen:
        return []
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return [thing, *([] if thing.base is None else numbers(thing.base, seen))]
    if isinstance(thing, dict):
        return [a for item in (*thing.keys(), *thing.values()) for a in numbers(item, seen)]
    if isinstance(thing, list | tuple | set):
        return [a for item in thing for a in numbers(item, seen)]
    if hasattr(thing, "__dict__"):
        return numbers(vars(thing), seen)
    return []


def test_no_record_sits_in_a_fitted_model(model: BaseEstimator) -> None:
    x, y = two_classes(400)
    made = clone(model).fit(x, y)
    stored = pickle.dumps(made)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    for rows in (x, x / np.maximum(norms, 1.0)):  # as they came, and as they were clipped
        for row in rows:
            assert row.tobytes() not in stored
            assert row[0].tobytes() not in stored
    values = set(np.concatenate([x.ravel(), (x / np.maximum(norms, 1.0)).ravel()]).tolist())
    for array in numbers(made, set()):
        if array.dtype.kind == "f":
            assert not values & set(array.ravel().tolist())


class Untouchable:
    """Data whose shape may be seen and nothing else."""

    shape = (400, 4)

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise AssertionError("the data was touched")


def test_overspending_is_refused_before_data_is_touched(model: BaseEstimator) -> None:
    ledger = BudgetLedger(budget_of(model, 400, 1 / 3))
    poor = clone(model).set_params(ledger=ledger, random_state=None)
    with pytest.raises(BudgetExceededError, match="Nothing was spent"):
        poor.fit(Untouchable(), np.arange(400) % 2)
    with pytest.raises(BudgetExceededError):
        poor.fit_batches(iter([Untouchable()]), 400, 4, labels=[0, 1])
    assert ledger.spends == ()
    assert not hasattr(poor, "certificate_")


def test_a_ledger_pays_once_for_each_fit(tmp_path: object) -> None:
    ledger = BudgetLedger(Budget(2.0, 1e-5))
    x, y = two_classes()
    ranker = PrivateRanker(1.0, 1e-5, ledger=ledger, algorithm=MomentRelease(), data_norm=1.0)
    ranker.fit(x, y)
    assert clone(ranker).ledger is ledger
    clone(ranker).fit(x, y)
    assert [spend.label for spend in ledger.spends] == ["Least squares from moments"] * 2
    assert 1.0 < ledger.spent() <= 2.0
    ranker.fit(x, y)
    with pytest.raises(BudgetExceededError):
        ranker.fit(x, y)


def test_bad_data_does_not_spend() -> None:
    ledger = BudgetLedger(Budget(1.0, 1e-5))
    x, y = two_classes()
    x[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        PrivateRanker(ledger=ledger, data_norm=1.0).fit(x, y)
    with pytest.raises(ValueError, match="one class"):
        PrivateRanker(ledger=ledger, data_norm=1.0).fit(np.nan_to_num(x), np.zeros(400))
    batches = [(x[200:], y[200:]), (x[:200], y[:200])]
    ranker = PrivateRanker(1.0, 1e-5, ledger=ledger, algorithm=MomentRelease(), data_norm=1.0)
    with pytest.raises(ValueError, match="NaN"):
        ranker.fit_batches(batches, 400, 4, labels=[0, 1])
    assert ledger.spends == ()


@pytest.mark.filterwarnings("ignore::pairdp.UncoveredSearchWarning")
def test_a_search_draws_every_fit_from_one_ledger() -> None:
    x, y = two_classes()
    ledger = BudgetLedger(Budget(3.0, 1e-5))
    ranker = PrivateRanker(0.5, ledger=ledger, algorithm=MomentRelease(), data_norm=1.0)
    GridSearchCV(ranker, {"radius": [0.5, 1.0]}, cv=2).fit(x, y)
    assert len(ledger.spends) == 5


def test_a_ledger_in_memory_is_not_copied_and_one_on_disk_is_reopened(tmp_path: Any) -> None:
    memory = PrivateRanker(ledger=BudgetLedger(Budget(1.0)), data_norm=1.0)
    with pytest.raises(TypeError, match="use a file"):
        pickle.dumps(memory)
    disk = PrivateRanker(ledger=BudgetLedger(Budget(1.0), tmp_path / "a.ledger"), data_norm=1.0)
    copy = pickle.loads(pickle.dumps(disk))
    copy.ledger.spend(Budget(0.75), "elsewhere")
    assert disk.ledger.remaining().pure_epsilon == 0.25


def test_without_epsilon_nothing_is_promised() -> None:
    x, y = two_classes()
    plain = PrivateRanker(None, data_norm=1.0).fit(x, y)
    assert plain.certificate_.budget is None
    assert "no" in plain.privacy_statement().lower()
    assert plain.score(x, y) > 0.9
    metric = PrivateMetric(None, data_norm=1.0).fit(*three_classes())
    assert metric.certificate_.calibration == "none"


def test_printed_noise_that_is_not_proved_warns() -> None:
    x, y = two_classes()
    # Twice the Lipschitz constant that is stated, so the claim is false.
    weak = NoisyGradientDescent(
        "average", 5, 0.1, printed_rule="kang", printed_lipschitz=0.1, name="weak"
    )
    ranker = PrivateRanker(
        4.0, algorithm=weak, calibration="printed", random_state=0, data_norm=1.0
    )
    with pytest.warns(UserWarning, match="not proved to give ε = 4"):
        ranker.fit(x, y)
    assert not ranker.plan_.claim_is_proved
    honest = PrivateRanker(
        1.0, algorithm="DPGDSC", calibration="printed", random_state=0, data_norm=1.0
    )
    assert honest.fit(x, y).plan_.claim_is_proved
    with pytest.raises(ValueError, match="name a published algorithm"):
        PrivateRanker(calibration="printed", data_norm=1.0).fit(x, y)


def test_a_delta_that_allows_publishing_a_record_warns() -> None:
    x, y = two_classes()
    with pytest.warns(UserWarning, match="not below 1/n"):
        PrivateRanker(1.0, 0.01, data_norm=1.0).fit(x, y)


def test_a_fit_that_fails_changes_nothing() -> None:
    x, y = two_classes()
    for algorithm in ("DPGDSC", MomentRelease()):
        ledger = BudgetLedger(Budget(5.0, 1e-5))
        ranker = PrivateRanker(algorithm=algorithm, ledger=ledger, data_norm=1.0).fit(x, y)
        for batches, n in (([(x, y)], 401), ([(x, y[:, None])], 400), ([(x[:, :3], y)], 400)):
            with pytest.raises(ValueError, match=r"records|label|features"):
                ranker.fit_batches(batches, n, 4, labels=[1, 0])
        assert list(ranker.classes_) == [0, 1]
        assert len(ledger.spends) == 1


def test_a_seed_does_not_share_noise_between_budgets() -> None:
    x, y = two_classes()
    made = [
        PrivateRanker(e, 1e-6, algorithm="DPGDSC", regularization=1.0, radius=5.0, threshold=0.0,
                      random_state=7, data_norm=1.0).fit(x, y)
        for e in (1.0, 2.0)
    ]  # fmt: skip
    bare = PrivateRanker(
        None, algorithm="DPGDSC", regularization=1.0, radius=5.0, threshold=0.0, data_norm=1.0
    )
    exact = bare.fit(x, y).coef_[0]
    first, second = (
        (m.coef_[0] - exact) / m.certificate_.releases[0].mechanism.scale for m in made
    )
    assert np.abs(first - second).max() > 0.1


def test_a_ledger_does_not_pay_for_seeded_noise() -> None:
    ledger = BudgetLedger(Budget(4.0, 1e-5))
    with pytest.raises(ValueError, match="leave out random_state"):
        PrivateRanker(ledger=ledger, random_state=0, data_norm=1.0).fit(
            Untouchable(), np.arange(400) % 2
        )
    assert ledger.spends == ()


@pytest.mark.parametrize("kind", [PrivateRanker, PrivateMetric])
def test_a_refit_that_fails_leaves_the_model_as_it_was(kind: type) -> None:
    x, y = two_classes()
    model = kind(5.0, random_state=0, data_norm=1.0).fit(x, y)
    before = pickle.dumps(model)
    for data, labels in ((np.c_[x, x], y[:-1]), (np.full_like(x, np.nan), y), (x, y + 0.5)):
        with pytest.raises(ValueError, match=r"\w"):
            model.fit(data, labels)
    assert pickle.dumps(model) == before


def test_errors_and_warnings_do_not_quote_or_count_the_data(
    recwarn: pytest.WarningsRecorder,
) -> None:
    secret = [[1.0, 2.0], [2.0, "secret-value"], [3.0, 1.0]]
    for model in (PrivateRanker(data_norm=1.0), PrivateMetric(data_norm=1.0)):
        with pytest.raises(ValueError, match="table of numbers") as raised:
            model.fit(np.array(secret, dtype=object), [0, 1, 1])
        assert "secret" not in str(raised.value)
        with pytest.raises(ValueError, match="Expected 2D array") as raised:
            model.fit(np.array([0.123456, 0.654321]), [0, 1])
        assert "0.123456" not in str(raised.value)
    x = np.random.default_rng(0).normal(size=(40, 3))
    PrivateMetric(1e3, algorithm="DPGDSC", data_norm=1.0).fit(x, np.arange(40) % 30)
    assert not recwarn.list
