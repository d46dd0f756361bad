"""PrivateSearch: what it fits, chooses, stores and spends."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from pairdp import (
    Budget,
    BudgetExceededError,
    BudgetLedger,
    CertificateError,
    PrivateRanker,
    PrivateScorecard,
    PrivateSearch,
    SearchWarning,
    evaluate,
    load,
    verify,
)
from pairdp.algorithms import MomentRelease
from pairdp.verification import verify_file, verify_model

N = 6000
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
X = (RNG.normal(size=(N, 4)) * [1, 1, 1, 3] + np.outer(Y, [1.0, 0.5, 0.0, 0.5])) / 10
RANKER = PrivateRanker(1.0, 1e-6, model="linear", algorithm="moments", data_norm=1.0)
RIDGES = [{"algorithm": MomentRelease(ridge=ridge)} for ridge in (0.0, 0.01, 1.0)]


def search(candidates: Any = RIDGES, estimator: Any = RANKER, **options: Any) -> PrivateSearch:
    options = {"unpromising": "ignore", "random_state": 0, **options}
    return PrivateSearch(estimator, candidates, **options)


def test_the_chosen_model_is_what_a_fit_to_the_training_part_gives() -> None:
    """Candidates that share a release are the models of separate fits with the same noise."""
    made = search().fit(X, Y)
    rows = ~made.plan_.held_out.places(N)
    stream = pickle.dumps(made.best_estimator_)  # nothing of the noise stays in the model
    assert pickle.loads(stream).coef_ is not None
    best = made.best_estimator_
    assert best.plan_.task.n == rows.sum() == 4800
    direct = [
        PrivateRanker(1.0, 1e-6, data_norm=1.0, random_state=3, **each).fit(X[rows], Y[rows])
        for each in RIDGES
    ]
    leader, fit = clone(RANKER).set_params(random_state=3, **RIDGES[0]), None
    fit = leader._release(X[rows], Y[rows], None)
    for each, expected in zip(RIDGES, direct, strict=True):
        twin = clone(RANKER).set_params(**each)
        assert twin._set_from(leader, twin.plan(4800, 4), fit)
        np.testing.assert_array_equal(twin.coef_, expected.coef_)
        np.testing.assert_array_equal(twin.intercept_, expected.intercept_)
        np.testing.assert_array_equal(
            twin.parameter_noise_.of_each(4), expected.parameter_noise_.of_each(4)
        )


def test_scorecards_of_one_release_are_fitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every candidate is what a fit of its own with the same noise gives, and one is fitted."""
    card = PrivateScorecard(1.0, 1e-6, data_norm=1.0)
    grid = {"smoothing": [0.0, 1.0, 8.0], "shrinkage": [0.0, 1.0], "monotone": [None, {"x3": 1}]}
    fits: list[Any] = []
    fitted = PrivateScorecard._release

    def counted(self: Any, *data: Any) -> Any:
        fits.append(fitted(self, *data))
        return fits[-1]

    monkeypatch.setattr(PrivateScorecard, "_release", counted)
    made = search(grid, card).fit(X, Y)
    assert len(fits) == 1
    best = made.best_estimator_
    assert (best.smoothing, best.shrinkage) == (
        made.best_params_["smoothing"],
        made.best_params_["shrinkage"],
    )
    assert verify(made.certificate_).holds
    assert all(report.holds for report in verify_model(made))
    rows = ~made.plan_.held_out.places(N)
    leader = clone(card).set_params(random_state=3)
    fit = leader._release(X[rows], Y[rows], None)
    for each in made.plan_.candidates:
        params = each.candidate.params
        expected = clone(card).set_params(random_state=3, **params).fit(X[rows], Y[rows])
        twin = clone(card).set_params(**params)
        assert twin._set_from(leader, each.plan, fit)
        np.testing.assert_array_equal(twin.points_, expected.points_)
        np.testing.assert_array_equal(twin.deviations_, expected.deviations_)
        np.testing.assert_array_equal(twin.decision_function(X), expected.decision_function(X))


def test_it_finds_the_good_candidate() -> None:
    candidates = [{"features": [2]}, {"features": [0, 1]}, {"features": [2, 3]}]
    made = search(candidates, budget=Budget(5.0, 1e-6)).fit(X, Y)
    assert made.best_params_ == {"features": [0, 1]}
    assert made.best_index_ == 1
    assert made.n_features_in_ == 4
    assert made.score(X, Y) == made.best_estimator_.score(X[:, [0, 1]], Y) > 0.75
    assert set(made.predict(X)) == {0, 1}


def test_there_is_one_certificate_that_verifies() -> None:
    for candidates in (RIDGES, [{"algorithm": "moments"}, {"algorithm": "DPGDC2"}]):
        made = search(candidates).fit(X, Y)
        assert made.certificate_.budget == Budget(1.0, 1e-6)
        assert made.certificate_.n == N
        assert made.best_estimator_.certificate_ == made.certificate_
        assert verify(made.certificate_).holds
        assert all(report.holds for report in verify_model(made))
        statement = made.privacy_statement()
        assert "permute-and-flip" in statement
        assert "1200 of the 6000 rows are for selection" in " ".join(statement.split())


