"""The scorecard: points for each bin of each column, learned with noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from pairdp._checks import flag, keep
from pairdp._sums import BLOCK
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.noise import deviation, shared_release
from pairdp.algorithms.plan import Plan, Progress, RunResult
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.scorecard.cells import FINE, Cells, NumberCells, codes_of
from pairdp.algorithms.scorecard.descent import (
    CLIP,
    LabelledBins,
    Whitening,
    descend,
    second_moments,
)
from pairdp.algorithms.scorecard.evidence import (
    Column,
    column_of,
    combined,
    share_of_positives,
)
from pairdp.algorithms.scorecard.expansion import (
    CONSTANT,
    block_sizes,
    chosen_blocks,
    expand,
    most_features,
)
from pairdp.algorithms.scorecard.partition import Counted, Edges, bin_of_cells, merge, partition
from pairdp.algorithms.scorecard.shares import (
    STEPS,
    levels_of,
    most_bins,
    most_cells,
    most_merged,
    shares_of,
)
from pairdp.algorithms.task import Settings, Task
from pairdp.privacy import L1LaplaceMechanism, NoiseSource, Release
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.privacy.mechanisms.packing import packed_dimension
from pairdp.records import Records

Array = NDArray[np.float64]
PARTITION, COUNTS = "counts of cells", "labelled counts of bins"
MOMENTS, GRADIENTS = "second moments of features", "clipped gradients"
_RIDGE = 0.3
_NAIVE = 0.7
"""The weight of naive Bayes shapes that the descent starts from: columns share evidence."""
_WITHOUT_NOISE = 1e-6


@dataclass(frozen=True)
class ScorecardSettings(Settings):
    """The numbers of bins, levels, steps and features, and the ridge of the whitening.

    The last three are None if the budget is too small to learn weights.
    """

    bins: int
    levels: int
    steps: int | None = None
    features: int | None = None
    ridge: float | None = None


class _Binned(NamedTuple):
    """The columns with their bins, functions of released counts."""

    columns: list[Column]
    edges: list[Edges | None]
    bin_of: list[NDArray[np.int64]]
    positives: float


@dataclass(frozen=True)
class Scorecard(Algorithm[ScorecardSettings]):
    r"""An additive model: the score of a record is the sum of the points of its bins.

    1. Noisy counts divide the range of each number adaptively into bins
       (`pairdp.algorithms.scorecard.partition`); categories and missing numbers are bins of their
       own. Sensitivity √(2m) a level, for m numbers.
    2. Noisy labelled counts give the weight of evidence of each bin, smoothed by Gaussian processes
       (`evidence`). Sensitivity √d, for d columns.
    3. If the budget suffices, weights of these shapes and of further features of the bins
       (`expansion`) are learned by logistic descent with noise in each gradient, in coordinates
       that noisy second moments make isotropic (`descent`). Sensitivities √2/n and 2·0.35/n.

    Shares of the budget, numbers of bins, levels, steps and dimensions follow from public facts.
    What a later release is computed from depends on earlier released values, and its sensitivity
    does not, so all releases compose as adaptive releases of fixed cost. A pure ε pays for counts
    only, with Laplace noise: then all weights are 1, as in naive Bayes.

    Parameters
    ----------
    columns : tuple of Cells
        The columns, as places in encoded rows. By default each feature is a number between ± the
        data norm.
    interactions : bool
        Whether products of two columns may be added, if the budget suffices. The model is then no
        longer additive.
    name : str
        Name in certificates.
    """

    columns: tuple[Cells, ...] = ()
    interactions: bool = False
    name: str = "Scorecard"

    settings_type = ScorecardSettings
    offers_units: ClassVar[bool] = True

    def __post_init__(self) -> None:
        keep(self, "columns", tuple(self.columns))
        flag("interactions", self.interactions)
        if not all(isinstance(column, Cells) for column in self.columns):
            raise TypeError("columns must be NumberCells or CategoryCells")

    @property
    def needs(self) -> tuple[Need, ...]:
        """Nothing but labels of two classes, which `check` requires."""
        return ()

    def check(self, task: Task) -> None:
        """Raise ValueError for a problem without two classes, or columns outside of rows."""
        super().check(task)
        if not task.problem.loss.binary or task.problem.loss.matrix:
            raise ValueError(f"{self.name} ranks two classes: use a loss of labels -1 and +1")
        for column in self.columns:
            column.check(task.features)

    def _columns(self, task: Task) -> tuple[Cells, ...]:
        if self.columns:
            return self.columns
        norm = task.problem.data_norm
        return tuple(NumberCells(place, -norm, norm) for place in range(task.features))

    def draft(self, task: Task) -> PlanDraft[ScorecardSettings]:
        """Decide shares, bins, dimensions and noise."""
        columns = self._columns(task)
        numbers = [column for column in columns if isinstance(column, NumberCells)]
        others = sum(column.size for column in columns) - sum(one.size for one in numbers)
        mu = _mu(task)
        pure = task.budget is not None and task.budget.is_pure
        shares = shares_of(task.n, mu, len(columns), len(numbers), pure=pure)
        counts = _counts_release(task, COUNTS, "labelled counts", len(columns), 1, shares.counts)
        bins = most_bins(task.n, deviation(counts))
        merged = sum(most_merged(bins) + (one.missing is not None) for one in numbers)
        dimension = 2 * (merged + others)
        counts = _counts_release(
            task, COUNTS, "labelled counts", len(columns), dimension, shares.counts
        )
        releases = [counts]
        levels = 0
        if numbers:
            histograms = "histograms of columns"
            once = _counts_release(task, PARTITION, histograms, len(numbers), 1, shares.partition)
            levels = levels_of(task.n, deviation(once))
            cells = sum(most_cells(bins, levels) + (one.missing is not None) for one in numbers)
            level = _counts_release(
                task, PARTITION, histograms, len(numbers), cells, shares.partition / levels
            )
            releases.insert(0, replace(level, count=levels))
        settings = ScorecardSettings(bins, levels)
        if not shares.learns_weights:
            why = "the budget is too small to learn weights: all are 1, as in naive Bayes"
            return PlanDraft(tuple(releases), settings, (why,))
        sizes = block_sizes(len(numbers), others, len(columns), self.interactions)
        features = most_features(sizes, len(columns), task.n * mu)
        moments = shared_release(
            MOMENTS,
            task,
            task.sensitivity("second moments of records", data_norm=1.0, n=task.n),
            packed_dimension(features),
            shares.moments,
        )
        ridge = _RIDGE * max(deviation(moments) * math.sqrt(2 * features), _WITHOUT_NOISE)
        gradients = shared_release(
            GRADIENTS,
            task,
            task.sensitivity(
                "mean of clipped gradients",
                clip=CLIP,
                n=task.n,
                width=features,
                amplification=0.5 / math.sqrt(ridge),
            ),
            features,
            shares.gradients / STEPS,
        )
        releases += [moments, replace(gradients, count=STEPS)]
        settings = replace(settings, steps=STEPS, features=features, ridge=ridge)
        return PlanDraft(tuple(releases), settings)

    def execute(
        self,
        plan: Plan[ScorecardSettings],
        records: Records,
        noise: NoiseSource,
        progress: Progress,
    ) -> RunResult:
        """Return the points of all bins and the intercept, and what describes the bins."""
        columns = self._columns(plan.task)
        codes = np.empty((len(columns), records.n), dtype=np.int16)
        for start in range(0, records.n, BLOCK):
            some = slice(start, start + BLOCK)
            codes[:, some] = codes_of(columns, records.x[some])
        releases = {release.name: release for release in plan.certificate.releases}
        binned = self._bin(plan, columns, codes, records, releases, noise)
        points = [column.shape for column in binned.columns]
        deviations = [column.deviations for column in binned.columns]
        intercept = float(logit(binned.positives))
        matrix, factors = np.zeros((0, 0)), [np.zeros(0)]
        if plan.settings.steps is not None:
            points, deviations, intercept, matrix, factors = self._learn(
                plan, columns, codes, records, releases, binned, noise, progress
            )
        edges = [np.zeros(0) if e is None else e.astype(np.float64) for e in binned.edges]
        return RunResult(
            np.concatenate([*points, [intercept]]),
            {
                "bins": np.array([len(one) for one in points], dtype=np.float64),
                "edges": np.concatenate(edges),
                "deviations": np.concatenate(deviations),
                "counts": np.concatenate([column.counts for column in binned.columns]),
                "interactions": matrix,
                "factors": np.concatenate(factors),
                "positives": np.array([binned.positives]),
            },
        )

    def _bin(
        self,
        plan: Plan[ScorecardSettings],
        columns: Sequence[Cells],
        codes: NDArray[np.int16],
        records: Records,
        releases: dict[str, Release],
        noise: NoiseSource,
    ) -> _Binned:
        """Release the counts, and return the bins with their shapes."""
        n, settings = plan.task.n, plan.settings
        signs = [records.y > 0, records.y < 0]
        labelled = [
            np.array([np.bincount(row[sign], minlength=column.size) for sign in signs])
            for row, column in zip(codes, columns, strict=True)
        ]
        numbers = [j for j, column in enumerate(columns) if isinstance(column, NumberCells)]
        known: dict[int, Counted] = {}
        if numbers:
            release = releases[PARTITION]

            def noisy_cells(values: Array, level: int) -> Array:
                return _padded_release(release, values, noise.stream(PARTITION, level))

            found = partition(
                [labelled[j].sum(axis=0) for j in numbers],
                n,
                settings.bins,
                settings.levels,
                deviation(release),
                noisy_cells,
            )
            known = {j: merge(one, settings.bins) for j, one in zip(numbers, found, strict=True)}
        bin_of = [
            bin_of_cells(known[j].edges, column.size - FINE)
            if j in known
            else np.arange(column.size)
            for j, column in enumerate(columns)
        ]
        exact = [
            np.array(
                [np.bincount(bins, weights=side, minlength=int(bins[-1]) + 1) for side in both]
            )
            for bins, both in zip(bin_of, labelled, strict=True)
        ]
        excess = np.concatenate([(ups - downs) / 2 for ups, downs in exact])
        halves = np.concatenate([(ups + downs) / 2 for ups, downs in exact])
        release = releases[COUNTS]
        noisy = _padded_release(release, np.concatenate([excess, halves]), noise.stream(COUNTS))
        ends = np.cumsum([both.shape[1] for both in exact])
        excesses = np.split(noisy[: ends[-1]], ends[:-1])
        counts = np.split(2 * noisy[ends[-1] :], ends[:-1])
        sigma = deviation(release)
        positives = share_of_positives(excesses, n)
        shapes = []
        for j, column in enumerate(columns):
            before = known.get(j)
            estimate, variances = combined(
                counts[j] if before is None else before.counts,
                None if before is None else before.variances,
                counts[j],
                4 * sigma**2,
                n,
            )
            missing = column.size - FINE if before is not None else 0
            shapes.append(
                column_of(
                    excesses[j],
                    estimate,
                    variances,
                    positives,
                    sigma,
                    is_number=before is not None,
                    missing=missing,
                )
            )
        edges = [known[j].edges if j in known else None for j in range(len(columns))]
        return _Binned(shapes, edges, bin_of, positives)

    def _learn(
        self,
        plan: Plan[ScorecardSettings],
        columns: Sequence[Cells],
        codes: NDArray[np.int16],
        records: Records,
        releases: dict[str, Release],
        binned: _Binned,
        noise: NoiseSource,
        progress: Progress,
    ) -> tuple[list[Array], list[Array], float, Array, list[Array]]:
        """Release moments and gradients, and return points, deviations, intercept and products."""
        n, settings, mu = plan.task.n, plan.settings, _mu(plan.task)
        numbers = sum(isinstance(column, NumberCells) for column in columns)
        others = sum(c.size for c in columns if not isinstance(c, NumberCells))
        sizes = block_sizes(numbers, others, len(columns), self.interactions)
        rarity = 4 * binned.positives * (1 - binned.positives)
        blocks = chosen_blocks(sizes, len(columns), n * mu, rarity)
        expansion = expand(binned.columns, binned.edges, blocks)
        bins = np.array(
            [bin_of[row] for bin_of, row in zip(binned.bin_of, codes, strict=True)], dtype=np.int16
        )
        labelled = LabelledBins(
            bins, (records.y > 0).astype(np.float64), np.where(records.null, 0.0, 1.0)
        )
        moments = releases[MOMENTS].mechanism.release_symmetric(
            second_moments(expansion, labelled) / n, noise.stream(MOMENTS)
        )
        whitening = Whitening.of(moments, settings.ridge or 0.0)
        release = releases[GRADIENTS]
        steps = progress.steps(settings.steps or 0, "learning weights")

        def noisy_gradient(total: Array, step: int) -> Array:
            next(steps, None)
            return release.mechanism.release(total / n, noise.stream(GRADIENTS, step))

        scale = max(sum(column.variance for column in binned.columns), 1e-12) ** 0.5
        weights, covariance = descend(
            expansion,
            labelled,
            whitening,
            expansion.initial(_NAIVE * scale, float(logit(binned.positives))),
            binned.positives,
            deviation(release),
            settings.steps or 0,
            noisy_gradient,
        )
        steps.close()
        points = expansion.points(weights)
        deviations, place = [], 0
        for table, column in zip(expansion.tables, binned.columns, strict=True):
            part = slice(place, place + table.shape[1])
            place += table.shape[1]
            of_weights = np.einsum("bi,ij,bj->b", table, covariance[part, part], table)
            of_shape = (weights[part.start] / scale * column.deviations) ** 2
            deviations.append(np.sqrt(np.maximum(of_weights, 0.0) + of_shape))
        matrix, constant = expansion.interactions(weights)
        intercept = float(weights[-1] * CONSTANT + constant)
        return points, deviations, intercept, matrix, list(expansion.factors) or [np.zeros(0)]


def _mu(task: Task) -> float:
    """Return the µ of the budget for one record; infinite without noise."""
    if task.budget is None:
        return math.inf
    if task.budget.is_pure:
        return task.budget.epsilon / task.records
    return gdp_mu(task.budget.epsilon, task.budget.delta) / task.records


def _counts_release(
    task: Task, name: str, bound: str, columns: int, dimension: int, share: float
) -> Release:
    """Return a release of counts: with Laplace noise for pure ε, otherwise Gaussian noise."""
    if task.budget is None or not task.budget.is_pure:
        sensitivity = task.sensitivity(bound, columns=columns)
        return shared_release(name, task, sensitivity, dimension, share)
    sensitivity = task.sensitivity(f"{bound}, in ℓ1", columns=columns)
    epsilon = task.budget.epsilon * share * (1 - 2e-9)
    mechanism = L1LaplaceMechanism.for_epsilon(epsilon, sensitivity.value, dimension)
    return Release(name, mechanism, sensitivity, dimension)


def _padded_release(release: Release, values: Array, stream: np.random.Generator) -> Array:
    """Return values with noise; their number is at most the planned dimension."""
    padded = np.zeros(release.dimension)
    padded[: values.size] = values
    return release.mechanism.release(padded, stream)[: values.size]


register_algorithm("scorecard", Scorecard())
