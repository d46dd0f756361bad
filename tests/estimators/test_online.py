"""Estimators of streams: the contract of scikit-learn, the horizon, what is spent and released."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import pairdp
from pairdp import (
    Budget,
    BudgetLedger,
    ModelFileError,
    OnlinePrivateMetric,
    OnlinePrivateRanker,
    verify,
)
from pairdp.algorithms import registry
from pairdp.online import OnlineDescent, OnlineMoments, OnlineSession
from tests.estimators.data import FEW_RECORDS, three_classes, two_classes

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)

# Where a check asks for accuracy, noise would fail it in bad luck: then ε is large.
CHECKED = [
    OnlinePrivateRanker(1e3, data_norm=4.0),
    OnlinePrivateMetric(data_norm=1.0),
]
CHECKED_SLOWLY = [
    OnlinePrivateRanker(1e3, algorithm="descent", data_norm=2.0),
    OnlinePrivateRanker(data_norm=1.0),
]

# Checks that are known to fail, and why.
EXPECTED_FAILURES = {
    "check_fit_score_takes_y": "partial_fit after fit is refused: that stream is complete and paid",
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_checks_of_scikit_learn(estimator: BaseEstimator, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(CHECKED_SLOWLY, expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_checks_of_scikit_learn_with_other_parameters(
    estimator: BaseEstimator, check: object
) -> None:
    check(estimator)  # type: ignore[operator]


def fed(model: BaseEstimator, x: np.ndarray, y: np.ndarray, size: int) -> BaseEstimator:
    for start in range(0, len(x), size):
        model.partial_fit(x[start : start + size], y[start : start + size], np.unique(y))
    return model


RANKERS = {
    "moments": {},
    "descent": {"algorithm": "descent"},
    "OnPairStrC": {"algorithm": "OnPairStrC", "regularization": 0.1},
    "OnPairC": {"algorithm": "OnPairC", "buffer": 8},
    "object": {"algorithm": OnlineDescent(4, "reservoir", batch_size=3)},
    "OnPairGradient": {"algorithm": "OnPairGradient", "buffer": 8},
    "last": {"algorithm": "descent", "average": False},
    "uniform": {"algorithm": "OnPairGradient", "average": "uniform"},
    "squares": {"algorithm": OnlineMoments(second_moments=True)},
}


@pytest.mark.parametrize("name", RANKERS)
def test_a_ranker_fed_in_any_batches_is_the_one_fitted_at_once(name: str) -> None:
    x, y = two_classes(60)
    settings = {"horizon": 60, "random_state": 0, **RANKERS[name]}
    # A seed gives a session other streams than a run: without noise both are the same.
    at_once = OnlinePrivateRanker(None, **settings, data_norm=1.0).fit(x, y)
    if name == "object":
        at_once = fed(OnlinePrivateRanker(None, **settings, data_norm=1.0), x, y, 60)
    for size in (1, 7, 60):
        model = fed(OnlinePrivateRanker(None, **settings, data_norm=1.0), x, y, size)
        np.testing.assert_allclose(model.coef_, at_once.coef_, atol=1e-12)
        assert model.records_left_ == 0
        assert not hasattr(model, "_session")
        pickle.dumps(model)


def test_the_budget_is_spent_as_records_come() -> None:
    x, y = two_classes(60)
    model = OnlinePrivateRanker(1.0, 1e-5, horizon=60, algorithm="OnPairC", data_norm=1.0)
    spent = []
    for start in range(0, 60, 20):
        model.partial_fit(x[start : start + 20], y[start : start + 20], classes=[0, 1])
        assert model.spent_ is not None
        spent.append(model.spent_.epsilon)
    assert spent == sorted(spent)
    assert spent[-1] <= 1.0
    verify(model.certificate_)
    assert model.certificate_.budget == Budget(1.0, 1e-5)
    assert "n = 60" in str(model.plan_)


@pytest.mark.parametrize("kind", [OnlinePrivateRanker, OnlinePrivateMetric])
def test_past_the_horizon_is_refused_and_changes_nothing(kind: type) -> None:
    x, y = two_classes(60)
    with pytest.raises(ValueError, match="declare a longer"):
        kind(horizon=59, data_norm=1.0).partial_fit(x, y, [0, 1])
    model = kind(horizon=50, data_norm=1.0).partial_fit(x[:40], y[:40], [0, 1])
    before = copy.copy(model.__dict__)
    with pytest.raises(ValueError, match=r"10 are left.*longer horizon"):
        model.partial_fit(x[40:], y[40:])
    made_anew = {"certificate_", "coef_", "intercept_", "components_", "eigenvalues_"}
    assert all(
        model.__dict__[name] is value for name, value in before.items() if name not in made_anew
    )
    model.partial_fit(x[40:50], y[40:50])
    with pytest.raises(ValueError, match="complete or was paused"):
        model.partial_fit(x[50:51], y[50:51])
    with pytest.raises(ValueError, match="complete or was paused"):
        kind(data_norm=1.0).fit(x, y).partial_fit(x, y, [0, 1])
    kind(data_norm=1.0).fit(x, y).fit(x[:30], y[:30])


def test_labels_are_those_that_the_stream_began_with() -> None:
    x, y = two_classes(40)
    with pytest.raises(ValueError, match="classes must be passed"):
        OnlinePrivateRanker(data_norm=1.0).partial_fit(x, y)
    assert OnlinePrivateRanker(classes=[0, 1], data_norm=1.0).partial_fit(
        x, y
    ).classes_.tolist() == [0, 1]
    model = OnlinePrivateRanker(data_norm=1.0).partial_fit(x[:5], np.zeros(5, int), classes=[1, 0])
    assert model.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="not in classes"):
        model.partial_fit(x[:5], np.full(5, 2))
    with pytest.raises(ValueError, match="began with"):
        model.partial_fit(x[:5], y[:5], classes=[0, 2])
    names = np.array(["no", "yes"])
    model = OnlinePrivateRanker(1e3, horizon=40, data_norm=1.0).partial_fit(
        x, names[y], classes=names
    )
    assert set(model.predict(x)) <= set(names)
    assert model.score(x, names[y]) > 0.6


def test_no_model_or_file_has_a_record_unless_it_says_so(tmp_path: Path) -> None:
    x, y = two_classes(40)
    model = OnlinePrivateRanker(horizon=60, algorithm="descent", batch_size=8, data_norm=1.0)
    model.partial_fit(x, y, classes=[0, 1])
    for copied in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="raw records"):
            copied(model)
    model.save(tmp_path / "model")
    written = (tmp_path / "model").read_bytes()
    assert all(row.tobytes() not in written for row in x)
    released = pairdp.load(tmp_path / "model")
    np.testing.assert_array_equal(released.predict(x), model.predict(x))
    with pytest.raises(ValueError, match="was paused"):
        released.partial_fit(x, y, classes=[0, 1])
    clone(released).partial_fit(x, y, classes=[0, 1])


@pytest.mark.parametrize("secrets", [True, False])
@pytest.mark.parametrize(
    "model",
    [
        OnlinePrivateRanker(horizon=60, batch_size=7, algorithm="descent", data_norm=1.0),
        OnlinePrivateRanker(horizon=60, data_norm=1.0),
        OnlinePrivateMetric(horizon=60, data_norm=1.0),
    ],
    ids=["descent", "moments", "metric"],
)
def test_a_paused_stream_goes_on_once(model: BaseEstimator, secrets: bool, tmp_path: Path) -> None:
    x, y = two_classes(60)
    names = pd.DataFrame(x, columns=[f"f{i}" for i in range(x.shape[1])])
    model = clone(model).partial_fit(names[:40], y[:40], classes=[0, 1])
    path = tmp_path / "stream"
    shown = model.__dict__.get("coef_", model.__dict__.get("components_"))
    model.pause(path, secrets=secrets)
    assert OnlineSession.header_of(path)["holds_secrets"] is secrets
    with pytest.raises(ValueError, match="was paused"):
        model.partial_fit(names[40:], y[40:])
    with pytest.raises(ValueError, match="was paused"):
        model.pause(path)
    other = OnlinePrivateMetric if isinstance(model, OnlinePrivateRanker) else OnlinePrivateRanker
    with pytest.raises(ModelFileError, match="stream of a"):
        other.resume(path)
    resumed = type(model).resume(path)
    again = resumed.__dict__.get("coef_", resumed.__dict__.get("components_"))
    np.testing.assert_array_equal(again, shown)
    assert resumed.records_left_ == 20
    assert resumed.feature_names_in_.tolist() == names.columns.tolist()
    resumed.partial_fit(names[40:], y[40:])
    assert resumed.records_left_ == 0
    with pytest.raises(ModelFileError, match="gone once"):
        type(model).resume(path)


def test_a_ledger_pays_once_and_refuses_seeds() -> None:
    x, y = two_classes(60)
    ledger = BudgetLedger(Budget(1.0, 1e-5))
    model = OnlinePrivateRanker(1.0, 1e-5, horizon=60, ledger=ledger, data_norm=1.0)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full_like(x, np.nan), y, classes=[0, 1])
    assert not ledger.spends
    for start in range(0, 60, 30):
        model.partial_fit(x[start : start + 30], y[start : start + 30], classes=[0, 1])
    assert len(ledger.spends) == 1
    with pytest.raises(pairdp.BudgetExceededError):
        clone(model).partial_fit(x, y, classes=[0, 1])
    with pytest.raises(ValueError, match="seed"):
        OnlinePrivateRanker(ledger=ledger, random_state=0, data_norm=1.0).partial_fit(
            x, y, classes=[0, 1]
        )


def test_what_is_refused_says_what_to_do() -> None:
    x, y = two_classes(20)
    for settings, says in (
        ({"algorithm": "DPGDSC"}, "must be"),
        ({"algorithm": "moments", "buffer": 3}, "keep no records"),
        ({"algorithm": OnlineDescent(), "buffer": 3}, "set them there"),
        ({"horizon": 1}, "horizon"),
        ({"algorithm": "moments", "loss": "logistic"}, "least squares"),
        ({"delta": 0.0}, "delta > 0"),
        ({"threshold": np.inf}, "threshold"),
    ):
        with pytest.raises(ValueError, match=says):
            OnlinePrivateRanker(**settings, data_norm=1.0).partial_fit(x, y, classes=[0, 1])


def test_a_metric_of_a_stream_learns() -> None:
    x, y = three_classes(900)
    model = OnlinePrivateMetric(None, horizon=900, data_norm=1.0)
    for start in range(0, 900, 100):
        model.partial_fit(x[start : start + 100], y[start : start + 100])
    fitted = OnlinePrivateMetric(None, data_norm=1.0).fit(x, y)
    np.testing.assert_allclose(
        model.get_mahalanobis_matrix(), fitted.get_mahalanobis_matrix(), atol=1e-9
    )
    assert model.transform(x).shape == x.shape
    with pytest.raises(ValueError, match="not in classes"):
        OnlinePrivateMetric(data_norm=1.0).partial_fit(x, y, classes=[0])


def test_what_was_learnt_before_a_failure_is_not_learnt_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = two_classes(60)
    model = OnlinePrivateRanker(horizon=60, algorithm="OnPairC", data_norm=1.0)
    model.partial_fit(x[:10], y[:10], classes=[0, 1])
    model.set_params(threshold=float("nan"))
    with pytest.raises(ValueError, match="threshold"):
        model.partial_fit(x[10:20], y[10:20])
    assert model.records_left_ == 50
    model.set_params(threshold=0.0)
    learn = OnlineSession.learn_records

    def interrupted(self: OnlineSession, records: object) -> object:
        learn(self, records)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(OnlineSession, "learn_records", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(x[10:20], y[10:20])
    assert model.records_left_ == 40
    model.partial_fit(x[20:], y[20:])
    assert model.records_left_ == 0


@pytest.mark.parametrize("settings", [{"threshold": np.inf}, {"average": "yes"}, {"horizon": 5}])
def test_a_ledger_does_not_pay_for_bad_parameters(settings: dict[str, object]) -> None:
    x, y = two_classes(60)
    ledger = BudgetLedger(Budget(5.0, 1e-3))
    model = OnlinePrivateRanker(ledger=ledger, **settings, data_norm=1.0)  # type: ignore[arg-type]
    with pytest.raises((ValueError, TypeError)):
        model.partial_fit(x, y, classes=[0, 1])
    if "horizon" not in settings:
        with pytest.raises((ValueError, TypeError)):
            model.fit(x, y)
    assert not ledger.spends
    assert not hasattr(model, "classes_")


def test_printed_noise_in_its_burn_in() -> None:
    x, y = two_classes(60)
    model = OnlinePrivateRanker(
        1.0,
        1e-5,
        horizon=1000,
        algorithm="OnPairStrC",
        regularization=1.0,
        calibration="printed",
        data_norm=1.0,
    )
    model.partial_fit(x, y, classes=[0, 1])
    assert model.spent_ is None
    assert model.records_left_ == 940
    certified = model.set_params(calibration="certified").plan(1000, 2)
    assert certified.settings.burn_in is None
    theorem = model.set_params(schedule="theorem").plan(1000, 2)
    assert theorem.settings.burn_in == 400


@pytest.mark.parametrize("kind", [OnlinePrivateRanker, OnlinePrivateMetric])
def test_errors_quote_no_data(kind: type) -> None:
    x, y = two_classes(40)
    for rows, labels in ((x + 1j * x, y), (x, y + 1j), (x.astype(str) + "secret", y)):
        for call in (kind().fit, kind().partial_fit):
            with pytest.raises(ValueError) as error:  # noqa: PT011
                call(rows, labels)
            text = str(error.value)
            assert "secret" not in text
            assert "j" not in text.split("Complex")[-1].replace("subject", "").replace("object", "")


def test_resume_keeps_the_file_when_it_fails(tmp_path: Path) -> None:
    x, y = two_classes(40)
    model = OnlinePrivateRanker(horizon=60, data_norm=1.0).partial_fit(x, y, classes=[0, 1])
    model.set_params(average="yes")
    with pytest.raises(TypeError):
        model.pause(tmp_path / "stream")
    assert not list(tmp_path.iterdir())
    model.set_params(average=None)
    model.pause(tmp_path / "stream")
    with pytest.raises(ModelFileError, match="stream of a"):
        OnlinePrivateMetric.resume(tmp_path / "stream")
    assert OnlinePrivateRanker.resume(tmp_path / "stream").records_left_ == 20


def test_a_long_stream_keeps_a_buffer_of_its_own_accord() -> None:
    assert OnlinePrivateMetric(data_norm=1.0).plan(10**6, 5).settings.buffer == 1024
    assert (
        OnlinePrivateRanker(algorithm="OnPairC", data_norm=1.0).plan(5000, 5).settings.buffer
        == 5000
    )
    with pytest.raises(ValueError, match="use plan"):
        OnlinePrivateRanker(data_norm=1.0).choices(100, 3)


def test_a_registered_algorithm_for_streams_is_known_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))
    own = OnlineDescent(buffer=7, batch_size=5)
    registry.register_algorithm("short buffer", own, "stream")
    model = OnlinePrivateRanker(1.0, data_norm=1.0, algorithm="short buffer")
    assert model.plan(100, 3).algorithm == own
    with pytest.raises(ValueError, match="its own buffer"):
        model.set_params(buffer=3).plan(100, 3)
    with pytest.raises(ValueError, match=r"pairdp\.online, got 'DPGDC'"):
        OnlinePrivateRanker(1.0, data_norm=1.0, algorithm="DPGDC").plan(100, 3)


def test_pure_epsilon_is_refused_with_what_to_do() -> None:
    x, y = two_classes(60)
    with pytest.raises(ValueError, match="set delta > 0, or fit all records at once, for example"):
        OnlinePrivateRanker(delta=0.0, data_norm=1.0).partial_fit(x, y, classes=[0, 1])
