"""Certificates: their fields, what their releases cost together, and whether their claim holds."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest

from pairdp.privacy import (
    Budget,
    Certificate,
    FixedSizeSampling,
    GaussianMechanism,
    KNormMechanism,
    LaplaceMechanism,
    NoMechanism,
    NonPrivateEvent,
    ParallelEvent,
    Part,
    PrivacyCurve,
    Release,
    Sensitivity,
    SequentialEvent,
)
from tests.privacy.certificates.examples import (
    AVERAGE,
    BUDGET,
    CERTIFICATES,
    HALF,
    certify,
    gaussian,
    k_norm,
)


@pytest.mark.parametrize("n", [0, -1, 1.5, 100.0, True, "100", None])
def test_n_is_a_positive_integer(n: object) -> None:
    with pytest.raises((TypeError, ValueError), match="n must be"):
        Certificate("learner", BUDGET, n, (gaussian(),))


def test_numpy_integers_are_accepted() -> None:
    size = np.int64(100)
    sensitivity = Sensitivity.of("average over pairs", diameter=np.float64(4.0), n=size)
    mechanism = GaussianMechanism(sensitivity.value, np.float64(0.5), size)
    release = Release("weights", mechanism, sensitivity, size)
    made = Certificate("learner", BUDGET, size, (release,))
    assert Certificate.from_json(made.to_json()) == made


def test_numpy_single_precision_inputs_are_accepted() -> None:
    sensitivity = Sensitivity.of("average over pairs", diameter=np.float32(4.0), n=100)
    made = certify(gaussian(sensitivity=sensitivity))
    assert Certificate.from_json(made.to_json()) == made


@pytest.mark.parametrize("budget", [1.0, (1.0, 1e-6), "1", {"epsilon": 1.0}])
def test_the_budget_is_a_budget_or_none(budget: object) -> None:
    with pytest.raises(TypeError, match="budget must be a Budget"):
        Certificate("learner", budget, 100, (gaussian(),))


@pytest.mark.parametrize(
    ("budget", "calibration"), [(None, "certified"), (None, "printed"), (BUDGET, "none")]
)
def test_nothing_is_claimed_exactly_without_calibration(
    budget: Budget | None, calibration: str
) -> None:
    with pytest.raises(ValueError, match="must be None if and only if"):
        certify(gaussian(), budget=budget, calibration=calibration)


@pytest.mark.parametrize("calibration", ["", "Certified", None, "exact"])
def test_unknown_calibrations_are_refused(calibration: object) -> None:
    with pytest.raises(ValueError, match='calibration must be "certified"'):
        certify(gaussian(), calibration=calibration)


@pytest.mark.parametrize("releases", [(), [], (gaussian(), None), ("weights",)])
def test_releases_are_one_or_more_releases(releases: object) -> None:
    with pytest.raises(ValueError, match="at least one Release"):
        Certificate("learner", BUDGET, 100, releases)


@pytest.mark.parametrize("value", [[1], {"a": 1}, (1,), object(), np.zeros(2), 1j])
def test_problem_values_are_json_scalars(value: object) -> None:
    with pytest.raises(TypeError, match="problem entry size must be a JSON scalar"):
        certify(gaussian(), problem={"size": value})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan")])
def test_problem_values_are_finite(value: float) -> None:
    with pytest.raises(ValueError, match="problem entry size must be finite"):
        certify(gaussian(), problem={"size": value})


@pytest.mark.parametrize("name", ["", " ", 3, None])
def test_problem_names_are_not_blank(name: object) -> None:
    with pytest.raises((TypeError, ValueError), match="problem entry"):
        certify(gaussian(), problem={name: 1})


@pytest.mark.parametrize("field", ["algorithm", "noise_source", "library_version"])
@pytest.mark.parametrize("value", ["", "  ", None, 3])
def test_texts_are_not_blank(field: str, value: object) -> None:
    with pytest.raises((TypeError, ValueError), match=field):
        dataclasses.replace(CERTIFICATES["gaussian"], **{field: value})


@pytest.mark.parametrize("assumption", ["", None, 3])
def test_assumptions_are_not_blank(assumption: object) -> None:
    with pytest.raises((TypeError, ValueError), match="assumption"):
        certify(gaussian(), assumptions=("true", assumption))


def test_mechanism_and_bound_must_agree_on_the_sensitivity() -> None:
    mechanism = GaussianMechanism(AVERAGE.value * (1 - 1e-12), 1.0, 7)
    with pytest.raises(ValueError, match="has sensitivity"):
        Release("weights", mechanism, AVERAGE, 7)


@pytest.mark.parametrize("kind", [GaussianMechanism, KNormMechanism, LaplaceMechanism])
def test_noise_is_for_the_dimension_of_the_release(kind: Any) -> None:
    mechanism = kind(AVERAGE.value, 1.0, 3)
    with pytest.raises(ValueError, match="has dimension 3, but the release needs 4"):
        Release("histogram", mechanism, AVERAGE, 4)


@pytest.mark.parametrize(
    "mechanism",
    [kind(1.0, 1.0, 3) for kind in (GaussianMechanism, KNormMechanism, LaplaceMechanism)],
)
def test_noise_needs_its_sensitivity(mechanism: GaussianMechanism) -> None:
    with pytest.raises(ValueError, match="a release with noise needs a sensitivity"):
        Release("weights", mechanism, None, 3)


def test_no_noise_has_no_sensitivity() -> None:
    with pytest.raises(ValueError, match="must be None for a release"):
        Release("weights", NoMechanism(), AVERAGE, 3)


@pytest.mark.parametrize(
    "mechanism", [KNormMechanism(AVERAGE.value, 1.0, 7), LaplaceMechanism(AVERAGE.value, 1.0, 7)]
)
def test_sampling_goes_with_gaussian_noise_only(mechanism: KNormMechanism) -> None:
    with pytest.raises(ValueError, match="sampling is supported for Gaussian noise only"):
        Release("weights", mechanism, AVERAGE, 7, 5, FixedSizeSampling(10, 100))


@pytest.mark.parametrize(
    ("field", "value"),
    [("dimension", 0), ("dimension", 2.0), ("count", 0), ("count", True), ("name", "")],
)
def test_release_fields_are_checked(field: str, value: object) -> None:
    with pytest.raises((TypeError, ValueError), match=field):
        dataclasses.replace(gaussian(), **{field: value})


@pytest.mark.parametrize(("name", "size"), [("", 5), (None, 5), ("a", 0), ("a", 2.5), ("a", "5")])
def test_parts_have_a_name_and_a_size(name: object, size: object) -> None:
    with pytest.raises((TypeError, ValueError), match="part"):
        Part(name, size)


def test_a_release_needs_a_known_mechanism() -> None:
    class Silence(NoMechanism):
        pass

    for mechanism in (Silence(), "gaussian", None):
        with pytest.raises(TypeError, match="must be a Mechanism"):
            Release("weights", mechanism, None, 3)


def test_certificates_are_frozen_all_through() -> None:
    made = CERTIFICATES["gaussian"]
    (release,) = made.releases
    for thing, field in [(made, "n"), (made, "budget"), (release, "count"), (AVERAGE, "value")]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, field, getattr(thing, field))
    for mapping in (made.problem, AVERAGE.inputs):
        with pytest.raises(TypeError):
            mapping["n"] = 1
    assert isinstance(made.releases, tuple)
    assert isinstance(made.assumptions, tuple)


def test_changing_what_it_was_made_from_changes_nothing() -> None:
    problem: dict[str, object] = {"margin": 0.1}
    releases, assumptions = [gaussian()], ["true"]
    made = Certificate(
        "learner", BUDGET, 100, releases, problem=problem, assumptions=assumptions
    )  # fmt: skip
    text = made.to_json()
    problem["margin"] = 0.2
    releases.append(gaussian())
    assumptions.append("false")
    assert made.to_json() == text


def test_one_release_costs_its_event() -> None:
    for made in (CERTIFICATES["gaussian"], certify(k_norm(0.5, count=3))):
        (release,) = made.releases
        assert made.event == release.mechanism.event(release.count)


def test_releases_compose_in_sequence() -> None:
    both = certify(k_norm(0.25), k_norm(0.5), budget=Budget(1.0))
    assert both.epsilon() == pytest.approx(0.75, rel=1e-12)


def test_parts_compose_in_parallel_and_each_part_in_sequence() -> None:
    made = CERTIFICATES["parts"]
    # In all records 0.25; in the first part 0.5 + 0.25 more, in the second 0.6.
    assert made.epsilon() == pytest.approx(1.0, rel=1e-12)
    assert isinstance(made.event, SequentialEvent)
    assert isinstance(made.event.events[-1], ParallelEvent)
    swapped = dataclasses.replace(made, releases=made.releases[2:] + made.releases[:2])
    assert swapped.epsilon() == made.epsilon()


def test_one_more_release_on_the_lighter_part_is_free() -> None:
    lighter, heavier = Part("lighter", 50), Part("heavier", 50)
    base = [k_norm(0.25, part=lighter), k_norm(0.75, part=heavier)]
    assert certify(*base, k_norm(0.25, part=lighter)).epsilon(0.0) == certify(*base).epsilon(0.0)
    assert certify(*base, k_norm(0.25, part=heavier)).epsilon(0.0) == pytest.approx(1.0)


def test_gaussian_parts_count_by_their_worst() -> None:
    first, second = Part("first", 50), Part("second", 50)
    made = certify(
        gaussian(1.0, sensitivity=HALF, part=first), gaussian(0.5, sensitivity=HALF, part=second)
    )
    alone = certify(gaussian(0.5, sensitivity=HALF))
    assert made.epsilon() == alone.epsilon()


@pytest.mark.parametrize(
    "name", ["gaussian", pytest.param("mixture", marks=pytest.mark.slow), "without replacement"]
)
def test_epsilon_delta_and_curve_are_those_of_the_privacy_curve(name: str) -> None:
    made = CERTIFICATES[name]
    curve = PrivacyCurve(made.event)
    assert made.budget is not None
    assert made.epsilon() == curve.epsilon(made.budget.delta)
    assert made.delta() == curve.delta(made.budget.epsilon)
    assert made.epsilon(1e-4) == curve.epsilon(1e-4)
    assert made.delta(0.5) == curve.delta(0.5)
    deltas = [1e-8, 1e-2]
    points = made.curve(deltas)
    assert points.epsilon.tolist() == [curve.epsilon(d) for d in deltas]
    assert points.delta.tolist() == deltas


@pytest.mark.parametrize("name", ["gaussian", "gaussian, 50 times", "k-norm", "laplace"])
def test_the_curve_falls(name: str) -> None:
    points = CERTIFICATES[name].curve()
    assert points.epsilon.shape == points.delta.shape == (25,)
    assert points.delta[0] == pytest.approx(1e-12)
    assert points.delta[-1] == pytest.approx(0.1)
    assert np.all(np.diff(points.delta) > 0)
    assert np.all(np.diff(points.epsilon) <= 0)
    assert points.epsilon[0] > points.epsilon[-1] >= 0


@pytest.mark.parametrize("name", ["mixture", "without replacement", "poisson", "parts"])
def test_composed_curves_fall(name: str) -> None:
    made = CERTIFICATES[name]
    deltas = [made.delta(epsilon) for epsilon in (0.0, 0.2, 0.5, 0.8)]
    assert all(larger > smaller for larger, smaller in itertools.pairwise(deltas))
    assert made.epsilon(1e-9) > made.epsilon(1e-2)


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_epsilon_and_delta_are_inverse(delta: float) -> None:
    made = CERTIFICATES["gaussian"]
    assert made.delta(made.epsilon(delta)) == pytest.approx(delta, rel=1e-9)


def test_a_pure_claim_is_asked_at_delta_zero() -> None:
    assert CERTIFICATES["k-norm"].epsilon() == pytest.approx(1.0, rel=1e-15)
    assert CERTIFICATES["k-norm"].delta(1.0 + 1e-12) == 0
    assert CERTIFICATES["gaussian"].epsilon(0.0) == math.inf


def test_the_baseline_costs_everything() -> None:
    baseline = CERTIFICATES["baseline"]
    assert baseline.epsilon() == math.inf
    assert baseline.epsilon(0.1) == math.inf
    assert baseline.delta() == baseline.delta(100.0) == 1.0
    assert baseline.event in (NonPrivateEvent(), SequentialEvent((NonPrivateEvent(),) * 2))


def test_noise_that_nobody_vouches_for_is_a_baseline_too() -> None:
    noisy = certify(gaussian(1000.0), budget=None, calibration="none")
    assert noisy.epsilon(0.1) == math.inf
    assert noisy.holds


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("steps", [1, 2, 3, 7, 30])
def test_calibrated_noise_holds_and_one_percent_less_does_not(epsilon: float, steps: int) -> None:
    budget, pure = Budget(epsilon, 1e-6), Budget(epsilon)
    exact = GaussianMechanism.calibrate(budget, AVERAGE.value, dimension=7, steps=steps)
    assert certify(gaussian(exact.scale, count=steps), budget=budget).holds
    assert not certify(gaussian(exact.scale * 0.99, count=steps), budget=budget).holds
    assert certify(k_norm(epsilon / steps, count=steps), budget=pure).holds
    assert not certify(k_norm(1.01 * epsilon / steps, count=steps), budget=pure).holds


@pytest.mark.parametrize("steps", [1, 3, 7, 30])
@pytest.mark.parametrize("delta", [0.0, 1e-15, 1e-11, 1e-6])
def test_calibrated_pure_noise_holds_whatever_delta(delta: float, steps: int) -> None:
    false = []
    for hundredths in range(5, 300, 7):
        budget = Budget(hundredths / 100, delta)
        mechanism = KNormMechanism.calibrate(budget, AVERAGE.value, dimension=6, steps=steps)
        release = Release("matrix", mechanism, AVERAGE, 6, steps)
        if not certify(release, budget=budget).holds:
            false.append(budget.epsilon)
    assert false == []


def test_gaussian_noise_does_not_hold_for_a_pure_claim() -> None:
    assert not certify(gaussian(1e6), budget=Budget(1.0)).holds


def test_a_claim_over_a_release_without_noise_does_not_hold() -> None:
    assert not certify(gaussian(), Release("weights", NoMechanism(), None, 7)).holds


def test_a_single_release_or_assumption_is_refused_without_a_sequence() -> None:
    with pytest.raises(TypeError, match="put a single one into a tuple"):
        Certificate("learner", BUDGET, 100, gaussian())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="put a single one into a tuple"):
        certify(gaussian(), assumptions="Labels are ±1.")


def test_curves_are_asked_at_a_sequence_of_deltas() -> None:
    with pytest.raises(ValueError, match="sequence of numbers"):
        certify(gaussian()).curve([[1e-6]])  # type: ignore[list-item]
