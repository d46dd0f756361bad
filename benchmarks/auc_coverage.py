"""Private intervals: how often they hold the figure of the population, and how wide they are.

For each number of records, share of positives, AUC and ε, with normal scores: the share of 4000
releases whose interval holds the AUC of the population, which should be at least 95 %, the median
width of the interval, and that of DeLong's interval without privacy. Then, in fewer cells, the AUC
with Gaussian noise, null records, units of records that are all equal, and scores that have the
largest variance; the accuracy of classifiers; and the errors and R² of regressors. Where fewer
releases gave less than 95 %, the share of 4000 other releases counts. The last line is the smallest
share. ``python -m benchmarks auc_coverage --quick`` takes a tenth of the releases,
``--others`` leaves out the first table, and ``--r2`` all but R².
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from pairdp import Budget, Unit
from pairdp.evaluation import AccuracyEvaluation, ErrorEvaluation, EvaluationPlan, ScoreEvaluation
from pairdp.evaluation.noisy_auc import NoisyAUC
from pairdp.evaluation.noisy_errors import TESTED_AT
from pairdp.evaluation.noisy_r2 import NoisyR2
from pairdp.evaluation.pair_sum import pair_sum
from pairdp.evaluation.plan import Noise, noise_of
from pairdp.privacy.bounds.centred_auc import CentredAUC

Array = NDArray[np.float64]

SIZES, SHARES, AUCS = (300, 1000, 10_000, 100_000), (0.5, 0.1, 0.01), (0.6, 0.8, 0.95)
EPSILONS = (0.1, 0.5, 1.0, 2.0)
OTHER_CELLS = ((300, 0.5, 0.6), (300, 0.1, 0.95), (3000, 0.5, 0.95), (3000, 0.1, 0.6))
RELEASES, MEASURED = 4000, 40
_OF_R2 = 3000
_DIVISORS = {"_auc_rows": 2, "_accuracy_rows": 1, "_error_rows": 2, "_r2_rows": 16}
"""Accuracies have a coverage of 0.96, so they need more releases; R² takes longest."""
_DATA_SETS = {300: 1000, 1000: 1000, 10_000: 800, 100_000: 200}


def delong_width(scores: Array, signs: Array) -> float:
    """Return the width of DeLong's 95 % interval; NaN if a class has fewer than two records."""
    positive, negative = np.sort(scores[signs > 0]), np.sort(scores[signs < 0])
    if min(positive.size, negative.size) < 2:
        return math.nan
    below = np.searchsorted(negative, positive) / negative.size
    above = 1 - np.searchsorted(positive, negative) / positive.size
    variance = below.var(ddof=1) / positive.size + above.var(ddof=1) / negative.size
    return float(2 * ndtri(0.975) * math.sqrt(variance))


def cell(
    n: int, share: float, auc: float, releases: int, rng: np.random.Generator
) -> tuple[list[tuple[float, float]], float]:
    """Return coverage and width for each ε, and the width without privacy."""
    data_sets = min(_DATA_SETS[n], releases)
    functions, vectors, delong = CentredAUC(n), [], []
    for number in range(data_sets):
        signs = np.where(rng.random(n) < share, 1.0, -1.0)
        scores = rng.normal(size=n) + math.sqrt(2) * ndtri(auc) * (signs > 0)
        vectors.append(functions.vector(*pair_sum(scores, signs))[:2])
        if number < MEASURED:
            delong.append(delong_width(scores, signs))
    found = []
    for epsilon in EPSILONS:
        held, widths = 0, []
        for number in range(releases):
            t, height = vectors[number % data_sets] + rng.laplace(size=2) / epsilon
            noisy = NoisyAUC(functions, float(t), float(height), None, 1 / epsilon)
            if number < MEASURED:
                widths.append(noisy.interval().width)
            held += bool(noisy.tail(np.array([auc]))[0] >= 0.04)
        found.append((held / releases, float(np.median(widths))))
    return found, float(np.nanmedian(delong))


