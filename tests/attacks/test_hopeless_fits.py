"""Fits that cannot work, and used to say nothing.

``PrivateRanker(1.0, 1e-6).fit(raw data)`` without a bound on rows gave an AUC of 0.98 or of 0.02
by chance. A fit at ε = 1e-9 returned noise, and `PrivateMetric` spent ε to return the Euclidean
metric. The default δ = 1e-5 was above 1/n for large tables. What can be known from public facts
must be said before the budget is spent, always and whatever the data; what the release shows, after
it. No warning may tell anything else, and none may come where models are good.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from pairdp import (
    Budget,
    BudgetLedger,
    DataNormWarning,
    NoSignalWarning,
    OnlinePrivateMetric,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateMetric,
    PrivateRanker,
    default_delta,
    load,
)
from pairdp.algorithms import (
    FisherMetric,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    PairwiseSGD,
    ScatterMetric,
)
from pairdp.algorithms.registry import algorithms
from pairdp.cli.main import main
from pairdp.online import OnlineDescent, OnlineMoments

pytestmark = pytest.mark.slow

KINDS: tuple[type, ...] = (
    PrivateRanker,
    PrivateMetric,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    OnlinePrivateRanker,
    OnlinePrivateMetric,
)


def said(call: Callable[[], object]) -> list[tuple[type[Warning], str]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [(entry.category, str(entry.message)) for entry in found]


def data_of(kind: type, n: int, seed: int = 0, scale: float = 0.3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.resize([0, 1], n)
    x = scale * (rng.normal(size=(n, 3)) / 2 + np.outer(2 * y - 1, [1, 0, 0]))
    return x, (x[:, 0] if kind is PrivateLinearRegressor else y)


# A bound that nobody gave


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_data_norm_is_always_told_and_a_given_one_never(kind: type) -> None:
    for scale in (1e-3, 1e6):
        x, y = data_of(kind, 200, scale=scale)
        batches = [(x, y)]
        known = {} if kind in (PrivateLinearRegressor, PrivateMetric) else {"labels": [0, 1]}
        calls = [
            lambda model: model.fit(x, y),  # noqa: B023
            lambda model: model.fit_batches(batches, 200, 3, **known),  # noqa: B023
        ]
        if hasattr(kind, "partial_fit"):
            calls.append(lambda model: model.partial_fit(x, y, classes=[0, 1]))  # noqa: B023
        for call in calls:
            told = said(lambda: call(kind(20.0)))  # noqa: B023
            (sentence,) = {text for category, text in told if category is DataNormWarning}
            assert "data_norm=1.0" in sentence
            assert "BoundsScaler" in sentence
            given = said(lambda: call(kind(20.0, data_norm=1.0)))  # noqa: B023
            assert not [entry for entry in given if entry[0] is DataNormWarning]


def test_plans_say_what_they_took_and_the_rows_are_clipped_to_one() -> None:
    for kind in KINDS:
        plan, same = kind().plan(400, 3), kind(data_norm=1.0).plan(400, 3)
        assert "data_norm is not given" in str(plan)
        assert "data_norm is not given" not in str(same)
        assert plan.certificate == same.certificate
        assert plan.problem.data_norm in (1.0, math.sqrt(2))


# δ that is not given


@given(st.integers(2, 10**12), st.integers(1, 10**12))
def test_the_default_delta_is_far_below_one_over_n_and_falls(n: int, more: int) -> None:
    assert 0 < default_delta(n) < 1 / (10 * n)
    assert default_delta(n + more) <= default_delta(n) <= 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_a_delta_that_is_not_given_follows_from_n_and_never_warns(kind: type) -> None:
    for n in (50, 10_000, 200_000):
        plan = kind(1.0, data_norm=1.0).plan(n, 3)
        assert plan.certificate.budget == Budget(1.0, default_delta(n))
        assert f"δ = {default_delta(n):g}" in str(plan)
        assert "min(1e-6, 1/(100n))" in str(plan)
        assert "not below 1/n" not in plan.certificate.statement()
        given = kind(1.0, default_delta(n), data_norm=1.0).plan(n, 3)
        assert given.certificate == plan.certificate
        assert "min(1e-6" not in str(given)
    if not issubclass(kind, OnlinePrivateRanker | OnlinePrivateMetric):
        assert kind(1.0, 0.0, data_norm=1.0).plan(50, 3).certificate.budget == Budget(1.0)


def test_a_stream_takes_the_delta_of_its_horizon() -> None:
    x, y = data_of(OnlinePrivateRanker, 40)
    model = OnlinePrivateRanker(horizon=1_000_000, data_norm=1.0).partial_fit(x, y, [0, 1])
    assert model.certificate_.budget == Budget(1.0, 1e-8)


def test_a_model_file_keeps_what_was_not_given(tmp_path: Any) -> None:
    x, y = data_of(PrivateRanker, 400)
    with pytest.warns(DataNormWarning):
        model = PrivateRanker(5.0, algorithm="DPGDC").fit(x, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.delta, again.data_norm) == (None, None)
    assert again.plan_ == model.plan_
    assert again.plan_.warnings == model.plan_.warnings


# Noise that drowns everything

ALGORITHMS: dict[str, Any] = {
    **algorithms("pairs", published=True),
    "auto": "auto",
    "moments": MomentRelease(),
    "pair moments": MomentRelease("pair"),
    "first moments": MomentRelease(second_moments=False),
    "minimiser": MinimizerRelease(),
    "mini-batches": NoisyGradientDescent(steps=20, step_size=0.1, batch_size=10),
    "permutations": PairwiseSGD(),
}
PLANNERS: dict[str, Callable[..., Any]] = {
    **{
        f"ranker by {name}": lambda *budget, a=algorithm, **more: PrivateRanker(
            *budget, algorithm=a, regularization=_pull(a), data_norm=1.0, **more
        )
        for name, algorithm in ALGORITHMS.items()
    },
    **{
        f"metric by {name}": lambda *budget, a=algorithm: PrivateMetric(
            *budget, algorithm=a, data_norm=1.0
        )
        for name, algorithm in {
            "auto": "auto",
            "means": ScatterMetric(),
            "pairs": ScatterMetric("pairs"),
            "fisher": "fisher",
            "fisher, full": FisherMetric("full"),
            "DPGDSC": "DPGDSC",
            "DPGDC": "DPGDC",
            "DPGDC2": "DPGDC2",
        }.items()
    },
    **{
        f"stream by {name}": lambda *budget, a=algorithm: OnlinePrivateRanker(
            *budget, algorithm=a, regularization=0.1, data_norm=1.0
        )
        for name, algorithm in {
            "auto": "auto",
            "descent": "descent",
            "OnPairStrC": "OnPairStrC",
            "OnPairC": "OnPairC",
            "moments": OnlineMoments(batch_size=10),
            "models": OnlineDescent(noise="models"),
        }.items()
    },
    "metric of a stream": lambda *budget: OnlinePrivateMetric(*budget, data_norm=1.0),
    "classifier": lambda *budget: PrivateLinearClassifier(*budget, data_norm=1.0),
    "classifier by Wang": lambda *budget: PrivateLinearClassifier(
        *budget, algorithm="Wang2024Pointwise", data_norm=1.0
    ),
    "regressor": lambda *budget: PrivateLinearRegressor(*budget, data_norm=1.0),
}


GAUSSIAN = ("DPGDC2", "Kang2021", "Wang2024Pairwise", "Yang2021", "mini-batches", "Wang")
PURE = {name for name in PLANNERS if "stream" not in name and name.split()[-1] not in GAUSSIAN}


def _pull(algorithm: Any) -> float | None:
    """A regulariser for those that choose none."""
    return 0.1 if getattr(algorithm, "name", "").startswith(("OffPairStrC", "Gradient")) else None


@pytest.mark.parametrize("name", PLANNERS)
def test_a_hopeless_budget_is_told_by_the_plan(name: str) -> None:
    for budget in ((1e-9,), (1e-9, 1e-5), (1e-3,), (1e-9, 0.0)):
        if budget[1:] == (0.0,) and name not in PURE:
            with pytest.raises(ValueError, match="set delta > 0"):
                PLANNERS[name](*budget).plan(100, 3)
            continue
        plan = PLANNERS[name](*budget).plan(100, 3)
        (sentence,) = plan.warnings
        assert f"at ε = {budget[0]:g} and n = 100" in sentence
        assert "random" in sentence or "Euclidean" in sentence or "not learn" in sentence
        assert f"WARNING: {sentence}" in str(plan)
    assert PLANNERS[name](None).plan(100, 3).warnings == ()


# Where models are good: AUC above 0.95 or accuracy above 0.9 on data like that of `data_of`.
SENSIBLE = [(400, 3, 1.0), (1000, 10, 1.0), (10_000, 20, 0.5), (100_000, 50, 0.1), (300, 3, 5.0)]


@pytest.mark.parametrize("facts", SENSIBLE, ids=str)
def test_sensible_plans_do_not_warn(facts: tuple[int, int, float]) -> None:
    n, d, epsilon = facts
    for kind in KINDS:
        if kind is PrivateMetric and (n, epsilon) == (400, 1.0):
            continue  # which is expected to stay Euclidean, and does
        assert kind(epsilon, data_norm=1.0).plan(n, d).warnings == ()
    for name in ("DPGDSC", "DPGDC", "DPGDC2", "DPEGD"):
        if n <= 10_000:
            ranker = PrivateRanker(epsilon, algorithm=name, data_norm=1.0)
            assert ranker.plan(n, d).warnings == ()


@pytest.mark.parametrize("algorithm", ["auto", "DPGDSC"])
@pytest.mark.slow
def test_models_that_are_warned_of_are_random_and_good_ones_are_not_warned_of(
    algorithm: str,
) -> None:
    x, y = data_of(PrivateRanker, 1000)
    learn, other = (x[:400], y[:400]), (x[400:], y[400:])
    for epsilon, is_good in ((10.0, True), (1e-6, False)):
        model = PrivateRanker(epsilon, algorithm=algorithm, data_norm=1.0)
        scores = []
        for seed in range(40):
            fit = model.set_params(random_state=seed).fit
            told = said(lambda f=fit: f(*learn))  # type: ignore[misc]
            assert [category for category, _ in told] == ([] if is_good else [NoSignalWarning])
            scores.append(model.score(*other))
        if is_good:
            assert min(scores) > 0.9
        else:  # each of 40 is above 1/2 by the toss of a coin: at most 1e-8 for fewer than 4
            assert 4 <= sum(score > 0.5 for score in scores) <= 36


def test_the_warning_comes_before_anything_is_spent() -> None:
    ledger = BudgetLedger(Budget(1.0, 1e-5))
    for kind in (PrivateRanker, PrivateMetric, OnlinePrivateRanker):
        x, y = data_of(kind, 100)
        with warnings.catch_warnings():
            warnings.simplefilter("error", NoSignalWarning)
            with pytest.raises(NoSignalWarning):
                kind(1e-9, 1e-6, data_norm=1.0, ledger=ledger).fit(x, y)
    assert ledger.spends == ()


def test_what_a_plan_says_is_the_same_for_all_data() -> None:
    for kind in KINDS:
        told = [
            said(lambda s=seed, z=scale: kind(0.01).fit(*data_of(kind, 60, s, z)))  # type: ignore[misc] # noqa: B023
            for seed in range(3)
            for scale in (1e-6, 1.0, 1e6)
        ]
        public = [[entry for entry in found if "released" not in entry[1]] for found in told]
        assert all(found == public[0] for found in public)
        assert {category for category, _ in public[0]} == {DataNormWarning, NoSignalWarning}


# A metric that stays Euclidean


def three(n: int, d: int = 4, apart: float = 0.5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, d)) / 6 + np.outer(y - 1, np.eye(d)[0]) * apart, y


def test_a_metric_that_stays_euclidean_says_so() -> None:
    x, y = three(1000, apart=0.0)  # classes that do not differ
    assert PrivateMetric(1.0, data_norm=1.0).plan(1000, 4).warnings == ()
    with pytest.warns(NoSignalWarning, match="multiple of the Euclidean one"):
        metric = PrivateMetric(1.0, data_norm=1.0, random_state=0).fit(x, y)
    assert metric.n_directions_ == 0
    matrix = metric.get_mahalanobis_matrix()
    np.testing.assert_allclose(matrix, matrix[0, 0] * np.eye(4), atol=1e-12)
    with pytest.warns(NoSignalWarning, match="multiple of the Euclidean one"):
        PrivateMetric(1.0, data_norm=1.0, random_state=0).fit_batches([(x, y)], 1000, 4)


def test_the_command_says_so_when_it_is_paid_for_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    x, y = three(1000, apart=0.0)
    rows = [",".join(map(str, (*row, label))) for row, label in zip(x.tolist(), y, strict=True)]
    Path("data.csv").write_text("\n".join(["a,b,c,d,y", *rows]) + "\n")
    BudgetLedger(Budget(1.0, 1e-6), "ledger")
    args = ["fit", "data.csv", "--label", "y", "--task", "metric", "--unscaled", "--data-norm", "1"]
    args += ["--ledger", "ledger", "--epsilon", "0.5", "-o", "model", "--json"]

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(BudgetLedger, "release", fail)
        unpaid = CliRunner().invoke(main, args)
    assert unpaid.exit_code == 130
    assert "Euclidean" not in unpaid.output
    paid = CliRunner().invoke(main, args)
    assert "Warning: the released metric is a multiple of the Euclidean one" in paid.stderr
    assert json.loads(paid.stdout)["directions"] == 0


def test_a_metric_that_learned_says_how_much_and_is_silent(tmp_path: Any) -> None:
    x, y = three(4000)
    metric = PrivateMetric(2.0, algorithm="scatter", data_norm=1.0, random_state=0)
    assert said(lambda: metric.fit(x, y)) == []
    found = metric.n_directions_
    assert found in (1, 2)  # the first coordinate, and a direction close to it
    metric.save(tmp_path / "metric")
    assert load(tmp_path / "metric").n_directions_ == found
    # All of a noisy matrix differ, but for the one that sets the scale.
    steps = NoisyGradientDescent("last", steps=2, step_size=0.01)
    noisy = PrivateMetric(20.0, algorithm=steps, data_norm=1.0, random_state=0)
    assert noisy.fit(x[:200], y[:200]).n_directions_ == 3


@pytest.mark.parametrize("rank", range(4))
def test_directions_are_the_least_rank_of_the_difference_to_a_multiple_of_the_identity(
    rank: int,
) -> None:
    rng = np.random.default_rng(rank)
    axes = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    for base in (0.0, 1.0, 1e-3):
        values = np.full(6, base)
        values[:rank] = 2.0 + np.arange(rank)
        metric = PrivateMetric()
        metric.components_ = np.sqrt(values)[:, None] * axes.T
        metric.eigenvalues_ = values
        assert metric.n_directions_ == rank


def test_the_plan_of_a_metric_says_what_to_expect() -> None:
    hopeless = PrivateMetric(0.1, data_norm=1.0).plan(200, 5)
    assert "the metric will stay Euclidean" in hopeless.warnings[0]
    doubtful, good = (
        str(PrivateMetric(epsilon, data_norm=1.0).plan(600, 10)) for epsilon in (0.1, 10.0)
    )
    assert "the metric is expected to stay Euclidean" in doubtful
    assert "is expected to stay Euclidean" not in good
    assert "a feature stands out if more than" in good
    for shown in (doubtful, str(PrivateMetric(algorithm=ScatterMetric()).plan(600, 10))):
        assert "a direction is stretched if the scatter of class means along it exceeds" in shown
