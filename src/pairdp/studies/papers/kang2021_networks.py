"""Kang 2021 without convexity: gradient perturbation of a small network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pairdp.studies.network_learning import FEATURES, Method, NetworkLearning
from pairdp.studies.results import Remark, Results
from pairdp.studies.study import PlannedCell, Position, Scale, Study

NAME: Final = "kang2021-networks"
_BY_SIZE, _BY_EPSILON = "AUC of networks by n", "AUC of networks by ε"
_SIZES, _EPSILONS = (2000, 10_000, 50_000), (0.5, 1.0, 4.0)
_DELTA = 1e-6
_MIDDLE, _EPSILON = 10_000, 1.0
_PLAIN_RATE = 4.0
"""The step size of plain gradient steps, whose gradients are in units of the largest slope."""

PLAIN: Final = "gradient perturbation"
PAIRS: Final = "network, sums over pairs"
REFERENCE: Final = "network, reference slopes"


def study(scale: Scale) -> Study:
    """Return what is run on the paper's non-convex setting."""
    return Study(
        NAME,
        "Kang et al. 2021: gradient perturbation without convexity, for a small network",
        tuple(_cells(scale)),
        _remarks,
        "The paper has no experiments. Synthetic records of 12 features whose log-odds are a wave, "
        "a product and a fold of rotated directions; a network with layers of 32 and 16 units; "
        f"δ = {_DELTA:g}; AUC on 5000 further records. Gradients of scores are clipped to a norm C "
        "from public random rows, so a pair has a gradient of norm at most G = 2C. Gradient "
        "perturbation takes 120 plain steps on all parameters and releases the last iterate, with "
        "the printed noise 8G√(T ln(1/δ))/(nε) or the certified one. The other networks also "
        "standardise rows, learn their linear part first and use Adam; linear and additive "
        "models are those of PrivateRanker. The theorems on accuracy need smooth losses that "
        "satisfy the Polyak–Łojasiewicz condition without clipping, and do not apply.",
    )


def _cells(scale: Scale) -> Iterator[PlannedCell]:
    for n in scale.points(_SIZES):
        at = Position(_BY_SIZE, f"rotated, ε = {_EPSILON:g}", "AUC", "", "n", n)
        yield from _series(at, n, _EPSILON, scale.runs)
        plain = NetworkLearning("reference", n, runs=scale.runs)
        yield at.cell(f"{REFERENCE}, without noise", "baseline", plain)
    n = min(_MIDDLE, scale.points(_SIZES)[-1])
    for epsilon in scale.points(_EPSILONS):
        at = Position(_BY_EPSILON, f"rotated, n = {n}", "AUC", "", "ε", epsilon)
        yield from _series(at, n, epsilon, scale.runs)


def _series(at: Position, n: int, epsilon: float, runs: int) -> Iterator[PlannedCell]:
    """Yield all series at a point."""
    pairs = NetworkLearning("pairwise", n, epsilon, _DELTA, runs=runs)
    plain = replace(pairs, schedule="theorem", learning_rate=_PLAIN_RATE)
    yield at.cell(PLAIN, "printed", replace(plain, calibration="printed"))
    yield at.cell(PLAIN, "certified", plain)
    yield at.cell(PAIRS, "certified", pairs)
    others: dict[str, Method] = {REFERENCE: "reference", "linear": "linear", "additive": "additive"}
    for series, method in others.items():
        yield at.cell(series, "certified", replace(pairs, method=method))


def _remarks(results: Results) -> Iterator[Remark]:
    del results
    job = NetworkLearning("pairwise", _MIDDLE, _EPSILON, _DELTA, "printed", "theorem", runs=2)
    plan = job.plan(FEATURES)
    certified = replace(job, calibration="certified").plan(FEATURES)
    release = plan.certificate.releases[0]
    scales = [one.certificate.releases[0].mechanism.scale for one in (plan, certified)]  # type: ignore[union-attr]
    yield Remark(
        NAME,
        _BY_SIZE,
        "The printed noise is larger than the claim needs",
        f"n = {_MIDDLE}, T = {release.count}, ε = {_EPSILON:g}, δ = {_DELTA:g}, a network "
        f"of {release.dimension} parameters:\n"
        f"  printed σ = {scales[0]:.4g}, certified at that δ: ε = {plan.true_epsilon:.4g}\n"
        f"  certified σ = {scales[1]:.4g} for ε = {_EPSILON:g}",
    )
