"""Neighbours: one record apart, the known worst, and worse ones by search."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp.algorithms import GradientDescent, NoisyGradientDescent
from pairdp.audit import Neighbours, canaries, search, worst_cases, worst_neighbours
from pairdp.audit.search import perturbed_neighbours, random_neighbours
from pairdp.audit.transcripts import distance
from pairdp.constraints import L2Ball
from pairdp.losses import LeastSquaresPointwise
from pairdp.pointwise_problem import PointwiseProblem
from tests.audit.cases import ALL, BUDGET, METRIC, PURE, RANKING, TIGHT, plan


def differ_in_one(pair: Neighbours) -> None:
    (x, y), (other_x, other_y) = pair.both()
    changed = np.any(x != other_x, axis=1) | (y != other_y)
    assert not np.any(np.delete(changed, pair.place))


@pytest.mark.parametrize("problem", [RANKING, METRIC, TIGHT], ids=lambda p: type(p.loss).__name__)
@pytest.mark.parametrize("place", [0, 4])
def test_worst_cases_are_neighbours(problem, place: int) -> None:
    found = list(worst_cases(problem, 5, 2, place))
    for pair in found:
        differ_in_one(pair)
        for x, y in pair.both():
            records = problem.records(x, y, invalid="null")
            assert np.array_equal(records.x, np.nan_to_num(x))  # within the bound already
    assert sum(np.isnan(pair.other_x).all() for pair in found) > 0  # become null


def test_targets_reach_their_bound() -> None:
    problem = PointwiseProblem(LeastSquaresPointwise(label_bound=3.0), L2Ball(1.0))
    assert {abs(pair.other_y) for pair in worst_cases(problem, 4, 1)} == {3.0}


def test_canaries_are_neighbours_of_the_data() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 3)), np.array(["a", "b", "a", "c", "b", "b"])
    found = list(canaries(x, y, 2.0, place=3))
    assert found
    for pair in found:
        differ_in_one(pair)
        rest = np.arange(6) != 3
        assert np.array_equal(pair.x[rest], x[rest])
        assert np.linalg.norm(pair.other_x) == pytest.approx(2.0)
        assert pair.other_y in y


@pytest.mark.parametrize("seed", range(5))
def test_random_neighbours_are_neighbours(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pair = random_neighbours(5, 2, 1, 1.0, rng)
    differ_in_one(pair)
    differ_in_one(perturbed_neighbours(pair, 1.0, rng))


def test_bad_neighbours_are_refused() -> None:
    x, y = np.zeros((3, 2)), np.ones(3)
    with pytest.raises(ValueError, match="place must be at most 2"):
        Neighbours(x, y, 3, np.zeros(2), 1.0)
    with pytest.raises(ValueError, match="must have 2 features"):
        Neighbours(x, y, 0, np.zeros(3), 1.0)
    with pytest.raises(ValueError, match="a label for every row"):
        Neighbours(x, np.ones(2), 0, np.zeros(2), 1.0)
    with pytest.raises(ValueError, match="at least two rows"):
        list(canaries(np.zeros((1, 2)), np.ones(1), 1.0))
    with pytest.raises(ValueError, match="data_norm must be positive"):
        list(canaries(x, y, -1.0))
    with pytest.raises(ValueError, match="n must be at least 2"):
        list(worst_cases(RANKING, 1, 2))
    with pytest.raises(ValueError, match="rows of numbers") as found:
        list(canaries([["secret", 1], [2, 3]], y[:2], 1.0))
    assert "secret" not in str(found.value)
    with pytest.raises(ValueError, match="at least one pair"):
        search(lambda pair: 0.0, [])
    assert "0.0" not in repr(Neighbours(x, y, 0, np.zeros(2), 1.0))  # no data in words


@pytest.mark.parametrize(("labels", "label"), [(["no", "no"], "longer"), ([1, 2], 0.5)])
def test_another_label_is_not_cut_to_the_kind_of_the_others(labels, label) -> None:
    pair = Neighbours(np.zeros((2, 1)), np.array(labels), 0, np.ones(1), label)
    assert list(pair.other[1]) == [label, labels[1]]
    assert list(pair.one[1]) == labels


def test_a_search_climbs() -> None:
    # Furthest when the replaced record goes from e to -e.
    start = Neighbours(np.zeros((3, 1)), np.ones(3), 0, np.array([0.1]), 1.0)

    def moved(pair: Neighbours) -> float:
        return float(np.abs(np.clip(pair.x[0], -1, 1) - np.clip(pair.other_x, -1, 1)).sum())

    without = search(moved, [start], restarts=0, climbs=0)
    assert without.distance == pytest.approx(0.1)
    found = search(moved, [start], restarts=0, climbs=60)
    assert found.distance > 1.0
    assert search(moved, [start], restarts=0, climbs=60).distance == found.distance
    assert search(moved, [start], restarts=8, climbs=0).distance > 0.1


@pytest.mark.parametrize("budget", [BUDGET, PURE], ids=str)
def test_the_tight_loss_attains_the_sensitivity(budget) -> None:
    for algorithm in (GradientDescent(steps=3), GradientDescent("average", 3, 0.1)):
        made = algorithm.plan(TIGHT, 5, 2, budget)
        (release,) = made.certificate.releases
        stated = release.mechanism.sensitivity / release.mechanism.scale
        found = distance(made, worst_neighbours(made, climbs=0))
        assert found == pytest.approx(stated, rel=1e-6)
        assert found <= stated


# Draws of records, and steps before the last iterate, stay secret: there values may differ more.
SECRET = {
    "Kang2021", "Wang2024Pairwise", "Wang2024Pointwise", "Yang2021", "mini-batches", "permutations",
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * name.startswith("neural"))
        for name in sorted(set(ALL) - SECRET)
    ],
)
def test_no_neighbours_are_further_apart_than_the_certificate_says(name: str) -> None:
    made = plan(name)
    pair = worst_neighbours(made, climbs=3)
    # In units of the noise: the μ of all releases; parts are not touched together.
    parts: dict[str, float] = {}
    for release in made.certificate.releases:
        ratio = release.mechanism.sensitivity / release.mechanism.scale
        where = release.part.name if release.part else ""
        parts[where] = parts.get(where, 0.0) + release.count * ratio**2
    everywhere = parts.pop("", 0.0)
    allowed = (everywhere + max(parts.values(), default=0.0)) ** 0.5
    for seed in range(3):
        assert distance(made, pair, seed, noiseless=seed == 0) <= allowed
    assert distance(made, pair) > 0.2 * allowed


def test_steps_are_compared_given_the_same_past() -> None:
    # With T steps of the tight loss the μ of all is √T times that of one.
    for steps in (1, 4):
        made = NoisyGradientDescent(steps=steps, step_size=0.1).plan(TIGHT, 5, 2, BUDGET)
        (release,) = made.certificate.releases
        stated = release.mechanism.sensitivity / release.mechanism.scale * steps**0.5
        pair = worst_neighbours(made, climbs=0)
        assert distance(made, pair, noiseless=False) == pytest.approx(stated, rel=1e-6)
