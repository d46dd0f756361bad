r"""A private evaluation: planned from public facts, run on scores and labels.

**What is released.** T, h and, where null records may occur, γZ: functions of the sum over pairs
that the AUC is made of and of the numbers of records of the classes, as one vector with one noise
(`pairdp.privacy.bounds.centred_auc`). The AUC and its interval are functions of it
(`pairdp.evaluation.noisy_auc`). If there are edges, a second release counts the records of each
class in the bins between them, for the ROC curve and figures at a threshold; it gets half of the
budget.

**Why this noise.** A replaced record changes the vector by at most 1 in ℓ1 norm, so Laplace noise
of scale 1/ε on each number is ε-DP. A form of it with ℓ2 sensitivity 1 has Gaussian noise, which is
more for a release on its own (2.6 to 3 times at δ = 1e-6), but composes better with other Gaussian
releases of the same records. Of the counts, a replaced record changes two by one each
(`pairdp.privacy.bounds.histograms`), and one if it becomes null.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import flag, integer, keep, one_of, probability, text
from pairdp.evaluation.noisy_auc import Interval, NoisyAUC
from pairdp.evaluation.pair_sum import pair_sum
from pairdp.evaluation.ratios import CountNoise
from pairdp.evaluation.score_bins import checked_edges, count_bins
from pairdp.evaluation.threshold import NoisyBins
from pairdp.privacy import (
    Budget,
    Certificate,
    GaussianMechanism,
    L1LaplaceMechanism,
    NoiseSource,
    Release,
    Sensitivity,
    Unit,
)
from pairdp.privacy.accounting.budget import check_budget
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.privacy.accounting.unit import records_of
from pairdp.privacy.bounds.centred_auc import IN_L1, IN_L2, LEAST_N, MOST_N, CentredAUC
from pairdp.privacy.certificates.on_trust import LIBRARY
from pairdp.privacy.certificates.statistic import Statistic

Array = NDArray[np.float64]
Noise = Literal["auto", "laplace", "gaussian"]

NAME = "Private evaluation of scores"
HOPELESS = 10.0
"""Below this many records of the smaller class times ε, no method shows an AUC."""
_ASSUMED = (0.5, 0.1, 0.01)
_TYPICAL_AUC = 0.8
_SLACK = 1 - 2e-9
COUNTS_IN_L1, COUNTS_IN_L2 = "histograms of columns, in ℓ1", "histograms of columns"
_CLASSES = "The classes are public: {0}, and {1}, which is positive."
_PUBLIC_MODEL = (
    "The score of a record depends on this record and on the model alone, and the model is public: "
    "it was released with differential privacy, or was made without these records."
)
_NULL = (
    "A record without a score or without one of the classes is a null record: it counts in n, and "
    "is in no pair."
)


@dataclass(frozen=True)
class ScoreEvaluation(Statistic):
    """The AUC of fixed scores for two classes, and counts of them by class.

    Parameters
    ----------
    classes : tuple of two str
        The two classes; the second is positive, and should have the higher scores.
    null_records : bool, default=False
        Whether null records may occur. Then their number is released as well.
    noise : {"auto", "laplace", "gaussian"}, default="auto"
        "auto" is Laplace noise or, if δ > 0 and this is less, Gaussian noise.
    edges : tuple of float, default=()
        The edges of bins of scores, in order, from public facts; without any, there are no counts.
    """

    classes: tuple[str, str]
    null_records: bool = False
    noise: Noise = "auto"
    edges: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.classes, tuple | list) or len(self.classes) != 2:
            raise TypeError(f"classes must be two names, got {self.classes!r}")
        keep(self, "classes", tuple(text("class", name) for name in self.classes))
        flag("null_records", self.null_records)
        one_of("noise", self.noise, "auto", "laplace", "gaussian")
        if not isinstance(self.edges, tuple | list):
            raise TypeError(f"edges must be a sequence of numbers, got {self.edges!r}")
        keep(self, "edges", checked_edges(self.edges))

    def plan(self, n: int, budget: Budget, unit: Unit | None = None) -> EvaluationPlan:
        """Return the plan for n records; a unit of k records multiplies the noise by k."""
        check_budget(budget)
        n = integer("n", n, at_least=LEAST_N, at_most=MOST_N)
        certificate = Certificate(
            algorithm=NAME,
            budget=budget,
            n=n,
            releases=self._releases(n, budget, records_of(unit)),
            problem={
                "null_records": self.null_records,
                "bins": len(self.edges) + 1 if self.edges else 0,
                "algorithm_proof": LIBRARY,
            },
            assumptions=(_CLASSES.format(*self.classes), _PUBLIC_MODEL, _NULL),
            plan=self.plan_facts,
            unit=unit,
        )
        return EvaluationPlan(self, certificate)

    def certify(self, n: int, budget: Budget, unit: Unit | None = None) -> Certificate:
        """Return the certificate of the evaluation of n records."""
        return self.plan(n, budget, unit).certificate

    def _releases(self, n: int, budget: Budget, records: int) -> tuple[Release, ...]:
        """Return the releases with the smaller noise, all of the same kind."""
        if self.noise == "gaussian" and budget.is_pure:
            raise ValueError('noise="gaussian" needs δ > 0')
        if budget.is_pure or self.noise == "laplace":
            return self._with_laplace(n, budget, records)
        gaussian = self._with_gaussian(n, budget, records)
        if self.noise == "gaussian":
            return gaussian
        laplace = self._with_laplace(n, budget, records)
        return laplace if deviation(laplace[0]) <= deviation(gaussian[0]) else gaussian

    @property
    def _parts(self) -> tuple[tuple[str, int], ...]:
        """What is released, with the number of numbers."""
        null = ", null records" if self.null_records else ""
        pair = (f"centred AUC, position between the classes{null}", 3 if null else 2)
        if not self.edges:
            return (pair,)
        return pair, ("counts of scores by class", 2 * (len(self.edges) + 1))

    def _with_laplace(self, n: int, budget: Budget, records: int) -> tuple[Release, ...]:
        epsilon = budget.epsilon * _SLACK / len(self._parts)

        def release(part: tuple[str, int], bound: Sensitivity) -> Release:
            l1 = bound.for_records(records)
            name, size = part
            return Release(name, L1LaplaceMechanism.for_epsilon(epsilon, l1.value, size), l1, size)

        bounds = (Sensitivity.of(IN_L1, n=n), Sensitivity.of(COUNTS_IN_L1, columns=1))
        return tuple(map(release, self._parts, bounds))

    def _with_gaussian(self, n: int, budget: Budget, records: int) -> tuple[Release, ...]:
        mu = gdp_mu(budget.epsilon, budget.delta) * math.sqrt(_SLACK / len(self._parts))

        def release(part: tuple[str, int], bound: Sensitivity) -> Release:
            l2 = bound.for_records(records)
            name, size = part
            return Release(name, GaussianMechanism.for_mu(mu, l2.value, size), l2, size)

        bounds = (Sensitivity.of(IN_L2, n=n), Sensitivity.of(COUNTS_IN_L2, columns=1))
        return tuple(map(release, self._parts, bounds))


def deviation(release: Release) -> float:
    """Return the standard deviation of the noise on each number."""
    mechanism = release.mechanism
    if isinstance(mechanism, L1LaplaceMechanism):
        return math.sqrt(2) * mechanism.scale
    if isinstance(mechanism, GaussianMechanism):
        return mechanism.scale
    raise TypeError("an evaluation has Laplace or Gaussian noise only")


class Released(NamedTuple):
    """What an evaluation releases: the noisy AUC, and noisy counts if there are edges."""

    auc: NoisyAUC
    bins: NoisyBins | None

    @property
    def numbers(self) -> tuple[tuple[float, ...], ...]:
        """The noisy numbers of each release."""
        null = () if self.auc.null is None else (self.auc.null,)
        pair = (self.auc.t, self.auc.height, *null)
        return (
            (pair,) if self.bins is None else (pair, (*self.bins.counts[0], *self.bins.counts[1]))
        )


@dataclass(frozen=True)
class EvaluationPlan:
    """An evaluation with all of its noise, before any data is read.

    Attributes
    ----------
    evaluation : ScoreEvaluation
        What is evaluated.
    certificate : Certificate
        What is released, and why it is private.
    """

    evaluation: ScoreEvaluation
    certificate: Certificate

    @property
    def n(self) -> int:
        """The public number of records."""
        return self.certificate.n

    def expected_interval(self, share: float = 0.5, auc: float = _TYPICAL_AUC) -> Interval:
        """Return the interval of the AUC if the noise happened to be zero.

        Parameters
        ----------
        share : float, default=0.5
            An assumed share of positive records.
        auc : float, default=0.8
            An assumed AUC.
        """
        share, auc = probability("share", share), probability("auc", auc)
        if not 0 < share < 1:
            raise ValueError(f"share must be above 0 and below 1, got {share!r}")
        functions = self._functions
        m = np.array([min(max(share * self.n, 1.0), self.n - 1.0)])
        t = float(functions.values(m)[0]) * (auc - 0.5)
        null = 0.0 if self.evaluation.null_records else None
        return self._noisy(t, float(functions.heights(m)[0]), null).interval()

    def expected_width(self, share: float = 0.5, auc: float = _TYPICAL_AUC) -> float:
        """Return the width of `expected_interval`."""
        return self.expected_interval(share, auc).width

    def is_hopeless(self, share: float = 0.5) -> bool:
        """Return whether the interval will hardly ever say anything, for a share of positives.

        This is so if the smaller class has fewer than about 10/ε records.
        """
        deviations = deviation(self.certificate.releases[0]) / math.sqrt(2)
        return self.n * min(share, 1 - share) < HOPELESS * deviations

    @property
    def _functions(self) -> CentredAUC:
        laplace = isinstance(self.certificate.releases[0].mechanism, L1LaplaceMechanism)
        return CentredAUC(self.n, 1 if laplace else 2)

    def _noise(self, place: int) -> CountNoise:
        """Return the noise of a release."""
        mechanism = self.certificate.releases[place].mechanism
        if not isinstance(mechanism, L1LaplaceMechanism | GaussianMechanism):
            raise TypeError("an evaluation has Laplace or Gaussian noise only")
        return CountNoise(mechanism.scale, isinstance(mechanism, GaussianMechanism))

    def _noisy(self, t: float, height: float, null: float | None) -> NoisyAUC:
        return NoisyAUC(self._functions, t, height, null, *self._noise(0))

    def run(self, scores: Array, signs: Array, source: NoiseSource) -> Released:
        """Release the vector, and the counts, for scores and labels.

        Parameters
        ----------
        scores : array of shape (n,)
            The scores; NaN for null records.
        signs : array of shape (n,)
            1 for positive and -1 for negative records; anything else makes a null record.
        source : NoiseSource
            The source of the noise.
        """
        if np.shape(scores) != (self.n,) or np.shape(signs) != (self.n,):
            raise ValueError(f"scores and signs must be {self.n} numbers each")
        pair, *more = self.certificate.releases
        vector = self._functions.vector(*pair_sum(scores, signs))[: pair.dimension]
        noisy = [pair.mechanism.release(np.array(vector), source.stream("auc"))]
        for counts in more:
            exact = count_bins(scores, signs, np.array(self.evaluation.edges))
            noisy.append(counts.mechanism.release(exact.ravel(), source.stream("counts")))
        return self.read(*(numbers.tolist() for numbers in noisy))

    def read(self, pair: Sequence[float], counts: Sequence[float] = ()) -> Released:
        """Return what released numbers say; nothing else is known of the records."""
        auc = self._noisy(pair[0], pair[1], pair[2] if len(pair) > 2 else None)
        if not self.evaluation.edges:
            return Released(auc, None)
        half = len(counts) // 2
        rows = tuple(counts[:half]), tuple(counts[half:])
        return Released(auc, NoisyBins(self.evaluation.edges, rows, self._noise(1)))

    def to_dict(self) -> dict[str, Any]:
        """Return what to expect, by the share of positives, and the certificate as JSON values."""
        return {
            "n": self.n,
            "expected": [
                {
                    "share": share,
                    "auc": _TYPICAL_AUC,
                    "interval": list(self.expected_interval(share)),
                    "hopeless": self.is_hopeless(share),
                }
                for share in _ASSUMED
            ],
            "certificate": self.certificate.to_dict(),
        }

    def __str__(self) -> str:
        lines = [f"{NAME}: n = {self.n} records, {budget_in_words(self)}"]
        lines += [f"expected 95 % interval of an AUC of {_TYPICAL_AUC}, by the share of positives:"]
        for share in _ASSUMED:
            lower, upper = self.expected_interval(share)
            says = "nothing can be said" if self.is_hopeless(share) else ""
            lines.append(f"  {share:4.0%}: {lower:.3f} to {upper:.3f}  {says}".rstrip())
        return "\n".join(lines)


def budget_in_words(plan: EvaluationPlan) -> str:
    """Return the budget of a plan, such as ε = 0.5."""
    budget = plan.certificate.budget
    if budget is None:
        return "no privacy"
    return f"ε = {budget.epsilon:g}" + (f", δ = {budget.delta:g}" if budget.delta else "")