def test_the_model_file_has_the_certificate_of_the_search(tmp_path: Path) -> None:
    path = tmp_path / "best.pairdp"
    for seed in range(3):
        made = search(random_state=seed).fit(X, Y)
        made.save(path)
        read = load(path)
        np.testing.assert_array_equal(read.decision_function(X), made.decision_function(X))
        assert read.certificate_ == made.certificate_
        assert [report.holds for report in verify_file(path)] == [True]


def test_a_model_of_another_candidate_is_refused() -> None:
    made = search().fit(X, Y)
    made.best_estimator_.set_params(algorithm=MomentRelease(ridge=0.5))
    with pytest.raises(CertificateError, match="does not follow from the model's parameters"):
        verify_model(made)


def test_a_ledger_pays_once_and_before_data_is_read() -> None:
    ledger = BudgetLedger(Budget(1.5, 1e-5))
    search(random_state=None, ledger=ledger, data_set="a").fit(X, Y)
    assert len(ledger.spends) == 1
    with pytest.raises(BudgetExceededError):
        search(random_state=None, ledger=ledger).fit(X, np.full(N, None))
    with pytest.raises(ValueError, match="leave out random_state"):
        search(ledger=ledger).fit(X, Y)
    with pytest.raises(ValueError, match="give the ledger to PrivateSearch"):
        search(estimator=clone(RANKER).set_params(ledger=ledger)).fit(X, Y)
    assert len(ledger.spends) == 1
    made = search(random_state=None, ledger=BudgetLedger(Budget(1.0, 1e-6)))
    with pytest.raises(ValueError, match="only one class") as raised:
        made.fit(X, np.zeros(N))
    (note,) = raised.value.__notes__
    assert note.startswith("Budget(epsilon=1.0, delta=1e-06) was spent from the ledger for ")
    assert note.endswith(" (training) and Private choice of a model (selection)")
    assert not hasattr(made, "n_features_in_")  # nothing is left of a fit that failed


@pytest.mark.parametrize("held_out", [False, True])
def test_unreadable_cells_of_a_table_say_what_was_spent(held_out: bool) -> None:
    """Tables are read by the schema of each candidate, after the search is paid for."""
    table = (
        pd.DataFrame(X, columns=list("abcd")).astype(object).assign(y=np.where(Y > 0, "yes", "no"))
    )
    schema = {name: [-1, 1] for name in "abcd"} | {"y": {"label": ["no", "yes"]}}
    ranker = PrivateRanker(1.0, 1e-6, algorithm="moments", schema=schema)
    ledger = BudgetLedger(Budget(1.0, 1e-6))
    made = search(estimator=ranker, random_state=None, ledger=ledger)
    row = int(np.flatnonzero(made.plan(N).held_out.places(N) == held_out)[0])
    table.loc[row, "a"] = "unknown"
    with pytest.raises(ValueError, match="'a'") as raised:
        made.fit(table)
    assert "Budget(epsilon=1.0, delta=1e-06) was spent" in raised.value.__notes__[-1]
    assert len(ledger.spends) == 1
    assert not hasattr(made, "best_estimator_")


def test_warnings_come_before_anything_is_spent() -> None:
    ledger = BudgetLedger(Budget(1.0, 1e-6))
    few = search(random_state=None, ledger=ledger, unpromising="error")
    with pytest.raises(ValueError, match="nothing was spent"):
        few.fit(X[:500], Y[:500])
    assert ledger.spends == ()
    with pytest.warns(SearchWarning) as found:
        search(unpromising="warn").fit(X[:500], Y[:500])
    assert ["too few" in str(each.message) for each in found] == [True, False]
    assert found[0].filename == __file__
    with pytest.raises(ValueError, match="unpromising"):
        search(unpromising="maybe").fit(X, Y)


