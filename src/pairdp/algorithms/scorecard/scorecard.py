"""The scorecard: points for each bin of each column, learned with noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import flag, integer, keep, non_negative
from pairdp._reading import Invalid
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.noise import deviation, shared_release
from pairdp.algorithms.parameter_noise import ParameterNoise
from pairdp.algorithms.plan import Fit, Plan, Progress, RunResult
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.score_models import ModelName, ScoreModel
from pairdp.algorithms.scorecard.cell_records import CellRecords
from pairdp.algorithms.scorecard.cells import Cells, NumberCells
from pairdp.algorithms.scorecard.descent import CLIP, largest_whitening
from pairdp.algorithms.scorecard.expansion import (
    MOST_PRODUCTS,
    all_products,
    block_sizes,
    chosen_blocks,
    most_features,
    scales_unit,
)
from pairdp.algorithms.scorecard.pair_choice import Pairs
from pairdp.algorithms.scorecard.points import Points
from pairdp.algorithms.scorecard.run import (
    CHOICE,
    COUNTS,
    GRADIENTS,
    MOMENTS,
    PARTITION,
    Learned,
    Run,
)
from pairdp.algorithms.scorecard.shares import (
    levels_of,
    most_bins,
    most_cells,
    most_merged,
    sampled_records,
    shares_of,
    steps_of,
)
from pairdp.algorithms.scorecard.shrinkage import Pulled
from pairdp.algorithms.task import Settings, Task
from pairdp.constraints import Unconstrained
from pairdp.gathering import Batch
from pairdp.losses import LogisticPointwise
from pairdp.partitioned_records import PartitionedRecords
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import L1LaplaceMechanism, NoiseSource, Release
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.privacy.mechanisms.packing import packed_dimension
from pairdp.records import Records
from pairdp.unit_limit import UnitLimit

Array = NDArray[np.float64]
_RIDGE = 0.3
_MOST_COLUMNS, _FINEST = 45, 128
_WITHOUT_NOISE = 1e-6


@dataclass(frozen=True)
class ScorecardSettings(Settings):
    """The numbers of bins, levels, steps and features, and the ridge of the whitening.

    ``sampled`` is the number of records, at public places, that moments are of; gradients are of
    twice as many. All but the first two are None if the budget is too small to learn weights.
    """

    bins: int
    levels: int
    steps: int | None = None
    features: int | None = None
    ridge: float | None = None
    sampled: int | None = None


@dataclass(frozen=True)
class Scorecard(ScoreModel, Algorithm[ScorecardSettings]):
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
    4. Points may be shrunk and smoothed (`shrinkage`), which costs nothing.

    What a later release is computed from depends on earlier released values, and its sensitivity
    does not, so all releases compose as adaptive releases of fixed cost. A pure ε pays for counts
    with Laplace noise, and for weights of the shapes, with K-norm noise, if there are very many
    records.

    Parameters
    ----------
    columns : tuple of Cells
        The columns, as places in encoded rows. By default each feature is a number between ± the
        data norm.
    interactions : bool
        Whether all products of two columns, and squares, may be added if the budget suffices. The
        model is then no longer additive.
    pairs : tuple of pairs of int
        The places of columns whose products may be added instead.
    chosen : int
        How many pairs of columns are chosen privately instead (`pair_choice`). Sensitivity 0.7/n.
    smoothing : float
        How strongly the points of each column are pulled together after all releases
        (`shrinkage`); 0 leaves them as they are.
    shrinkage : float
        How far points are pulled towards those of naive Bayes after all releases: 0 leaves them as
        they are, and 1 uses counts alone.
    resolution : int
        About how many bins points of a number are given for, if the budget buys labelled counts of
        fewer (`refinement`); 0 leaves those.
    name : str
        Name in certificates.
    """

    columns: tuple[Cells, ...] = ()
    interactions: bool = False
    pairs: tuple[tuple[int, int], ...] = ()
    chosen: int = 0
    smoothing: float = 0.0
    shrinkage: float = 0.0
    resolution: int = 0
    name: str = "Scorecard"

    settings_type = ScorecardSettings
    offers_units: ClassVar[bool] = True
    after_release: ClassVar[frozenset[str]] = frozenset({"smoothing", "shrinkage"})
    score_statistics: ClassVar[Mapping[str, int]] = {
        "bins": 1, "edges": 1, "deviations": 1, "counts": 1, "interactions": 2, "factors": 1,
        "product_deviations": 2,
    }  # fmt: skip

    def __post_init__(self) -> None:
        keep(self, "columns", tuple(self.columns))
        flag("interactions", self.interactions)
        keep(
            self, "resolution", integer("resolution", self.resolution, at_least=0, at_most=_FINEST)
        )
        keep(self, "pairs", tuple(_checked_pair(pair) for pair in self.pairs))
        keep(self, "chosen", integer("chosen", self.chosen, at_least=0))
        keep(self, "smoothing", non_negative("smoothing", self.smoothing))
        keep(self, "shrinkage", non_negative("shrinkage", self.shrinkage))
        if self.shrinkage > 1:
            raise ValueError(f"shrinkage must be from 0 to 1, got {self.shrinkage!r}")
        if len(set(self.pairs)) < len(self.pairs):
            raise ValueError("a pair of columns is given twice")
        if self.interactions + bool(self.pairs) + bool(self.chosen) > 1:
            raise ValueError("give one of interactions, pairs and chosen")
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
        columns = len(self._columns(task))
        if any(second >= columns for _, second in self.pairs):
            raise ValueError(
                f"a pair has a column that is not among the {columns} of the scorecard"
            )
        if self.chosen > (among := columns * (columns - 1) // 2):
            raise ValueError(
                f"{self.chosen} pairs cannot be chosen: {columns} columns have {among}"
            )
        if self.chosen and columns > _MOST_COLUMNS:
            raise ValueError(
                f"pairs are chosen among at most {_MOST_COLUMNS} columns, and there are {columns}: "
                "name the pairs"
            )

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
        sizes, signal = self._block_sizes(columns), _signal(task)
        affordable = chosen_blocks(sizes, len(columns), signal, 1.0)
        chooses = self.chosen > 0 and "products" in affordable
        shares = shares_of(task.n, mu, len(columns), len(numbers), pure=pure, chooses=chooses)
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
            why += ", and there are no products" if sizes["products"] or self.interactions else ""
            return PlanDraft(tuple(releases), settings, (why,))
        steps = steps_of(task.n, mu, len(columns), len(numbers))
        features = most_features(sizes, len(columns), signal)
        moments = shared_release(
            MOMENTS,
            task,
            task.sensitivity("second moments of clipped rows", largest=1.0, used=task.n),
            packed_dimension(len(columns) + 1),
            shares.moments,
        )
        ridge = _RIDGE * max(
            deviation(moments) * scales_unit(len(columns)) * math.sqrt(2 * len(columns)),
            _WITHOUT_NOISE,
        )
        sampled = task.n
        if task.budget is not None:
            sampled = sampled_records(task.n, ridge)
            ridge *= task.n / sampled
        named = 0 if self.interactions else sizes["products"]
        largest = largest_whitening(len(columns), features, named, ridge)
        gradients = shared_release(
            GRADIENTS,
            task,
            task.sensitivity(
                "mean of clipped gradients",
                clip=CLIP,
                n=task.n,
                width=features,
                amplification=0.5 * largest + (3.0 if self.interactions else 0.0),
            ),
            features,
            shares.gradients / steps,
        )
        if chooses:
            releases.append(_choice_release(task, len(columns), shares.choice))
        releases += [moments, replace(gradients, count=steps)]
        settings = replace(settings, steps=steps, features=features, ridge=ridge, sampled=sampled)
        reasons: tuple[str, ...] = ()
        if self.interactions and not sizes["products"]:
            why = f"there are no products of all of more than {MOST_PRODUCTS} columns"
            reasons = (f"{why}: the model is additive",)
        elif sizes["products"] and "products" not in affordable:
            why = "pure ε buys no products" if pure else "the budget is too small to learn products"
            reasons = (f"{why}: the model is additive",)
        return PlanDraft(tuple(releases), settings, reasons)

    def omissions(self, plan: Plan[ScorecardSettings]) -> tuple[str, ...]:
        """Return that there are no products, if their columns or their number are given."""
        task, columns = plan.task, self._columns(plan.task)
        affordable = chosen_blocks(self._block_sizes(columns), len(columns), _signal(task), 1.0)
        asked = len(self.pairs) or self.chosen
        if not asked or (plan.settings.steps and "products" in affordable):
            return ()
        why, remedy = "the budget is too small", "use a larger epsilon or more records"
        if task.budget is not None and task.budget.is_pure:
            why, remedy = "pure ε buys no products", "use a delta above 0"
        products = "the product" if asked == 1 else f"the {asked} products"
        return (f"{products} of columns that you asked for will not be learned: {why}; {remedy}",)

    def gather(
        self, task: Task, batches: Iterable[Batch], *, invalid: Invalid, limit: UnitLimit | None
    ) -> CellRecords:
        """Return the cells of records in batches: it does not need their rows."""
        return CellRecords.gather(
            task.problem,
            self._columns(task),
            batches,
            task.n,
            task.features,
            invalid=invalid,
            limit=limit,
        )

    def has_gathered(self, records: object, task: Task) -> bool:
        """Return whether records are the cells of its columns."""
        return isinstance(records, CellRecords) and records.columns == self._columns(task)

    def check_parts(self, plan: Plan[ScorecardSettings]) -> None:
        """Do nothing: it needs only sums."""

    def execute(
        self,
        plan: Plan[ScorecardSettings],
        records: Records | PartitionedRecords | CellRecords,
        noise: NoiseSource,
        progress: Progress,
    ) -> RunResult:
        """Return the points of all bins and the intercept, and what describes the bins."""
        columns, settings = self._columns(plan.task), plan.settings
        run = Run.of(columns, records, plan.certificate.releases, noise)
        binned = run.bin(settings.bins, settings.levels, self.resolution)
        naive = found = binned.naive()
        if settings.steps and settings.ridge and settings.sampled:
            rarity = 4 * binned.positives * (1 - binned.positives)
            sizes, signal = self._block_sizes(columns), _signal(plan.task)
            blocks = chosen_blocks(sizes, len(columns), signal, rarity)
            pairs: Pairs | int = self.pairs
            if self.chosen and CHOICE in run.releases:
                pairs = self.chosen
            elif self.chosen:
                blocks = [name for name in blocks if name != "products"]
            found = run.learn(
                binned, blocks, pairs, settings.steps, settings.ridge, settings.sampled, progress
            )
        edges = [np.zeros(0) if e is None else e.astype(np.float64) for e in binned.edges]
        points, deviations = _joined(found)
        naive_points, naive_deviations = _joined(naive)
        statistics = {
            "bins": np.array([len(one) for one in found.points], dtype=np.float64),
            "edges": np.concatenate(edges),
            "counts": np.concatenate([column.counts for column in binned.columns]),
            "factors": np.concatenate(found.factors),
            "positives": np.array([binned.positives]),
            "learned points": np.append(points, found.intercept),
            "learned deviations": deviations,
            "learned interactions": found.interactions,
            "learned product deviations": found.product_deviations,
            "naive points": np.append(naive_points, naive.intercept),
            "naive deviations": naive_deviations,
        }
        return self.solve(plan, statistics)

    @property
    def solves_from_release(self) -> bool:
        """True: points are smoothed and shrunk after all releases."""
        return True

    def solve(self, plan: Plan[ScorecardSettings], statistics: Mapping[str, Array]) -> RunResult:
        """Return the points that follow from learned ones: for any smoothing and shrinkage."""
        (learned, weight), (naive, prior) = (
            (statistics[f"{name} points"][:-1], statistics[f"{name} points"][-1])
            for name in ("learned", "naive")
        )
        pulled = (
            Pulled(learned, statistics["learned deviations"])
            .towards(Pulled(naive, statistics["naive deviations"]), self.shrinkage)
            .smoothed(
                self._columns(plan.task), statistics["bins"], statistics["counts"], self.smoothing
            )
        )
        kept = 1 - self.shrinkage
        return RunResult(
            np.append(pulled.points, kept * weight + self.shrinkage * prior),
            {
                **statistics,
                "deviations": pulled.deviations,
                "interactions": kept * statistics["learned interactions"],
                "product_deviations": kept * statistics["learned product deviations"],
            },
        )

    def model_of(self, plan: Plan) -> ModelName:
        """Return the kind of model: without a budget for products, it is additive."""
        columns = self._columns(plan.task)
        sizes = self._block_sizes(columns)
        blocks = chosen_blocks(sizes, len(columns), _signal(plan.task), 1.0)
        learns_weights = any(one.name == GRADIENTS for one in plan.certificate.releases)
        return "quadratic" if learns_weights and "products" in blocks else "additive"

    def own_problem(self, data_norm: float) -> PointwiseProblem:
        """Return the problem of predicting the class of single records."""
        return PointwiseProblem(LogisticPointwise(), Unconstrained(), data_norm=data_norm)

    def score_function(
        self, plan: Plan, parameters: Array, statistics: Mapping[str, Array]
    ) -> Points:
        """Return the points of all bins."""
        if not parameters.size:
            raise ValueError("there is no intercept")
        points = Points.of(
            self._columns(plan.task),
            statistics["bins"],
            statistics["edges"],
            parameters[:-1],
            float(parameters[-1]),
            statistics["factors"],
            statistics["interactions"],
        )
        for name in ("deviations", "counts"):
            if statistics[name].size != parameters.size - 1 or np.any(statistics[name] < 0):
                raise ValueError(f"there is not one number for each bin in the {name}")
        products = statistics["product_deviations"]
        if products.shape != points.interactions.shape or np.any(products < 0):
            raise ValueError("there is not one deviation for each product")
        return points

    def _parameter_noise(self, plan: Plan[ScorecardSettings], fit: Fit) -> ParameterNoise:
        return ParameterNoise(
            "first order",
            "propagated to first order from noisy counts and gradients to the points of each bin",
            fit.statistics["deviations"],
        )

    def _block_sizes(self, columns: Sequence[Cells]) -> dict[str, int]:
        numbers = sum(isinstance(column, NumberCells) for column in columns)
        others = sum(c.size for c in columns if not isinstance(c, NumberCells))
        products = (
            all_products(len(columns)) if self.interactions else len(self.pairs) or self.chosen
        )
        return block_sizes(numbers, others, products)


def _joined(found: Learned) -> Pulled:
    """Return the points of all columns in one array, and their deviations."""
    return Pulled(np.concatenate(found.points), np.concatenate(found.deviations))


def _mu(task: Task) -> float:
    """Return the µ of the budget for one record; infinite without noise."""
    if task.budget is None:
        return math.inf
    if task.budget.is_pure:
        return task.budget.epsilon / task.records
    return gdp_mu(task.budget.epsilon, task.budget.delta) / task.records


def _signal(task: Task) -> float:
    """Return nµ; 0 for pure ε, for which only the weights of shapes are learned."""
    if task.budget is not None and task.budget.is_pure:
        return 0.0
    return task.n * _mu(task)


def _checked_pair(pair: Sequence[int]) -> tuple[int, int]:
    first, second = (integer("pair", place, at_least=0) for place in pair)
    if first == second:
        raise ValueError("a pair must have two different columns")
    return min(first, second), max(first, second)


def _choice_release(task: Task, columns: int, share: float) -> Release:
    """Return the release of the gradient of all products of two different columns."""
    candidates = columns * (columns - 1) // 2
    sensitivity = task.sensitivity(
        "mean of clipped gradients", clip=CLIP, n=task.n, width=candidates, amplification=1.0
    )
    return shared_release(CHOICE, task, sensitivity, candidates, share)


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


register_algorithm("scorecard", Scorecard())
