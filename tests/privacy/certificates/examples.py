"""Certificates of every kind."""

from __future__ import annotations

from pairdp.privacy import (
    Budget,
    Certificate,
    FixedSizeSampling,
    GaussianMechanism,
    KNormMechanism,
    LaplaceMechanism,
    NoMechanism,
    Part,
    PoissonSampling,
    Release,
    Sampling,
    Sensitivity,
)

BUDGET = Budget(1.0, 1e-6)
AVERAGE = Sensitivity.of("average over pairs", diameter=4.0, n=100)
HALF = Sensitivity.of("average over pairs", diameter=4.0, n=50)


def gaussian(
    scale: float = 0.2,
    *,
    sensitivity: Sensitivity = AVERAGE,
    count: int = 1,
    sampling: Sampling | None = None,
    part: Part | None = None,
) -> Release:
    mechanism = GaussianMechanism(sensitivity.value, scale, 7)
    return Release("weights", mechanism, sensitivity, 7, count, sampling, part)


def k_norm(epsilon: float, *, part: Part | None = None, count: int = 1) -> Release:
    sensitivity = AVERAGE if part is None else HALF
    mechanism = KNormMechanism.calibrate(Budget(epsilon), sensitivity.value, dimension=6)
    return Release("matrix", mechanism, sensitivity, 6, count, None, part)


def laplace(epsilon: float) -> Release:
    mechanism = LaplaceMechanism.calibrate(Budget(epsilon), AVERAGE.value, dimension=3)
    return Release("histogram", mechanism, AVERAGE, 3)


def certify(*releases: Release, budget: Budget | None = BUDGET, **fields: object) -> Certificate:
    return Certificate("learner", budget, 100, releases, **fields)


CERTIFICATES: dict[str, Certificate] = {
    "gaussian": certify(
        gaussian(),
        problem={"loss": "hinge", "smooth": False, "margin": 0.1, "classes": 2, "strong": None},
        noise_source="ChaCha20 keyed by the operating system",
        assumptions=("Records have norm at most 1.", "Labels are ±1."),
    ),
    "gaussian, 50 times": certify(gaussian(2.0, count=50)),
    "k-norm": certify(k_norm(1.0), budget=Budget(1.0)),
    "laplace": certify(laplace(1.0), budget=Budget(1.0)),
    "without replacement": certify(
        gaussian(
            1.0,
            sensitivity=Sensitivity.of("average over pairs", diameter=4.0, n=10),
            count=20,
            sampling=FixedSizeSampling(10, 100),
        )
    ),
    "poisson": certify(
        gaussian(
            10.0, sensitivity=Sensitivity.stated(2.0), count=20, sampling=PoissonSampling(0.05)
        )
    ),
    "parts": certify(
        k_norm(0.5, part=Part("first", 50)),
        k_norm(0.25, part=Part("first", 50)),
        k_norm(0.6, part=Part("second", 50)),
        k_norm(0.25),
        budget=Budget(1.0),
    ),
    "mixture": certify(gaussian(0.5), k_norm(0.25), laplace(0.125)),
    "printed": certify(gaussian(0.04 * 2), calibration="printed"),
    "baseline": certify(
        Release("weights", NoMechanism(), None, 7), budget=None, calibration="none"
    ),
}
