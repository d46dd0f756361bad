"""The checker passes what is right and names what is wrong, down to one per cent."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from pairdp.losses import (
    Domain,
    HingeMetric,
    HingePointwise,
    HingeRanking,
    Holder,
    LeastSquaresPointwise,
    LeastSquaresRanking,
    LogisticMetric,
    LogisticPointwise,
    LogisticRanking,
    MetricLoss,
    PairwiseLoss,
    PowerHingeRanking,
    RankingLoss,
    SigmoidRanking,
    SquaredHingeRanking,
)
from pairdp.score_sums import AllPairs
from pairdp.testing.loss_checker import (
    LossCheckError,
    check_pairwise_loss,
    check_pointwise_loss,
)
from tests.testing.examined import BALL, examine

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("loss", [LogisticRanking(), LogisticMetric()], ids=repr)
@pytest.mark.slow
def test_built_in_losses_pass_on_the_default_domains(loss: PairwiseLoss) -> None:
    assert check_pairwise_loss(loss).passed


RANKING = [
    LogisticRanking(temperature=0.5),
    LogisticRanking("one-sided", 3.0),
    SigmoidRanking(temperature=0.5),
    SigmoidRanking("one-sided", 3.0),
    HingeRanking(),
    HingeRanking("one-sided", 0.5),
    HingeRanking("one-sided", 1.0, width=0.05),
    HingeRanking(temperature=3.0, width=2.0),
    SquaredHingeRanking(temperature=0.5),
    SquaredHingeRanking("one-sided", 3.0),
    PowerHingeRanking(power=1.1),
    PowerHingeRanking("one-sided", 3.0, power=1.9),
    LeastSquaresRanking(),
    LeastSquaresRanking("one-sided", 3.0),
]
METRIC = [
    LogisticMetric(0.5),
    LogisticMetric(3.0),
    HingeMetric(3.0),
    HingeMetric(0.5, width=0.05),
    HingeMetric(1.0, width=2.0),
]
POINTWISE = [
    LogisticPointwise(0.5),
    LogisticPointwise(3.0),
    HingePointwise(),
    HingePointwise(0.1),
    HingePointwise(3.0),
    LeastSquaresPointwise(),
    LeastSquaresPointwise(3.0),
]


@pytest.mark.parametrize("loss", [*RANKING, *METRIC, *POINTWISE], ids=repr)
def test_built_in_losses_pass(loss: Any) -> None:
    domains = [Domain(0.5, 7.0, positive_semidefinite=True)]
    if not getattr(loss, "matrix", False):
        domains.append(Domain(2.0, math.inf))
    report = examine(loss, domains, features=(3,), random_state=1)
    assert report.passed, report


def tampered(loss: Any, *names: str, factor: float = 0.99) -> Any:
    """Return the loss with each of these constants, and no other, made too small."""

    def smaller(name: str) -> Callable[..., Any]:
        def method(self: Any, *arguments: Any) -> Any:
            declared = getattr(loss, name)(*arguments)
            if isinstance(declared, Holder):
                return replace(declared, constant=factor * declared.constant)
            if isinstance(declared, tuple):
                return tuple(factor * number for number in declared)
            return factor * declared

        return method

    kept = (*SMOOTH, "constants") if isinstance(loss, RankingLoss | MetricLoss) else ()
    methods = {name: getattr(loss, name) for name in kept}
    methods = {name: staticmethod(method) for name, method in methods.items()}
    made = type("Tampered", (type(loss),), {**methods, **{n: smaller(n) for n in names}})
    fake = object.__new__(made)
    vars(fake).update(vars(loss))
    return fake


ONE_PARAMETER = ("lipschitz", "pair_diameter", "record_diameter", "sensitivity")
SMOOTH = (
    *ONE_PARAMETER,
    "smoothness",
    "holder",
    "risk_smoothness",
    "derivative_bound",
    "curvature",
)
SHARP = (*ONE_PARAMETER, "holder", "derivative_bound")
ALONE = ("lipschitz", "smoothness", "holder", "record_diameter")
TAMPERED = [
    (LogisticRanking(), SMOOTH),
    (LogisticRanking("one-sided", 0.5), SMOOTH),
    (LogisticRanking(temperature=3.0), SMOOTH),
    (HingeRanking(), SHARP),
    (HingeRanking("one-sided", 0.5), SHARP),
    (HingeRanking("one-sided", width=0.1), SMOOTH),
    (PowerHingeRanking(), SHARP),
    (PowerHingeRanking("one-sided", power=1.1), SHARP),
    (SquaredHingeRanking("one-sided"), SMOOTH),
    (LeastSquaresRanking(), SMOOTH),
    (LogisticMetric(), SMOOTH),
    (HingeMetric(), SHARP),
    (HingeMetric(width=0.2), SMOOTH),
    (LogisticPointwise(), ALONE),
    (HingePointwise(), ("lipschitz", "holder", "record_diameter")),
    (HingePointwise(0.2), ALONE),
    (LeastSquaresPointwise(), ("lipschitz", "smoothness", "holder")),
]


@pytest.mark.parametrize(("loss", "names"), TAMPERED, ids=lambda part: type(part).__name__)
def test_a_constant_one_per_cent_too_small_is_named(loss: Any, names: tuple[str, ...]) -> None:
    report = examine(tampered(loss, *names))
    for name in names:
        caught = [c for c in report.checks if c.name.startswith(name) and not c.passed]
        assert caught, (name, str(report))
        assert all(check.ratio < 1.02 for check in caught)


@pytest.mark.parametrize("name", ["pair_diameter", "curvature", "sensitivity"])
def test_nothing_else_is_named(name: str) -> None:
    failures = examine(tampered(LogisticRanking(), name)).failures
    assert failures
    assert all(failure.split("(")[0] in (name, "declared constants") for failure in failures)


@pytest.mark.parametrize("name", ["sensitivity", "risk_smoothness"])
def test_averages_are_attacked_at_every_small_n(name: str) -> None:
    failures = examine(tampered(LogisticRanking(), name)).failures
    assert [failure for failure in failures if failure.startswith(name)] == [
        f"{name}(n={n})" for n in (2, 3, 4, 5, 6)
    ]


@pytest.mark.parametrize("loss", [LogisticRanking(), LogisticMetric()], ids=["ranking", "metric"])
@pytest.mark.parametrize("domain", [Domain(3.0, 0.1), Domain(0.3, math.inf)], ids=repr)
def test_small_and_unbounded_sets_are_searched_too(loss: Any, domain: Domain) -> None:
    report = examine(tampered(loss, *SMOOTH), [domain])
    assert {name.split("(")[0] for name in report.failures} >= {*ONE_PARAMETER, "smoothness"}


def test_the_least_squares_bound_is_attained_where_only_the_start_is_looked_at() -> None:
    report = examine(tampered(LeastSquaresPointwise(2.0), "record_diameter"), [Domain(0.5, 0.0)])
    assert report.failures == ("record_diameter",)


def test_infinite_pairs_do_not_hide_finite_averages() -> None:
    class Hopeful(HingeRanking):
        def risk_smoothness(self, domain: Domain, n: int) -> float:
            return 1e3

        def record_diameter(self, domain: Domain) -> float:
            return math.inf

        def sensitivity(self, domain: Domain, n: int) -> float:
            return 0.5

    failures = examine(Hopeful()).failures
    assert "risk_smoothness(n=4)" in failures
    assert "sensitivity(n=4)" in failures
    assert "record_diameter" not in failures


@dataclass(frozen=True)
class Product(PairwiseLoss):
    """y y' <w, x + x'>/2: linear, with nothing declared but the Lipschitz constant."""

    convex = True

    def value(self, parameters: Any, x: Any, y: Any, other_x: Any, other_y: Any) -> Any:
        return y * other_y * ((x + other_x) @ parameters) / 2

    def gradient(self, parameters: Any, x: Any, y: Any, other_x: Any, other_y: Any) -> Any:
        return (y * other_y)[:, None] * (x + other_x) / 2

    def lipschitz(self, domain: Domain) -> float:
        return domain.data_norm


def test_a_user_defined_loss_passes_with_defaults_that_are_attained() -> None:
    report = check_pairwise_loss(Product())
    assert report.passed
    for name in ("lipschitz", "pair_diameter", "record_diameter", "sensitivity(n=5)"):
        assert report.worst(name).ratio == pytest.approx(1.0)


@dataclass(frozen=True)
class Exponential(RankingLoss):
    """exp(-u): no finite constant on an unbounded set."""

    convex = True

    def phi(self, u: Any) -> Any:
        return np.exp(-u)

    def slope(self, u: Any) -> Any:
        return -np.exp(-u)

    def derivative_bound(self, margin_bound: float) -> float:
        return math.exp(margin_bound) if margin_bound < 700 else math.inf

    def curvature(self, margin_bound: float) -> float:
        return self.derivative_bound(margin_bound)

    def structure(self) -> Any:
        return AllPairs()


@pytest.mark.parametrize("form", ["two-sided", "one-sided"])
def test_a_user_defined_ranking_loss_passes(form: str) -> None:
    report = examine(Exponential(form), [Domain(1.0, 2.0), Domain(0.5, math.inf)])
    assert report.passed
    assert report.worst("record_diameter").ratio == pytest.approx(1.0)


def test_failures_raise_and_show_an_example() -> None:
    loss = tampered(HingeRanking(), "lipschitz", "pair_diameter", factor=0.9)
    with pytest.raises(
        LossCheckError, match=r"FAILED  lipschitz +declared 3\.6 +found 4 "
    ) as caught:
        check_pairwise_loss(loss, domains=BALL, features=[2])
    text = str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == text
    assert "ratio 1.111111 at R=1, B=1, d=2" in text
    assert "parameters [" in text
    assert "record [" in text
    assert set(caught.value.report.failures) >= {"lipschitz", "pair_diameter"}


def test_a_report_prints_one_line_a_check() -> None:
    report = examine(PowerHingeRanking(), [*BALL, Domain(1.0, math.inf)])
    lines = str(report).splitlines()
    assert lines[0].endswith("all ok")
    assert len(lines) == 1 + len({check.name for check in report.checks})
    assert all(line.startswith("  ok ") for line in lines[1:])


def test_the_same_seed_gives_the_same_report() -> None:
    first, second = (examine(LogisticRanking(), random_state=3) for _ in range(2))
    assert first == second
    assert examine(LogisticRanking(), random_state=4) != first


def test_refusals() -> None:
    with pytest.raises(TypeError, match="loss must be a PairwiseLoss"):
        check_pairwise_loss(HingePointwise())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="loss must be a PointwiseLoss"):
        check_pointwise_loss(HingeRanking())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="features"):
        check_pairwise_loss(HingeRanking(), features=[])
    with pytest.raises(ValueError, match="tolerance"):
        check_pairwise_loss(HingeRanking(), tolerance=-1.0)


def test_labels_of_a_pointwise_loss() -> None:
    narrow = examine(LeastSquaresPointwise(2.0), labels=(-1.0, 1.0)).worst("lipschitz")
    wide = examine(LeastSquaresPointwise(2.0), labels=(-3.0, 3.0)).worst("lipschitz")
    assert narrow.ratio == pytest.approx(4 / 6)
    assert wide.ratio == pytest.approx(8 / 6)
