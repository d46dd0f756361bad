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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import flag, integer, keep, one_of, probability, text
from pairdp.evaluation.inversion import Interval
from pairdp.evaluation.noisy_auc import NoisyAUC
from pairdp.evaluation.pair_sum import pair_sum
from pairdp.evaluation.plan import (
    PUBLIC_MODEL,
    EvaluationPlan,
    EvaluationStatistic,
    Noise,
    Part,
    check_noise,
    noise_of,
)
from pairdp.evaluation.score_bins import checked_edges, count_bins
from pairdp.evaluation.score_result import ScoreResult
from pairdp.evaluation.threshold import NoisyBins
from pairdp.privacy import Budget, Certificate, Sensitivity, Unit
from pairdp.privacy.bounds.centred_auc import IN_L1, IN_L2, LEAST_N, MOST_N, CentredAUC
from pairdp.privacy.bounds.matched_pairs import MATCHED_IN_L1, MATCHED_IN_L2, pairs_of

Array = NDArray[np.float64]
Items = Literal["records", "given pairs", "matched pairs"]

NAME = "Private evaluation of scores"
OF_PAIRS = "Private evaluation of distances"
_ASSUMED = (0.5, 0.1, 0.01)
_TYPICAL_AUC = 0.8
COUNTS_IN_L1, COUNTS_IN_L2 = "histograms of columns, in ℓ1", "histograms of columns"
_CLASSES = "The classes are public: {0}, and {1}, which is positive."
_NULL = (
    "A record without a score or without one of the classes is a null record: it counts in n, and "
    "is in no pair."
)
_GIVEN = "A record is here a pair of records, which is given with its label."
_MATCHED = (
    "Each record is in at most one pair, with a record at a place that is a function of n and of "
    "its own place. A pair is positive if both records have the same class; its score is minus the "
    "distance of the records. A pair with a record that has no class, or cannot be read, is null."
)


