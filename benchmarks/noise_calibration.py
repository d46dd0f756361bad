"""Time and accuracy of noise multipliers for sampled steps, compared with dp-accounting."""

from __future__ import annotations

import math
import time

from scipy.optimize import brentq

from pairdp.privacy import (
    Budget,
    FixedSizeSampling,
    PoissonSampling,
    PrivacyCurve,
    SampledEvent,
    Sampling,
    noise_multiplier,
)
from pairdp.privacy.accounting.second_routes.dp_accounting import accountant_delta
from pairdp.privacy.accounting.second_routes.moment_inversion import inverted_delta

CASES: list[tuple[Sampling, int, Budget]] = [
    (FixedSizeSampling(2, 1000), 1000, Budget(1.0, 1e-6)),
    (FixedSizeSampling(1, 5000), 5000, Budget(0.5, 4e-8)),
    (FixedSizeSampling(100, 10_000), 10_000, Budget(1.0, 1e-6)),
    (FixedSizeSampling(2, 2000), 4_000_000, Budget(1.0, 1e-6)),
    (FixedSizeSampling(100, 100_000), 10**6, Budget(1.0, 1e-7)),
    (FixedSizeSampling(1000, 10**6), 10**6, Budget(8.0, 1e-9)),
    (FixedSizeSampling(1, 10**6), 10**6, Budget(1.0, 1e-8)),
    (FixedSizeSampling(1, 10**6), 10**6, Budget(0.1, 1e-12)),
    (PoissonSampling(0.001), 10**6, Budget(1.0, 1e-6)),
]
_WIDTH = 1e-4
_LONGEST = 20_000  # steps beyond which dp-accounting's grid of 1e-4 is too coarse to compare


def exact_multiplier(sampling: Sampling, steps: int, budget: Budget, near: float) -> float | None:
    """Return the multiplier by inverting moments, or None where the integral is too slow."""

    def excess(multiplier: float) -> float:
        event = SampledEvent(1 / multiplier, sampling, steps)
        found = inverted_delta([event], budget.epsilon, most_points=3000)
        if found.error > 1e-3 * found.delta:
            raise ArithmeticError
        return math.log(found.delta / budget.delta)

    try:
        return float(brentq(excess, near * 0.97, near * 1.03, xtol=1e-6 * near))
    except (ArithmeticError, ValueError):
        return None


def main() -> None:
    """Print a table of calibrations."""
    print("Calibrating σ/Δ for steps on sampled records, without a cache")
    print("  sampling                        steps    ε     δ      σ/Δ       s   over exact")
    for sampling, steps, budget in CASES:
        start = time.perf_counter()
        found = noise_multiplier(budget, steps, sampling)
        took = time.perf_counter() - start
        exact = exact_multiplier(sampling, steps, budget, found)
        ratio = "-" if exact is None else f"{found / exact:.5f}"
        print(
            f"  {_name(sampling):28} {steps:8} {budget.epsilon:4g} {budget.delta:6.0e} "
            f"{found:8.5f} {took:7.3f}   {ratio}"
        )
    print(f"\nOne δ(ε), compared with dp-accounting at a grid of {_WIDTH:g}")
    print("  sampling                        steps    ours s   theirs s   time ratio   δ ratio")
    for sampling, steps, budget in CASES:
        if steps <= _LONGEST:
            _compare(sampling, steps, budget)


def _compare(sampling: Sampling, steps: int, budget: Budget) -> None:
    event = SampledEvent(1 / noise_multiplier(budget, steps, sampling), sampling, steps)
    accountant_delta([event], budget.epsilon, _WIDTH)  # import, and fill caches
    start = time.perf_counter()
    theirs = accountant_delta([event], budget.epsilon, _WIDTH)
    middle = time.perf_counter()
    ours = PrivacyCurve(event).delta(budget.epsilon)
    end = time.perf_counter()
    print(
        f"  {_name(sampling):28} {steps:8} {end - middle:9.4f} {middle - start:10.4f} "
        f"{(middle - start) / (end - middle):12.1f} {ours / theirs:9.4f}"
    )


def _name(sampling: Sampling) -> str:
    if isinstance(sampling, FixedSizeSampling):
        return f"{sampling.size} of {sampling.population}"
    return f"Poisson {sampling.rate:g}"


if __name__ == "__main__":
    main()