Records = tuple[Array, ...]
Draw = Callable[[np.random.Generator], Records]
Holds = Callable[[Any], list[bool]]
Row = tuple[list[str], Callable[[float], EvaluationPlan], Draw, Holds]


def released(plan: EvaluationPlan, values: list[Array], rng: np.random.Generator) -> object:
    """Return what a plan releases, with noise of its scale from a fast generator."""
    noisy = []
    for release, exact in zip(plan.certificate.releases, values, strict=True):
        scale, gaussian = noise_of(release)
        draw = rng.normal if gaussian else rng.laplace
        noisy.append((exact + draw(scale=scale, size=exact.size)).tolist())
    return plan.read(*noisy)


def scores_of(n: int, share: float, auc: float, *, worst: bool, null: float, together: int) -> Draw:
    """Return a function that draws scores and signs, equal ones for each unit.

    With ``worst``, positive records are above all others or below all others, which gives the AUC
    the largest variance.
    """

    def draw(rng: np.random.Generator) -> Records:
        units = -(-n // together)
        signs = np.where(rng.random(units) < share, 1.0, -1.0)
        scores = rng.normal(size=units) + math.sqrt(2) * ndtri(auc) * (signs > 0)
        if worst:
            scores = np.where(signs > 0, np.where(rng.random(units) < auc, 1.0, -1.0), 0.0)
        scores, signs = np.repeat(scores, together)[:n], np.repeat(signs, together)[:n]
        return np.where(rng.random(n) < null, np.nan, scores), signs

    return draw


def _auc_rows() -> Iterator[Row]:
    kinds: list[tuple[str, Noise, bool, float, int]] = [
        ("Gaussian noise", "gaussian", False, 0.0, 1),
        ("20 % null records", "laplace", False, 0.2, 1),
        ("units of 3 equal records", "laplace", False, 0.0, 3),
        ("scores of the largest variance", "laplace", True, 0.0, 1),
    ]
    for name, noise, worst, null, together in kinds:
        for n, share, auc in OTHER_CELLS:
            unit = Unit("unit", together) if together > 1 else None
            delta = 1e-6 if noise == "gaussian" else 0.0
            evaluation = ScoreEvaluation(("0", "1"), null > 0 or together > 1, noise)
            yield (
                [f"AUC, {name}: n = {n}, share {share}, AUC {auc}"],
                lambda e, s=evaluation, n=n, d=delta, u=unit: s.plan(n, Budget(e, d), u),  # type: ignore[misc]
                scores_of(n, share, auc, worst=worst, null=null, together=together),
                lambda found, auc=auc: [bool(found.auc.tail(np.array([auc]))[0] >= 0.04)],  # type: ignore[misc]
            )


def _accuracy_rows() -> Iterator[Row]:
    for n, accuracy, (null, together) in itertools.product(
        (300, 3000), (0.5, 0.9, 0.99), ((0.0, 1), (0.2, 1), (0.0, 3))
    ):
        unit = Unit("unit", together) if together > 1 else None
        evaluation = AccuracyEvaluation(null > 0 or together > 1, "laplace")

        def draw(
            rng: np.random.Generator,
            n: int = n,
            accuracy: float = accuracy,
            null: float = null,
            together: int = together,
        ) -> Records:
            units = (rng.random(-(-n // together)) < accuracy).astype(float)
            return (np.where(rng.random(n) < null, np.nan, np.repeat(units, together)[:n]),)

        yield (
            [f"accuracy: n = {n}, {accuracy}, {null:.0%} null records, units of {together}"],
            lambda e, s=evaluation, n=n, u=unit: s.plan(n, Budget(e), u),  # type: ignore[misc]
            draw,
            lambda found, p=accuracy: [found.is_kept(p)],  # type: ignore[misc]
        )


ERRORS: dict[str, tuple[Callable[[np.random.Generator, int], Array], float, float]] = {
    "normal": (lambda rng, n: 0.1 * np.abs(rng.normal(size=n)), 0.1 * math.sqrt(2 / math.pi), 0.01),
    "uniform": (lambda rng, n: rng.random(n), 1 / 2, 1 / 3),
    "1 % at the end of the range": (
        lambda rng, n: np.where(rng.random(n) < 0.01, 1.0, 0.05), 0.0595, 0.012475,
    ),
    "1 in 1000 at the end, others 0": (
        lambda rng, n: np.where(rng.random(n) < 0.001, 1.0, 0.0), 0.001, 0.001,
    ),
}  # fmt: skip


def _error_rows() -> Iterator[Row]:
    for name, n, (noise, null, together) in itertools.product(
        ERRORS, (300, 3000), (("laplace", 0.0, 1), ("gaussian", 0.2, 1), ("laplace", 0.0, 3))
    ):
        sample, mean, square = ERRORS[name]
        unit = Unit("unit", together) if together > 1 else None
        delta = 1e-6 if noise == "gaussian" else 0.0
        evaluation = ErrorEvaluation((0.0, 1.0), null > 0 or together > 1, noise)  # type: ignore[arg-type]

        def draw(
            rng: np.random.Generator,
            n: int = n,
            null: float = null,
            together: int = together,
            sample: Callable[[np.random.Generator, int], Array] = sample,
        ) -> Records:
            errors = np.repeat(np.minimum(sample(rng, -(-n // together)), 1.0), together)[:n]
            return np.where(rng.random(n) < null, np.nan, errors), np.zeros(n)

        def holds(found: Any, mean: float = mean, square: float = square) -> list[bool]:
            own = found.errors
            tails = own.absolute_tail(np.array([mean])), own.squared_tail(np.array([square]))
            return [bool(tail[0] >= 1 - TESTED_AT) for tail in tails]

        cell_name = f"n = {n}, {noise} noise, {null:.0%} null records, units of {together}"
        yield (
            [f"{what} error, {name}: {cell_name}" for what in ("absolute", "squared")],
            lambda e, s=evaluation, n=n, d=delta, u=unit: s.plan(n, Budget(e, d), u),  # type: ignore[misc]
            draw,
            holds,
        )


def _targets(kind: str, size: int, missed: float, rng: np.random.Generator) -> Records:
    """Return predictions and targets from 0 to 1, with an R² of about 1 - ``missed``."""
    if kind == "two values":
        targets = (rng.random(size) < 0.5).astype(float)
        wrong = rng.random(size) < 0.25 * missed
        return np.where(wrong, 1 - targets, targets), targets
    spread = 0.15
    targets = np.clip(0.5 + spread * rng.normal(size=size), 0, 1)
    if kind == "skewed":
        targets, spread = rng.beta(1, 6, size), math.sqrt(6 / 392)
    return np.clip(targets + math.sqrt(missed) * spread * rng.normal(size=size), 0, 1), targets


def _r2_rows() -> Iterator[Row]:
    for kind, missed, (noise, null, together) in itertools.product(
        ("normal", "skewed", "two values"),
        (0.1, 0.6),
        (("laplace", 0.0, 1), ("gaussian", 0.2, 1), ("laplace", 0.0, 3)),
    ):
        predicted, targets = _targets(kind, 4_000_000, missed, np.random.default_rng(0))
        true = float(np.mean((predicted - targets) ** 2) / targets.var())
        unit = Unit("unit", together) if together > 1 else None
        delta = 1e-6 if noise == "gaussian" else 0.0
        evaluation = ErrorEvaluation((0.0, 1.0), null > 0 or together > 1, noise, r2=True)  # type: ignore[arg-type]

        def draw(
            rng: np.random.Generator,
            kind: str = kind,
            missed: float = missed,
            null: float = null,
            together: int = together,
        ) -> Records:
            both = _targets(kind, _OF_R2 // together, missed, rng)
            predicted, targets = (np.repeat(each, together) for each in both)
            return np.where(rng.random(_OF_R2) < null, np.nan, predicted), targets

        yield (
            [f"R² of {1 - true:.2f}, {kind}: {noise}, {null:.0%} null, units of {together}"],
            lambda e, s=evaluation, d=delta, u=unit: s.plan(_OF_R2, Budget(e, d), u),  # type: ignore[misc]
            draw,
            lambda found, true=true: [bool(NoisyR2(*found).kept(np.array([true]))[0])],  # type: ignore[misc]
        )


def coverage(
    row: Row, releases: int, rng: np.random.Generator, epsilons: Sequence[float] = EPSILONS
) -> Array:
    """Return how often intervals hold the true figures, for each figure and ε."""
    names, plan_for, draw, holds = row
    plans = [plan_for(epsilon) for epsilon in epsilons]
    held = np.zeros((len(plans), len(names)))
    for _ in range(releases):
        values = plans[0].exact(*draw(rng))  # the same for every ε
        held += [holds(released(plan, values, rng)) for plan in plans]
    return held.T / releases


def main(options: Sequence[str] = ()) -> None:
    """Print the tables."""
    releases = RELEASES // 10 if "--quick" in options else RELEASES
    tables = [_auc_rows, _accuracy_rows, _error_rows, _r2_rows]
    found = [] if {"--others", "--r2"} & set(options) else [_normal_scores(releases)]
    found.append(_others(releases, tables[3:] if "--r2" in options else tables))
    print(f"smallest coverage: {min(found):.4f}")


def _normal_scores(releases: int) -> float:
    """Print the table of normal scores, and return the smallest coverage."""
    print("Coverage and median width of 95 % intervals of the AUC, by ε; DeLong without privacy")
    head = "  ".join(f"ε = {epsilon:<4g}      " for epsilon in EPSILONS)
    print(f"{'n':>6} {'share':>5} {'AUC':>5}  {head}  DeLong")
    worst = 1.0
    for number, (n, share, auc) in enumerate(itertools.product(SIZES, SHARES, AUCS)):
        rng = np.random.default_rng([2026, number])
        found, delong = cell(n, share, auc, releases, rng)
        worst = min(worst, *(held for held, _ in found))
        row = "  ".join(f"{held:.3f}, {width:.3f} " for held, width in found)
        print(f"{n:6d} {share:5.2f} {auc:5.2f}  {row}   {delong:.3f}", flush=True)
    print(f"smallest coverage of normal scores: {worst:.4f}\n")
    return worst


def _others(releases: int, tables: Sequence[Callable[[], Iterator[Row]]]) -> float:
    """Print the coverage of other cells, and return the smallest."""
    print(f"Coverage for ε = {', '.join(f'{epsilon:g}' for epsilon in EPSILONS)}")
    worst = 1.0
    for rows in tables:
        kind = list(_DIVISORS).index(rows.__name__)
        for number, row in enumerate(rows()):
            rng = np.random.default_rng([2027, kind, number])
            count = releases // _DIVISORS[rows.__name__]
            found = coverage(row, count, rng)
            for name, shares in zip(row[0], found, strict=True):
                print("  ".join(f"{held:.3f}" for held in shares), f" {name}", flush=True)
            if count < releases == RELEASES:
                _repeat_low(row, found, np.random.default_rng([2028, kind, number]))
            worst = min(worst, float(found.min()))
    return worst


def _repeat_low(row: Row, found: Array, rng: np.random.Generator) -> None:
    """Replace shares below 95 % by those of as many other releases as in the first table."""
    for place in np.flatnonzero((found < 0.95).any(axis=0)).tolist():
        found[:, place] = coverage(row, RELEASES, rng, EPSILONS[place : place + 1])[:, 0]
        shares = ", ".join(f"{held:.4f}" for held in found[:, place])
        print(f"  {shares} in {RELEASES} other releases with ε = {EPSILONS[place]:g}", flush=True)


if __name__ == "__main__":
    main()
