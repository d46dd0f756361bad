"""Certificates of every kind, with every bound."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from pairdp._sealed import seal, unseal
from pairdp.privacy import (
    Budget,
    Certificate,
    FixedSizeSampling,
    GaussianMechanism,
    KNormMechanism,
    L1LaplaceMechanism,
    LaplaceMechanism,
    Part,
    PoissonSampling,
    Release,
    Sampling,
    Sensitivity,
)

BUDGET = Budget(1.0, 1e-6)
PURE = Budget(1.0)
AVERAGE = Sensitivity.of("average over pairs", diameter=4.0, n=100)
BATCH = Sensitivity.of("average over pairs", diameter=4.0, n=10)
HALF = Sensitivity.of("average over pairs", diameter=4.0, n=50)
CLASSES = Sensitivity.of("difference of class sums", data_norm=1.5, n=100)
LAST = Sensitivity.of(
    "last iterate of gradient descent",
    record_diameter=10.0, n=100, step_size=0.2, contraction=0.9, steps=30, diameter=5.0,
)  # fmt: skip
AVERAGED = Sensitivity.of(
    "average iterate of gradient descent",
    record_diameter=10.0, n=100, step_size=0.2, contraction=1.0, steps=30,
)  # fmt: skip
DIAMETER = Sensitivity.of(
    "last iterate of gradient descent",
    record_diameter=10.0, n=100, step_size=0.2, contraction=1.0, steps=30, diameter=0.5,
)  # fmt: skip
STATED = Sensitivity.stated(2.0)
WITHOUT_REPLACEMENT = FixedSizeSampling(10, 100)
POISSON = PoissonSampling(0.05)


def gaussian(
    bound: Sensitivity = AVERAGE,
    *,
    count: int = 1,
    sampling: Sampling | None = None,
    part: Part | None = None,
    noise: float = 1.0,
) -> Release:
    exact = GaussianMechanism.calibrate(
        BUDGET, bound.value, dimension=7, steps=count, sampling=sampling
    )
    mechanism = GaussianMechanism(bound.value, exact.scale * noise, 7)
    return Release("weights", mechanism, bound, 7, count, sampling, part)


def k_norm(epsilon: float, count: int = 1) -> Release:
    mechanism = KNormMechanism.calibrate(Budget(epsilon), AVERAGE.value, dimension=6)
    return Release("matrix", mechanism, AVERAGE, 6, count)


def laplace(epsilon: float, count: int = 1) -> Release:
    mechanism = LaplaceMechanism.calibrate(Budget(epsilon), AVERAGE.value, dimension=3, steps=count)
    return Release("histogram", mechanism, AVERAGE, 3, count)


def histograms(epsilon: float, count: int = 1) -> Release:
    bound = Sensitivity.of("histograms of columns, in ℓ1", columns=2)
    mechanism = L1LaplaceMechanism.for_epsilon(epsilon, bound.value, 9)
    return Release("histograms", mechanism, bound, 9, count)


def certify(*releases: Release, budget: Budget | None = BUDGET, **fields: object) -> Certificate:
    return Certificate("learner", budget, 100, releases, **fields)


def tight(*releases: Release) -> Certificate:
    """Claim exactly the δ that holds at ε = 1, so that nothing can be taken away."""
    made = certify(*releases)
    return dataclasses.replace(made, budget=Budget(1.0, made.delta(1.0)))


KINDS: dict[str, Callable[[], Certificate]] = {
    "gaussian": lambda: certify(gaussian()),
    "gaussian, 50 times": lambda: certify(gaussian(count=50)),
    "k-norm": lambda: certify(k_norm(1.0), budget=PURE),
    "k-norm, delta positive": lambda: certify(k_norm(1.0)),
    "laplace": lambda: certify(laplace(1.0), budget=PURE),
    "laplace, 7 times": lambda: certify(laplace(1.0, 7), budget=PURE),
    "laplace in l1": lambda: certify(histograms(1.0), budget=PURE),
    "laplace in l1, 3 times": lambda: certify(histograms(0.3, 3), budget=PURE),
    "without replacement, 1 step": lambda: certify(gaussian(BATCH, sampling=WITHOUT_REPLACEMENT)),
    "without replacement, 50 steps": lambda: certify(
        gaussian(BATCH, count=50, sampling=WITHOUT_REPLACEMENT)
    ),
    "without replacement, 1000 steps": lambda: certify(
        gaussian(BATCH, count=1000, sampling=WITHOUT_REPLACEMENT)
    ),
    "all records, called a batch": lambda: certify(
        gaussian(AVERAGE, count=5, sampling=FixedSizeSampling(100, 100))
    ),
    "poisson, 1 step": lambda: certify(gaussian(STATED, sampling=POISSON)),
    "poisson, 50 steps": lambda: certify(gaussian(STATED, count=50, sampling=POISSON)),
    "parts": lambda: certify(
        gaussian(HALF, part=Part("first", 50)), gaussian(HALF, count=3, part=Part("second", 50))
    ),
    "parts and all": lambda: certify(
        gaussian(HALF, part=Part("first", 50), noise=1.5), gaussian(AVERAGE, noise=1.5)
    ),
    "one part twice": lambda: certify(
        *[gaussian(HALF, part=Part("first", 50), noise=1.42)] * 2,
        gaussian(HALF, part=Part("second", 50)),
    ),
    "gaussian and pure": lambda: certify(k_norm(0.3), gaussian(noise=1.6)),
    "sampled and pure": lambda: certify(
        k_norm(0.3), gaussian(BATCH, count=200, sampling=WITHOUT_REPLACEMENT, noise=2.0)
    ),
    "pure, 30 times, delta positive": lambda: tight(k_norm(0.07, 30)),
    "pure, 500 times, delta positive": lambda: tight(k_norm(0.01, 500)),
    "pure, 2000 times, delta positive": lambda: tight(k_norm(0.004, 2000)),
    "pure, 200 times, tiny delta": lambda: tight(k_norm(0.01, 200)),
    "two pure kinds, delta positive": lambda: tight(k_norm(0.1, 12), laplace(0.6, 10)),
    "class sums": lambda: certify(gaussian(CLASSES)),
    "last iterate": lambda: certify(gaussian(LAST)),
    "average iterate": lambda: certify(gaussian(AVERAGED)),
    "diameter": lambda: certify(gaussian(DIAMETER)),
    "stated": lambda: certify(gaussian(STATED)),
    "far too much noise": lambda: certify(gaussian(noise=1e6)),
    "tiny delta": lambda: dataclasses.replace(
        certify(gaussian(noise=4.0)), budget=Budget(1.0, 1e-60)
    ),
}
Leaf = tuple[str | int, ...]


def leaves(values: object, path: Leaf = ()) -> Iterator[tuple[Leaf, float]]:
    if isinstance(values, dict):
        for key, value in values.items():
            yield from leaves(value, (*path, key))
    elif isinstance(values, list):
        for position, value in enumerate(values):
            yield from leaves(value, (*path, position))
    elif isinstance(values, int | float):
        yield path, values


def moved(value: float, up: bool) -> float:
    sign = 1 if up else -1
    if isinstance(value, int):
        return value + sign
    return value * (1 + sign * 0.01) if value else sign * 1e-3


def replaced(certificate: Certificate, changes: dict[Leaf, object]) -> str:
    document = unseal(certificate.to_json())
    for path, value in changes.items():
        inner: object = document
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
    return seal(document)
