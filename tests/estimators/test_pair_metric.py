"""PrivatePairMetric: the methods of metric-learn's learners on pairs, and what is protected."""

from __future__ import annotations

import importlib
import pickle
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score

import pairdp
from pairdp import (
    BoundsScaler,
    Budget,
    BudgetExceededError,
    BudgetLedger,
    PrivatePairMetric,
    verify,
)
from pairdp.algorithms import GradientDescent, PairScatter
from pairdp.cli.main import main
from pairdp.estimators.fit_warnings import EuclideanWarning
from pairdp.losses import HingeMetric, LogisticMetric, PairMetricLoss
from pairdp.pointwise_problem import PointwiseProblem
from tests.estimators.data import FEW_RECORDS
from tests.estimators.test_privacy import PAID_BY

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)


def some_pairs(n: int = 2000, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of records of two classes that differ in the first feature."""
    rng = np.random.default_rng(seed)
    x, classes = rng.normal(size=(n, 2, d)) / 8, rng.integers(0, 2, (n, 2))
    x[:, :, 0] += classes / 2
    return x, np.where(classes[:, 0] == classes[:, 1], 1, -1)


MODELS: dict[str, PrivatePairMetric] = {
    "auto": PrivatePairMetric(data_norm=1.0, random_state=0),
    "pure": PrivatePairMetric(2.0, 0.0, data_norm=1.0, random_state=0),
    "public threshold": PrivatePairMetric(data_norm=1.0, threshold=0.3, random_state=0),
    "loss": PrivatePairMetric(loss="logistic", radius=20.0, data_norm=1.0, random_state=0),
    "descent": PrivatePairMetric(
        algorithm=GradientDescent(), loss=LogisticMetric(), data_norm=1.0, random_state=0
    ),
    "components": PrivatePairMetric(n_components=2, data_norm=1.0, random_state=0),
}


@pytest.fixture(params=list(MODELS))
def model(request: pytest.FixtureRequest) -> PrivatePairMetric:
    return clone(MODELS[request.param])


@pytest.fixture(scope="module")
def metric() -> PrivatePairMetric:
    return clone(MODELS["auto"]).fit(*some_pairs())


def test_distances_predictions_and_scores(metric: PrivatePairMetric) -> None:
    pairs, y = some_pairs(seed=1)
    apart, matrix = pairs[:, 0] - pairs[:, 1], metric.get_mahalanobis_matrix()
    distances = np.sqrt(np.einsum("ij,jk,ik->i", apart, matrix, apart))
    np.testing.assert_allclose(metric.pair_distance(pairs), distances)
    np.testing.assert_array_equal(metric.score_pairs(pairs), metric.pair_distance(pairs))
    np.testing.assert_array_equal(metric.pair_score(pairs), -metric.pair_distance(pairs))
    np.testing.assert_array_equal(metric.decision_function(pairs), metric.pair_score(pairs))
    near = metric.pair_distance(pairs) <= metric.threshold_
    np.testing.assert_array_equal(metric.predict(pairs), np.where(near, 1, -1))
    assert metric.score(pairs, y) == pytest.approx(roc_auc_score(y, -distances))
    assert metric.score(pairs, y) > 0.95
    assert np.mean(metric.predict(pairs) == y) > 0.85
    moved = metric.transform(pairs[:, 0]) - metric.transform(pairs[:, 1])
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), distances)
    assert metric.get_metric()(*pairs[0]) == pytest.approx(distances[0])
    assert metric.get_feature_names_out()[0] == "privatepairmetric0"
    assert is_classifier(metric)
    assert metric.classes_.tolist() == [-1, 1]


def test_thresholds_are_public_or_paid_for(metric: PrivatePairMetric) -> None:
    names = [release.name for release in metric.certificate_.releases]
    assert names[-1] == "threshold"
    given = clone(MODELS["public threshold"]).fit(*some_pairs())
    assert given.threshold_ == 0.3
    assert "threshold" not in [release.name for release in given.certificate_.releases]
    assert clone(MODELS["loss"]).fit(*some_pairs()).threshold_ == 1.0
    copy = pickle.loads(pickle.dumps(metric))
    assert copy.set_threshold(0.0) is copy
    assert set(copy.predict(some_pairs()[0])) == {-1}
    for wrong in (-1.0, np.nan, "near"):
        with pytest.raises((TypeError, ValueError), match="threshold"):
            copy.set_threshold(wrong)  # type: ignore[arg-type]
        with pytest.raises((TypeError, ValueError), match="threshold"):
            PrivatePairMetric(threshold=wrong).plan(100, 4)  # type: ignore[arg-type]


def test_plans_know_the_shape_alone_and_are_certified(model: PrivatePairMetric) -> None:
    one, other = (clone(model).fit(*some_pairs(seed=seed)) for seed in (0, 1))
    assert one.plan_ == other.plan_ == model.plan(2000, 4)
    assert one.certificate_ == other.certificate_
    assert verify(one.certificate_).holds
    assert isinstance(one.plan_.problem, PointwiseProblem)
    assert "One pair is protected" in " ".join(one.privacy_statement().split())
    found = set(vars(one)) - set(model.get_params())
    assert found - {"threshold_"} <= set(PAID_BY)
    pairs, _ = some_pairs()
    stored = pickle.dumps(one)
    for value in (pairs[:50, 0] - pairs[:50, 1]).ravel().tolist() + pairs[:50].ravel().tolist():
        assert np.float64(value).tobytes() not in stored


def test_files_and_pickles_keep_the_model(model: PrivatePairMetric, tmp_path: Path) -> None:
    pairs, y = some_pairs()
    made = model.fit(pairs, y)
    made.save(tmp_path / "model.pairdp")
    for copy in (pairdp.load(tmp_path / "model.pairdp"), pickle.loads(pickle.dumps(made))):
        np.testing.assert_array_equal(copy.predict(pairs), made.predict(pairs))
        np.testing.assert_array_equal(copy.components_, made.components_)
        assert copy.certificate_ == made.certificate_
        assert copy.plan_ == made.plan_
        assert copy.threshold_ == made.threshold_
        assert copy.classes_.tolist() == [-1, 1]


def test_pairs_of_row_numbers() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(50, 4)) / 4, columns=list("abcd"))
    places, y = rng.integers(0, 50, (400, 2)), rng.choice([-1, 1], 400)
    made = clone(MODELS["auto"]).fit(places, y, preprocessor=table)
    same = clone(MODELS["auto"]).fit(table.to_numpy()[places], y)
    np.testing.assert_array_equal(made.components_, same.components_)
    assert list(made.feature_names_in_) == list("abcd")
    assert not hasattr(same, "feature_names_in_")
    with pytest.raises(ValueError, match="row numbers that preprocessor, of 50 rows, lacks"):
        clone(MODELS["auto"]).fit(places + 1, y, preprocessor=table)
    for wrong in (places[:, 0], places + 0.5, table.to_numpy()[places]):
        with pytest.raises(ValueError, match="row numbers of shape"):
            clone(MODELS["auto"]).fit(wrong, y, preprocessor=table)
    with pytest.raises(ValueError, match="need preprocessor"):
        clone(MODELS["auto"]).fit(places, y)


def test_pairs_that_cannot_be_read_are_null_or_an_error() -> None:
    pairs, y = some_pairs(400)
    holed, unknown = pairs.copy(), y.astype(float)
    holed[3, 1, 2] = np.nan
    unknown[4] = 7
    null = clone(MODELS["auto"]).set_params(invalid="null")
    with pytest.raises(ValueError, match="NaN"):
        clone(MODELS["auto"]).fit(holed, y)
    with pytest.raises(ValueError, match=r"\+1 for similar"):
        clone(MODELS["auto"]).fit(pairs, unknown)
    assert null.fit(holed, unknown).components_.shape == (4, 4)
    other = holed.copy()
    other[3], other[4] = 1e300, np.inf  # whatever null pairs contain does not matter
    other[3, 0] = np.inf
    again = clone(null).fit(other, unknown)
    np.testing.assert_array_equal(again.components_, null.components_)
    places = np.array([[0, 1], [2, 99]] * 50)
    clone(null).fit(places, np.resize([1, -1], 100), preprocessor=pairs[:50, 0])


def test_wrong_shapes_and_labels(metric: PrivatePairMetric) -> None:
    pairs, y = some_pairs(40)
    for wrong in (pairs[:, 0], pairs[:, [0, 1, 0]], pairs[:1], pairs[:, :, :, None]):
        with pytest.raises(ValueError, match=r"pairs|dim"):
            clone(metric).fit(wrong, y[: len(wrong)])
    with pytest.raises(ValueError, match="requires y"):
        clone(metric).fit(pairs, None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="records"):
        clone(metric).fit(pairs, y[:-1])
    with pytest.raises(ValueError, match="only one kind"):
        metric.score(pairs, np.ones(40))
    with pytest.raises(NotFittedError):
        clone(metric).predict(pairs)
    with pytest.raises(ValueError, match="n_components"):
        clone(metric).set_params(n_components=9).fit(pairs, y)
    with pytest.raises(TypeError, match="PairMetricLoss"):
        clone(metric).set_params(loss=3).fit(pairs, y)


def test_huge_records_do_not_overflow() -> None:
    pairs, y = some_pairs(400)
    pairs[0] = [[1e308] * 4, [-1e308] * 4]
    clone(MODELS["auto"]).fit(pairs, y)


def test_batches_are_one_fit() -> None:
    pairs, y = some_pairs()
    batches = [(pairs[i : i + 500], y[i : i + 500]) for i in range(0, 2000, 500)]
    made = clone(MODELS["auto"]).fit_batches(batches, 2000, 4)
    np.testing.assert_array_equal(made.components_, clone(MODELS["auto"]).fit(pairs, y).components_)


@pytest.mark.filterwarnings("ignore::pairdp.UncoveredSearchWarning")
def test_model_selection_as_in_scikit_learn() -> None:
    pairs, y = some_pairs()
    model = clone(MODELS["auto"])
    assert cross_val_score(model, pairs, y, cv=3).mean() > 0.9
    search = GridSearchCV(model, {"epsilon": [0.01, 5.0]}, cv=3).fit(pairs, y)
    assert search.best_params_ == {"epsilon": 5.0}


def test_a_ledger_pays_before_pairs_are_read() -> None:
    class Untouchable:
        shape = (2000, 2, 4)

        def __array__(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("data was read")

    ledger = BudgetLedger(Budget(0.5, 1e-5))
    poor = clone(MODELS["auto"]).set_params(ledger=ledger, random_state=None)
    with pytest.raises(BudgetExceededError):
        poor.fit(Untouchable(), np.ones(2000))  # type: ignore[arg-type]
    rich = BudgetLedger(Budget(3.0, 1e-4))
    poor.set_params(ledger=rich).fit(*some_pairs())
    assert len(rich.spends) == 1


def persons_of(n: int = 2000, count: int = 900, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, count, (n, 2))


def test_one_person_in_many_pairs() -> None:
    pairs, y = some_pairs()
    persons = persons_of()
    model = clone(MODELS["auto"]).set_params(max_pairs=3, unit="patient")
    made = clone(model).fit(pairs, y, persons)
    certificate = made.certificate_
    assert (certificate.unit.name, certificate.unit.max_records) == ("patient", 3)
    assert verify(certificate).holds
    words = " ".join(made.privacy_statement().split())
    assert "all records of one unit (patient; at most 3 are used" in words
    assert "Who is in a pair with whom is the same" in words
    single = model.plan(2000, 4).certificate.releases[3].mechanism.scale
    alone = MODELS["auto"].plan(2000, 4).certificate.releases[3].mechanism.scale
    assert single == pytest.approx(3 * alone, rel=1e-3)
    # Whatever else is in the pairs that are not used does not matter.
    counts: dict[int, int] = {}
    unused = []
    for i, pair in enumerate(persons.tolist()):
        if any(counts.get(person, 0) >= 3 for person in pair):
            unused.append(i)
            continue
        for person in set(pair):
            counts[person] = counts.get(person, 0) + 1
    assert 100 < len(unused) < 1500
    other, flipped = pairs.copy(), y.copy()
    other[unused], flipped[unused] = 5.0, -y[unused]
    again = clone(model).fit(other, flipped, persons)
    np.testing.assert_array_equal(again.components_, made.components_)
    named = pd.DataFrame(persons).map(lambda person: f"P{person}")
    np.testing.assert_array_equal(clone(model).fit(pairs, y, named).components_, made.components_)


def test_row_numbers_are_persons() -> None:
    rng = np.random.default_rng(0)
    table, places = rng.normal(size=(300, 4)) / 4, rng.integers(0, 300, (900, 2))
    y = rng.choice([-1, 1], 900)
    model = clone(MODELS["auto"]).set_params(max_pairs=2, epsilon=50.0)
    by_row = clone(model).fit(places, y, preprocessor=table)
    by_name = clone(model).fit(table[places], y, places)
    np.testing.assert_array_equal(by_row.components_, by_name.components_)
    joined = clone(model).fit(places, y, places // 2, preprocessor=table)
    assert not np.array_equal(joined.components_, by_row.components_)


def test_units_need_both_groups_and_a_limit() -> None:
    pairs, y = some_pairs(40)
    for model, groups in (
        (PrivatePairMetric(data_norm=1.0), persons_of(40)),
        (PrivatePairMetric(data_norm=1.0, max_pairs=2), None),
    ):
        with pytest.raises(ValueError, match="max_pairs"):
            model.fit(pairs, y, groups)
    limited = PrivatePairMetric(data_norm=1.0, max_pairs=2)
    for wrong in (np.arange(40), persons_of(40)[:, [0, 1, 0]], persons_of(39)):
        with pytest.raises(ValueError, match="groups"):
            limited.fit(pairs, y, wrong)
    with pytest.raises(ValueError, match="max_records"):
        PrivatePairMetric(max_pairs=0).plan(100, 4)


def test_the_command_line_shows_verifies_and_transforms(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(50, 4)) / 4, columns=list("abcd"))
    places, y = rng.integers(0, 50, (400, 2)), rng.choice([-1, 1], 400)
    made = clone(MODELS["components"]).fit(places, y, preprocessor=table)
    path = str(tmp_path / "model.pairdp")
    made.save(path)
    table.to_csv(tmp_path / "new.csv", index=False)
    for words in (["show", path], ["verify", path], ["predict", path, str(tmp_path / "new.csv")]):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
    found = pd.read_csv(StringIO(done.stdout))
    np.testing.assert_allclose(found, made.transform(table), rtol=1e-12)
    assert list(found.columns) == ["z0", "z1"]


def test_few_pairs_of_iris_leave_the_metric_euclidean() -> None:
    """As the page on metric-learn says."""
    x, species = load_iris(return_X_y=True)
    rows = BoundsScaler(0, [8, 5, 8, 3]).fit_transform(x)
    places = np.random.default_rng(0).integers(0, 150, (200, 2))
    y = np.where(species[places[:, 0]] == species[places[:, 1]], 1, -1)
    with pytest.warns(EuclideanWarning):
        made = clone(MODELS["auto"]).set_params(random_state=42).fit(rows[places], y)
    np.testing.assert_allclose(made.get_mahalanobis_matrix(), np.eye(4) / 4)


def test_losses_by_name_and_object() -> None:
    for loss in ("hinge", HingeMetric(), PairMetricLoss(HingeMetric())):
        plan = PrivatePairMetric(loss=loss, data_norm=1.0).plan(1000, 3)
        assert plan.problem.loss == PairMetricLoss(HingeMetric())
    assert isinstance(PrivatePairMetric().plan(1000, 3).algorithm, PairScatter)
    assert not isinstance(PrivatePairMetric(loss="logistic").plan(1000, 3).algorithm, PairScatter)
    with pytest.raises(ValueError, match="delta > 0"):
        PrivatePairMetric(delta=0.0, loss="hinge").plan(1000, 3)


@pytest.mark.skipif(
    importlib.util.find_spec("metric_learn") is None, reason="metric-learn is not installed"
)
def test_the_same_interface_as_metric_learn() -> None:
    from metric_learn import ITML

    theirs = {name for name in dir(ITML) if not name.startswith("_")}
    ours = set(dir(clone(MODELS["auto"]).fit(*some_pairs())))
    assert theirs - ours == {"calibrate_threshold"}
