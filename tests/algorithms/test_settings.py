"""Settings: a frozen dataclass for each algorithm, recorded by certificates and read back."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pairdp import Budget
from pairdp.algorithms import (
    Algorithm,
    GradientDescent,
    MomentRelease,
    NoisyGradientDescent,
    Plan,
    WithThreshold,
    algorithms,
)
from pairdp.algorithms.algorithm import PlanDraft
from pairdp.algorithms.stored_plans import stored_plan
from pairdp.algorithms.task import Settings
from pairdp.constraints import L2Ball, PSDFrobeniusBall, Unconstrained
from pairdp.losses import (
    LeastSquaresRanking,
    LogisticMetric,
    LogisticPointwise,
    LogisticRanking,
    PairMetricLoss,
)
from pairdp.online import CenteredMoments, OnlineDescent, OnlineMoments
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.problem import Problem
from pairdp.storage import decode

BUDGET = Budget(1.0, 1e-5)
PROBLEMS = (
    Problem(LogisticRanking(), L2Ball(1.0), 0.1),
    Problem(LogisticRanking(), Unconstrained()),
    Problem(LeastSquaresRanking(), L2Ball(1.0), 0.1),
    Problem(LogisticMetric(), PSDFrobeniusBall(1.0), 0.1),
    PointwiseProblem(LogisticPointwise(), L2Ball(1.0), 0.1),
    PointwiseProblem(LogisticPointwise(), L2Ball(1.0)),
    PointwiseProblem(PairMetricLoss(), PSDFrobeniusBall(1.0)),
)
MORE = {
    "batches of disjoint pairs": NoisyGradientDescent(batch_size=10, pairing="disjoint"),
    "average": GradientDescent("average"),
    "direction": MomentRelease(second_moments=False),
    "threshold": WithThreshold(GradientDescent()),
    "free threshold": WithThreshold(MomentRelease()),
    "reservoir": OnlineDescent(buffer=8, replacement="reservoir"),
    "models": OnlineDescent(noise="models", step_size=0.1),
    "running moments": OnlineMoments(ridge=0.1),
    "centred moments": CenteredMoments(center_records=8, radius_records=4),
}
ALGORITHMS = {**algorithms(), **MORE}


def plans(algorithm: Algorithm) -> list[Plan]:
    """Return its plans for those problems that it is for."""
    found = []
    for problem in PROBLEMS:
        try:
            found.append(algorithm.plan(problem, 60, 3, BUDGET))
        except ValueError:
            continue
    return found


@pytest.mark.parametrize("name", ALGORITHMS)
def test_settings_are_frozen_dataclasses_that_certificates_record(name: str) -> None:
    made = plans(ALGORITHMS[name])
    assert made
    for plan in made:
        first = dataclasses.fields(plan.settings)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(plan.settings, first, 1)
        recorded = plan.certificate.to_dict()["plan"]["settings"]
        decoded = {key: decode(value) for key, value in recorded.items()}
        assert decoded == plan.settings.to_dict()
        assert all(type(value) in (int, float, str, bool) for value in decoded.values())
        assert stored_plan(plan.certificate, plan.reasons, plan.departures) == plan


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if "threshold" not in name])
def test_each_field_is_recorded_unless_it_is_none(name: str) -> None:
    for plan in plans(ALGORITHMS[name]):
        values = dataclasses.asdict(plan.settings)
        recorded = plan.settings.to_dict()
        assert {key: value for key, value in values.items() if value is not None} == recorded
        assert list(recorded) == [key for key in values if key in recorded]


def test_a_threshold_records_its_share_beside_the_settings_of_the_model() -> None:
    problem = PROBLEMS[0]
    plan = WithThreshold(GradientDescent(steps=4), 0.2).plan(problem, 60, 3, BUDGET)
    alone = GradientDescent(steps=4).plan(problem, 60, 3, BUDGET)
    assert plan.settings.model == alone.settings
    assert plan.settings.to_dict() == {**alone.settings.to_dict(), "threshold_share": 0.2}


@pytest.mark.parametrize("recorded", [{}, {"steps": 1}, {"output": "last", "step": 1}])
def test_settings_of_other_names_are_refused(recorded: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="DescentSettings"):
        GradientDescent().settings_from(recorded)


@dataclasses.dataclass(frozen=True)
class Undeclared(Algorithm):
    """Its settings could not be read back from a certificate."""

    name: str = "Undeclared"

    settings_type = Settings

    def draft(self, task):
        return PlanDraft((), GradientDescent().draft(task).settings)

    def execute(self, plan, records, noise, progress):
        return np.zeros(records.features)


def test_settings_that_could_not_be_read_back_are_refused() -> None:
    with pytest.raises(TypeError, match="Settings"):
        Undeclared().plan(PROBLEMS[0], 60, 3, BUDGET)