def test_units_are_on_one_side() -> None:
    groups = np.repeat(np.arange(N // 3), 3)
    ranker = clone(RANKER).set_params(unit="person", max_records=2)
    made = search(estimator=ranker).fit(X, Y, groups=groups)
    unit = made.certificate_.unit
    assert unit is not None
    assert (unit.name, unit.max_records) == ("person", 2)
    assert verify(made.certificate_).holds
    with pytest.raises(ValueError, match="pass groups"):
        search(estimator=ranker).fit(X, Y)
    with pytest.raises(ValueError, match="groups need max_records"):
        search().fit(X, Y, groups=groups)


def test_tables_with_a_schema_and_sets_of_columns() -> None:
    table = pd.DataFrame(X, columns=list("abcd")).assign(y=np.where(Y > 0, "yes", "no"))
    schema = {name: [-1, 1] for name in "abcd"} | {"y": {"label": ["no", "yes"]}}
    ranker = PrivateRanker(5.0, 1e-6, algorithm="moments", schema=schema)
    candidates = [{"features": ["c"]}, {"features": ["a", "b"]}]
    made = search(candidates, ranker).fit(table)
    assert made.best_params_ == {"features": ["a", "b"]}
    assert made.score(table) > 0.75
    columns = {name: table[name].to_numpy() for name in table.columns}
    again = search(candidates, ranker).fit(columns)
    np.testing.assert_array_equal(again.decision_function(columns), made.decision_function(table))
    assert verify(made.certificate_).holds
    with pytest.raises(ValueError, match="no feature 'e'"):
        search([{"features": ["e"]}, {}], ranker).plan(N)


def test_a_search_is_evaluated_as_its_chosen_model() -> None:
    table = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 3], "y": Y}
    schema = {"a": [-1, 1], "b": [-1, 1], "c": [-1, 1], "y": {"label": [0, 1]}}
    sets = [{"features": ["c"]}, {"features": ["a", "b"]}]
    by_schema = search(sets, PrivateRanker(5.0, 1e-6, model="linear", schema=schema)).fit(table)
    frame = pd.DataFrame({name: table[name] for name in "abc"})
    by_name = search(sets, RANKER).fit(frame, Y)
    for made, data, y in ((by_schema, table, None), (by_name, frame, Y)):
        found = evaluate(made, data, y, 20.0, roc=True, random_state=0)
        assert found.auc == pytest.approx(roc_auc_score(Y, made.decision_function(data)), abs=0.01)
    places = search([{"features": [2]}, {"features": [0, 1]}]).fit(X, Y)
    by_name.set_params(candidates=places.candidates).fit(X, Y)
    np.testing.assert_array_equal(by_name.predict(X), places.predict(X))  # names are forgotten


def test_names_of_columns_without_a_schema() -> None:
    table = pd.DataFrame(X, columns=list("abcd"))
    made = search([{"features": ["a"]}, {"features": ["b", "a"]}]).fit(table, Y)
    assert list(made.feature_names_in_) == list("abcd")
    assert made.decision_function(table).shape == (N,)
    with pytest.raises(ValueError, match="X has none"):
        search([{"features": ["a"]}, {"features": ["b"]}]).fit(X, Y)


def test_a_search_among_kinds_of_models() -> None:
    models = [("ranker", RANKER), ("card", PrivateScorecard(1.0, 1e-6, data_norm=1.0))]
    made = search(models, None).fit(X, Y)
    assert made.best_params_["name"] in ("ranker", "card")
    assert verify(made.certificate_).holds


def test_unreadable_records_become_null() -> None:
    broken = X.copy()
    broken[::50, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        search().fit(broken, Y)
    ranker = clone(RANKER).set_params(invalid="null", classes=[0, 1])
    assert search(estimator=ranker).fit(broken, Y).score(X, Y) > 0.7


def test_seeds_and_copies() -> None:
    one, other = search().fit(X, Y), search().fit(X, Y)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    assert "seed" in one.certificate_.noise_source
    secret = search(random_state=None).fit(X, Y)
    assert "operating system" in secret.certificate_.noise_source
    again = clone(one)
    assert again.candidates == one.candidates
    with pytest.raises(NotFittedError):
        again.predict(X)
    with pytest.raises(NotFittedError):
        again.privacy_statement()
    assert one.best_estimator_.random_state is None
    assert one.get_params()["estimator__data_norm"] == 1.0


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        PrivateSearch(
            PrivateRanker(1.0, algorithm="moments", data_norm=1.0),
            {"regularization": [0.0, 1.0]},
            held_out=0.5,
            unpromising="ignore",
            random_state=0,
        )
    ]
)
@pytest.mark.filterwarnings("ignore::pairdp.NoSignalWarning")
def test_the_contract_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_splits_by_the_contents_of_records_are_refused_by_the_name_of_the_parameter() -> None:
    for given in ("stratified", Y, 1.0):
        with pytest.raises(ValueError, match=r"held_out must be .* between the two parts"):
            search(held_out=given).fit(X, Y)
    with pytest.raises(ValueError, match="0 for selection: both need at least two"):
        search(held_out=1e-6).plan(N, 4)
    with pytest.raises(ValueError, match="held_out_seed"):
        search(held_out_seed=-1).plan(N, 4)


def test_a_search_has_a_report(tmp_path: Path) -> None:
    ledger = BudgetLedger(Budget(2.0, 1e-5))
    made = search(random_state=None, ledger=ledger, data_set="ward 7").fit(X, Y)
    made.save(tmp_path / "model.pairdp")
    page = made.report(tmp_path / "report.html").html
    for part in (page, load(tmp_path / "model.pairdp").report().html):
        assert "ward 7" in part
        assert "place of the best model" in part
    assert "this model" in page  # among the entries of the ledger
    assert (tmp_path / "report.html").read_text("utf-8") == page