@dataclass(frozen=True)
class ScoreEvaluation(EvaluationStatistic):
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
    items : {"records", "given pairs", "matched pairs"}, default="records"
        What has a score: a record; a pair of records that is given; or a pair of a matching of the
        records by their places (`pairdp.evaluation.pair_distances`).
    """

    classes: tuple[str, str]
    null_records: bool = False
    noise: Noise = "auto"
    edges: tuple[float, ...] = ()
    items: Items = "records"

    def __post_init__(self) -> None:
        if not isinstance(self.classes, tuple | list) or len(self.classes) != 2:
            raise TypeError(f"classes must be two names, got {self.classes!r}")
        keep(self, "classes", tuple(text("class", name) for name in self.classes))
        flag("null_records", self.null_records)
        check_noise(self.noise)
        one_of("items", self.items, "records", "given pairs", "matched pairs")
        if not isinstance(self.edges, tuple | list):
            raise TypeError(f"edges must be a sequence of numbers, got {self.edges!r}")
        keep(self, "edges", checked_edges(self.edges))

    def plan(self, n: int, budget: Budget, unit: Unit | None = None) -> ScorePlan:
        """Return the plan for n records; a unit of k records multiplies the noise by k."""
        least = LEAST_N * (2 if self.items == "matched pairs" else 1)
        n = integer("n", n, at_least=least, at_most=MOST_N)
        problem: dict[str, Any] = {
            "null_records": self.null_records,
            "bins": len(self.edges) + 1 if self.edges else 0,
        }
        about = [_CLASSES.format(*self.classes), PUBLIC_MODEL.format("score"), _NULL]
        if self.items == "given pairs":
            about.append(_GIVEN)
        if self.items == "matched pairs":
            problem["pairs"] = pairs_of(n)
            about[1:] = [PUBLIC_MODEL.format("place in the metric"), _MATCHED]
        name = NAME if self.items == "records" else OF_PAIRS
        certified = self._certified(name, n, budget, unit, self._parts(n), problem, about)
        return ScorePlan(self, certified)

    def _parts(self, n: int) -> tuple[Part, ...]:
        """Return what is released."""
        matched = self.items == "matched pairs"
        names = (MATCHED_IN_L1, MATCHED_IN_L2) if matched else (IN_L1, IN_L2)
        null = ", null records" if self.null_records else ""
        pair = Part(
            f"centred AUC, position between the classes{null}",
            3 if null else 2,
            *(Sensitivity.of(name, n=n) for name in names),
        )
        if not self.edges:
            return (pair,)
        counts = (Sensitivity.of(name, columns=1) for name in (COUNTS_IN_L1, COUNTS_IN_L2))
        return pair, Part("counts of scores by class", 2 * (len(self.edges) + 1), *counts)


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
class ScorePlan(EvaluationPlan):
    """The plan of an evaluation of scores."""

    evaluation: ScoreEvaluation
    streams = ("auc", "counts")

    @property
    def items(self) -> int:
        """The number of records, or of pairs, that have scores."""
        return pairs_of(self.n) if self.evaluation.items == "matched pairs" else self.n

    @property
    def together(self) -> int:
        """How many scores may depend on each other: those of a unit, or of pairs with its records.

        Each of the k records of a unit may be in a pair with a record of another one.
        """
        unit = super().together
        return unit if self.evaluation.items == "records" else 2 * unit - 1

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
        m = np.array([min(max(share * self.items, 1.0), self.items - 1.0)])
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
        return self.items * min(share, 1 - share) < self.enough

    def hopeless_words(self, share: float = 0.5) -> str:
        """Return why nothing can be said, with the expected interval."""
        lower, upper = self.expected_interval(share)
        what = "records" if self.evaluation.items == "records" else "pairs"
        return (
            f"with {self.items} {what}, {share:.2g} of them positive, and this budget, nothing can "
            f"be said: an AUC of {_TYPICAL_AUC} would typically have the interval {lower:.2f} to "
            f"{upper:.2f}. The smaller class needs about {self.enough:.0f} {what}"
        )

    @property
    def _functions(self) -> CentredAUC:
        return CentredAUC(self.items, self.norm)

    def _noisy(self, t: float, height: float, null: float | None) -> NoisyAUC:
        noise = noise_of(self.certificate.releases[0])
        return NoisyAUC(self._functions, t, height, null, *noise, self.together)

    def exact(self, *records: Array) -> list[Array]:
        """Return the vector, and the counts, for scores and labels.

        Parameters
        ----------
        scores : array of shape (n,)
            The scores; NaN for null records.
        signs : array of shape (n,)
            1 for positive and -1 for negative records; anything else makes a null record.
        """
        scores, signs = records
        self._check(scores, signs, size=self.items)
        pair, *more = self.certificate.releases
        vector = self._functions.vector(*pair_sum(scores, signs))[: pair.dimension]
        edges = np.array(self.evaluation.edges)
        return [np.array(vector), *(count_bins(scores, signs, edges).ravel() for _ in more)]

    def read(self, *numbers: Sequence[float]) -> Released:
        """Return what released numbers say; nothing else is known of the records."""
        pair, *more = numbers
        auc = self._noisy(pair[0], pair[1], pair[2] if len(pair) > 2 else None)
        if not self.evaluation.edges:
            return Released(auc, None)
        (counts,) = more
        half = len(counts) // 2
        rows = tuple(counts[:half]), tuple(counts[half:])
        noise = noise_of(self.certificate.releases[1])
        return Released(auc, NoisyBins(self.evaluation.edges, rows, noise, self.together))

    def result(self, released: Released, certificate: Certificate) -> ScoreResult:
        """Return what users see of released numbers."""
        return ScoreResult(released, self, certificate)

    def expected(self) -> list[dict[str, Any]]:
        """Return the expected interval by the share of positives, as JSON values."""
        return [
            {
                "share": share,
                "auc": _TYPICAL_AUC,
                "interval": list(self.expected_interval(share)),
                "hopeless": self.is_hopeless(share),
            }
            for share in _ASSUMED
        ]

    def __str__(self) -> str:
        lines = [self._head()]
        lines += [f"expected 95 % interval of an AUC of {_TYPICAL_AUC}, by the share of positives:"]
        for share in _ASSUMED:
            lower, upper = self.expected_interval(share)
            says = "nothing can be said" if self.is_hopeless(share) else ""
            lines.append(f"  {share:4.0%}: {lower:.3f} to {upper:.3f}  {says}".rstrip())
        return "\n".join(lines)
