r"""The problem to be minimised, and the constants that privacy and step sizes need.

.. math:: F(w) = \frac{1}{n(n-1)} Σ_{i≠j} ℓ(w; z_i, z_j) + \frac{λ}{2}|w - w_0|^2,
    \quad w ∈ C, \quad |x_i| ≤ R.

The regulariser does not depend on the data. It adds λ to the smoothness and, if the loss is convex,
to the strong convexity, and nothing to any sensitivity (errata, G2); G + λB, which the papers use
instead, is valid but loose.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp import constraints, pairs
from pairdp._checks import PARAMETERS, STEPS, between, integer, keep, non_negative
from pairdp._reading import Invalid
from pairdp.clipping import check_data_norm
from pairdp.gathering import Batch
from pairdp.label_coding import check_target_bound
from pairdp.losses import Domain, Holder, PairwiseLoss
from pairdp.losses.convexity import declared_convex
from pairdp.losses.trust import is_library_loss
from pairdp.pairs import ACCURACY, Risk
from pairdp.partitioned_records import PartitionedRecords
from pairdp.records import RecordFacts, Records
from pairdp.storage import Storable
from pairdp.unit_limit import UnitLimit

Array = NDArray[np.float64]
_LARGEST_SCORE = 1e9
_ROUNDING = 1e-15
_OF_CONSTRAINTS = (
    "project", "radius", "diameter", "dimension", "initial", "matrix", "positive_semidefinite",
)  # fmt: skip


@dataclass(frozen=True)
class ProblemConstants:
    """The constants of a problem with n records, on parameters within a radius.

    Attributes
    ----------
    lipschitz : float
        G, the largest norm of the gradient of one pair's loss, without the regulariser.
    pair_smoothness : float
        L of one pair, plus λ.
    smoothness : float
        L of the risk over all pairs, plus λ; at most ``pair_smoothness``.
    strong_convexity : float
        λ for a convex loss; 0 for any other.
    holder : Holder
        Hölder continuity of one pair's gradient, without the regulariser.
    pair_diameter : float
        D_o: the largest change of one ordered pair's gradient when one of its records is replaced
        by another or by a null record; at least G.
    record_diameter : float
        D_h: the same for both orders together.
    sensitivity : float
        The largest change of the computed gradient of the risk when one record is replaced.
    """

    lipschitz: float
    pair_smoothness: float
    smoothness: float
    strong_convexity: float
    holder: Holder
    pair_diameter: float
    record_diameter: float
    sensitivity: float


@dataclass(frozen=True, eq=False)
class Problem(Storable):
    """A loss, a constraint, a regulariser and a bound on the data.

    Parameters
    ----------
    loss : PairwiseLoss
        The loss of a pair.
    constraint : Constraint
        The set C.
    regularization : float
        λ, at least 0.
    center : float or array
        w₀: 0, or an array of the parameter's shape. It must be public.
    data_norm : float
        R, the norm that records are clipped to.

    Examples
    --------
    >>> from pairdp.constraints import L2Ball
    >>> from pairdp.losses import LogisticRanking
    >>> problem = Problem(LogisticRanking(), L2Ball(1.0), regularization=0.1)
    >>> constants = problem.constants(n=1000)
    >>> round(constants.lipschitz, 3), round(constants.smoothness, 3)
    (3.928, 2.102)
    >>> round(constants.sensitivity, 6)         # 2G/n; the papers' generic bound is 4G/n
    0.007856
    """

    loss: PairwiseLoss
    constraint: constraints.Constraint
    regularization: float = 0.0
    center: float | Array = 0.0
    data_norm: float = 1.0

    average: ClassVar[str] = "average over pairs"
    """The name of the bound on the sensitivity of the gradient."""

    smoothness_of: ClassVar[str] = "pair_smoothness"
    """The name in certificates of the smoothness of one term of the average."""

    _loss_type: ClassVar[tuple[type, str]] = (PairwiseLoss, "LogisticRanking()")
    _smallest_n: ClassVar[int] = 2

    def __post_init__(self) -> None:
        expected, example = self._loss_type
        if not isinstance(self.loss, expected):
            raise TypeError(
                f"loss must be a {expected.__name__} such as {example}, got {self.loss!r}"
            )
        declared_convex(self.loss)
        lacks = [name for name in _OF_CONSTRAINTS if not hasattr(self.constraint, name)]
        if lacks:
            raise TypeError(
                "constraint must be a constraint set such as L2Ball(1.0): "
                f"{self.constraint!r} has no {', '.join(lacks)}"
            )
        if self.loss.matrix != self.constraint.matrix:
            kinds = {True: "symmetric matrices", False: "vectors"}
            example = "PSDFrobeniusBall(1.0)" if self.loss.matrix else "L2Ball(1.0)"
            raise ValueError(
                f"{type(self.loss).__name__} is a loss of {kinds[self.loss.matrix]} and "
                f"{type(self.constraint).__name__} a set of {kinds[self.constraint.matrix]}: "
                f"use a constraint such as {example}"
            )
        keep(self, "regularization", _regularization(self.regularization))
        keep(self, "data_norm", check_data_norm(self.data_norm))
        self._check_corner()
        keep(self, "center", _center(self.center, self.loss.matrix))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem) or type(other) is not type(self):
            return NotImplemented
        return self._key() == other._key() and np.array_equal(self.center, other.center)

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.loss, self.constraint, self.regularization, self.data_norm

    @property
    def is_bounded(self) -> bool:
        """Whether the constraint set is bounded."""
        return math.isfinite(self.constraint.radius)

    @property
    def is_smooth(self) -> bool:
        """Whether the gradient of a pair's loss is Lipschitz continuous on the set."""
        return math.isfinite(self.loss.smoothness(self.domain()))

    @property
    def is_lipschitz(self) -> bool:
        """Whether the gradient of a pair's loss is bounded on the set."""
        return math.isfinite(self.loss.lipschitz(self.domain()))

    @property
    def is_convex(self) -> bool:
        """Whether the loss is convex, as its class declares; F is then convex too."""
        return declared_convex(self.loss)

    @property
    def is_strongly_convex(self) -> bool:
        """Whether F is known to be strongly convex: the loss is convex, and λ > 0."""
        return self.strong_convexity > 0

    @property
    def strong_convexity(self) -> float:
        """The known strong convexity of F: λ for a convex loss, 0 for any other."""
        return self.regularization if self.is_convex else 0.0

    @property
    def labels_in_words(self) -> str:
        """A sentence about labels, for certificates."""
        if self._target_bound is not None:
            return (
                f"Every target is clipped to at most {self._target_bound:g} in size, which is "
                "public."
            )
        return "Labels are two classes." if self.loss.binary else "Labels only name classes."

    @cached_property
    def _target_bound(self) -> float | None:
        """The bound that targets are clipped to; None if labels are classes."""
        return None if self.loss.binary else check_target_bound(self.loss.label_bound)

    def domain(self, radius: float | None = None) -> Domain:
        """Return the domain of the loss, with parameters within a radius if it is known.

        A radius is ignored for a loss outside this library: its constants are then those of the
        whole set, on which `check_pairwise_loss` can have checked them.
        """
        if radius is None or not is_library_loss(self.loss):
            return self._domain
        return self._domain.within(radius)

    @cached_property
    def _domain(self) -> Domain:
        return Domain(self.data_norm, self.constraint.radius, self.constraint.positive_semidefinite)

    def record_diameter(
        self,
        n: int,
        radius: float | None = None,
        step_size: float | None = None,
        features: int = 1,
    ) -> float:
        """Return n times the sensitivity of the *computed* gradient of the risk.

        This is D_h (`exact_record_diameter`) plus 2·n·`ACCURACY`·G, which covers the errors of two
        computed sums: the computed gradient is released, not the exact one. The bound "average over
        pairs" takes this diameter. Steps of a given size add the rounding of parameters, expressed
        as an error of the gradient; see `rounding_of_steps`.
        """
        domain = self.domain(radius)
        rounding = (
            2 * integer("n", n, at_least=self._smallest_n) * ACCURACY * self.loss.lipschitz(domain)
        )
        return (
            self.exact_record_diameter(domain)
            + rounding
            + n * self._rounding(domain, radius, step_size, features)
        )

    def exact_record_diameter(self, domain: Domain) -> float:
        """Return D_h, the largest change of both orders of a pair when a record is replaced.

        The record may be replaced by another, or by a null record, whose pairs have gradient zero:
        this is the larger of the loss's `record_diameter` and `null_diameter`.
        """
        return max(self.loss.record_diameter(domain), self.loss.null_diameter(domain))

    def gradient_rounding(
        self, step_size: float, features: int = 1, radius: float | None = None
    ) -> float:
        """Return a bound on the error of a computed gradient of some pairs.

        It includes the rounding of parameters, for steps of a given size.
        """
        domain = self.domain(radius)
        rounding = self._rounding(domain, radius, step_size, features)
        return ACCURACY * self.loss.lipschitz(domain) + rounding

    def _rounding(
        self, domain: Domain, radius: float | None, step_size: float | None, features: int
    ) -> float:
        center = self._rounding_of_center(domain, step_size)
        if step_size is None:
            return center
        far = domain.radius if radius is None else min(domain.radius, radius)
        if not math.isfinite(far):
            raise ValueError("the rounding errors of steps are bounded only within a radius")
        return center + self.rounding_of_steps(domain, far, step_size, features)

    def rounding_of_steps(
        self, domain: Domain, radius: float, step_size: float, features: int
    ) -> float:
        """Return the rounding errors of two runs in one step, as an error of the gradient.

        A step w - ηg and its projection have a rounding error of at most (6 + 4d)u·(|w| + ηG),
        u = 2⁻⁵³, since norms and eigenvalues have relative errors of a few d·u. Adding w to an
        average over T steps has an error of at most T·u·|w| in total, as much as an error of
        2u·|w|/η in every gradient. For two runs together this is below
        (2 + d)·1e-15·(|w|/η + G). It matters for very many small steps: n·T·1e-15 of the
        sensitivity.
        """
        size = radius / step_size + self.loss.lipschitz(domain)
        return (2 + features) * _ROUNDING * size

    def _rounding_of_center(self, domain: Domain, step_size: float | None) -> float:
        """Return the rounding error of parameters near w₀, as an error of the gradient."""
        if self.regularization == 0 or np.ndim(self.center) == 0:
            return 0.0
        curvature = self.loss.smoothness(domain)
        factor = 4 * (self.regularization + (curvature if math.isfinite(curvature) else 0.0))
        if step_size is not None:
            factor = max(factor, 1 / step_size)
        return _ROUNDING * float(np.linalg.norm(self.center)) * factor

    def check_features(self, features: int) -> None:
        """Raise an error if the centre is for another number of features."""
        if np.ndim(self.center) and np.shape(self.center)[0] != features:
            raise ValueError(
                f"center has {np.shape(self.center)[0]} features, but the data has {features}"
            )

    def sensitivity(self, n: int, radius: float | None = None) -> float:
        """Return the sensitivity of the computed gradient, about D_h/n."""
        return self.record_diameter(n, radius) / n

    def _check_corner(self) -> None:
        """Raise an error for a corner so narrow that rounding of the scores decides its slope."""
        width = getattr(self.loss, "width", 0.0)
        if not width or (self.loss.matrix and not self.is_bounded):
            return
        if not self.is_bounded:
            raise ValueError(
                "a rounded corner needs bounded scores, whose rounding it stays above: use "
                "L2Ball(radius), or width=0"
            )
        largest = self.loss.lipschitz(self.domain()) * self.constraint.radius
        if largest > _LARGEST_SCORE * width:
            raise ValueError(
                f"a corner of width {width:g} is lost in the rounding of scores up to "
                f"{largest:.3g}: use a width of at least {largest / _LARGEST_SCORE:.3g}, or 0"
            )

    def constants(
        self, n: int, radius: float | None = None, design: pairs.PairDesign | None = None
    ) -> ProblemConstants:
        """Return all constants for n records, on parameters within a radius if it is known.

        Parameters
        ----------
        n : int
            Number of records.
        radius : float, optional
            A bound on |w| that is known before data is read, such as the sum of all step
            sizes times G when starting at zero.
        design : PairDesign, optional
            The design of the risk, if there is one. The risk is then as smooth as one pair, since
            all pairs of the design may be of the worst kind.
        """
        domain = self.domain(radius)
        loss, added = self.loss, self.regularization
        return ProblemConstants(
            lipschitz=loss.lipschitz(domain),
            pair_smoothness=loss.smoothness(domain) + added,
            smoothness=self._risk_smoothness(domain, n, design) + added,
            strong_convexity=self.strong_convexity,
            holder=loss.holder(domain),
            pair_diameter=self._pair_diameter(domain),
            record_diameter=self.record_diameter(n, radius),
            sensitivity=self.sensitivity(n, radius),
        )

    def _risk_smoothness(self, domain: Domain, n: int, design: pairs.PairDesign | None) -> float:
        if design is None:
            return self.loss.risk_smoothness(domain, n)
        return self.loss.smoothness(domain)

    def _pair_diameter(self, domain: Domain) -> float:
        return max(self.loss.pair_diameter(domain), self.loss.lipschitz(domain))

    def records(
        self,
        x: ArrayLike,
        y: ArrayLike,
        *,
        invalid: Invalid = "error",
        groups: ArrayLike | None = None,
        limit: UnitLimit | None = None,
    ) -> Records:
        """Return the data with rows clipped to R, and targets to their bound.

        Records that cannot be read are an error, or null records. With groups and a limit, at most
        that many records of each unit are used; see `Records`.
        """
        return Records(
            x,
            y,
            data_norm=self.data_norm,
            binary=self.loss.binary,
            target_bound=self._target_bound,
            invalid=invalid,
            groups=groups,
            limit=limit,
        )

    def record_facts(self, n: int, features: int) -> RecordFacts:
        """Return what is public of n records that are clipped and coded for this problem."""
        return RecordFacts(n, features, self.data_norm, self.loss.binary, self._target_bound)

    def gather(
        self,
        batches: Iterable[Batch],
        n: int,
        features: int,
        *,
        invalid: Invalid = "error",
        limit: UnitLimit | None = None,
    ) -> Records:
        """Return n records that come in batches, without holding them in memory twice."""
        return Records.gather(
            batches,
            n,
            features,
            data_norm=self.data_norm,
            binary=self.loss.binary,
            target_bound=self._target_bound,
            invalid=invalid,
            limit=limit,
        )

    def check_records(self, records: Records | PartitionedRecords) -> None:
        """Raise an error for records that were not clipped to the bounds of this problem."""
        if records.data_norm > self.data_norm:
            raise ValueError(
                f"the records are clipped to norm {records.data_norm:g}, but the problem needs "
                f"{self.data_norm:g}: make them with problem.records(x, y)"
            )
        bound = self._target_bound
        if bound is not None and not records.targets_are_within(bound):
            raise ValueError(
                f"{type(self.loss).__name__} needs targets clipped to {bound:g}: make the records "
                "with problem.records(x, y)"
            )

    def check_parts(self) -> None:
        """Raise ValueError if the gradient of the risk is not a sum over parts of the records."""
        pairs.check_parts(self.loss)

    def risk(
        self, records: Records | PartitionedRecords, design: pairs.PairDesign | None = None
    ) -> Risk:
        """Return the average loss over all pairs, or over a design, without the regulariser."""
        self.check_records(records)
        return pairs.risk(self.loss, records, design)

    def value(
        self, parameters: Array, records: Records, design: pairs.PairDesign | None = None
    ) -> float:
        """Return F(w). It depends on the data and is not private."""
        shift = self._shift(parameters)
        penalty = self.regularization / 2 * float(np.vdot(shift, shift))
        return self.risk(records, design).value(parameters) + penalty

    def gradient(
        self, parameters: Array, records: Records, design: pairs.PairDesign | None = None
    ) -> Array:
        """Return ∇F(w). It depends on the data and is not private."""
        gradient = self.risk(records, design).gradient(parameters)
        return gradient + self.regularizer_gradient(parameters)

    def regularizer_gradient(self, parameters: Array) -> Array:
        """Return λ(w - w₀), the gradient of the regulariser, which does not depend on the data."""
        return self.regularization * self._shift(parameters)

    def projected_step(self, parameters: Array, step_size: float, gradient: Array) -> Array:
        """Return the projection of w - η(g + λ(w - w₀)) onto C, for a gradient g of the risk."""
        step = step_size * (gradient + self.regularizer_gradient(parameters))
        return self.constraint.project(parameters - step)

    def _shift(self, parameters: Array) -> Array:
        if np.ndim(self.center) and np.shape(self.center) != np.shape(parameters):
            raise ValueError(
                f"the parameter has shape {np.shape(parameters)}, but center has shape "
                f"{np.shape(self.center)}"
            )
        return np.asarray(parameters - self.center)


def _regularization(regularization: object) -> float:
    value = non_negative("regularization", regularization)
    return between("regularization", value, *STEPS) if value else 0.0


def _center(center: float | ArrayLike, matrix: bool) -> float | Array:
    values = np.array(center, dtype=np.float64)
    if values.ndim == 0:
        if values != 0:
            raise ValueError("center must be 0 or an array of the parameter's shape")
        return 0.0
    # Written so that NaN is rejected too.
    if values.ndim != 1 + matrix or not np.all(np.abs(values) <= PARAMETERS[1]):
        kind = "symmetric matrix" if matrix else "vector"
        raise ValueError(
            f"center must be 0 or a finite {kind} with entries of size up to {PARAMETERS[1]:g}, "
            f"got shape {values.shape}"
        )
    if matrix and not (values.shape[0] == values.shape[1] and np.allclose(values, values.T)):
        raise ValueError("center must be a symmetric matrix")
    values.setflags(write=False)
    return values
