"""Bilinear similarity xᵀMx', for any loss of a score and a label."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp.losses.base import Domain, Holder, PairwiseLoss
from pairdp.losses.convexity import declared_convex
from pairdp.losses.logistic_pointwise import LogisticPointwise
from pairdp.losses.pointwise import PointwiseLoss
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BilinearSimilarity(PairwiseLoss):
    r"""The loss of the score s = xᵀMx' for the label t = 1 of similar pairs, and -1 of others.

    M is a symmetric matrix, so s = ⟨M, A⟩ with A = (xx'ᵀ + x'xᵀ)/2, and the loss of a pair is that
    of the *one* record (A, t), with weights M. Since |A|² = (|x|²|x'|² + (xᵀx')²)/2 ≤ R⁴, G, L and
    the Hölder continuity are those of the pointwise loss with records of norm R², and so is the
    bound D_o: replacing x, its class or both replaces (A, t). They are attained for x' = ±x, except
    that D_o may be smaller: both A have the same partner. The loss is symmetric, so D_h = 2 D_o.

    The smoothness of the risk is at most that of one pair, and nearly attained by equal records.

    Parameters
    ----------
    pointwise : PointwiseLoss
        The loss of a score and a label; for a loss of targets, its ``label_bound`` must be at
        least 1.
    """

    pointwise: PointwiseLoss = field(default_factory=LogisticPointwise)

    matrix: ClassVar[bool] = True
    binary: ClassVar[bool] = False

    def __post_init__(self) -> None:
        loss = self.pointwise
        if not isinstance(loss, PointwiseLoss):
            raise TypeError(f"pointwise must be a PointwiseLoss, got {loss!r}")
        if not loss.binary and (loss.label_bound or 0.0) < 1:
            raise ValueError("pointwise must have a label_bound of at least 1, the labels being ±1")

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Whether the pointwise loss is declared convex; scores are linear in M."""
        return declared_convex(self.pointwise)

    @property
    def width(self) -> float:
        """The width on which the kink of the loss is smoothed; 0 if it is not."""
        return float(getattr(self.pointwise, "width", 0.0))

    def of_score(self, scores: Array, similar: NDArray[np.bool_]) -> Array:
        """Return the loss of these scores."""
        return self.pointwise.value(*_as_record(scores, similar)).reshape(scores.shape)

    def slope(self, scores: Array, similar: NDArray[np.bool_]) -> Array:
        """Return the derivative in the score."""
        gradients = self.pointwise.gradient(*_as_record(scores, similar))
        return np.asarray(gradients[:, 1]).reshape(scores.shape)

    def value(self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array) -> Array:
        """Return the loss of each pair."""
        return self.of_score(_scores(parameters, x, other_x), y == other_y)

    def gradient(
        self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array
    ) -> Array:
        """Return the derivative in the score times (xx'ᵀ + x'xᵀ)/2 for each pair."""
        halves = self.slope(_scores(parameters, x, other_x), y == other_y) / 2
        products = x[:, :, None] * other_x[:, None, :]
        return np.asarray(halves[:, None, None] * (products + products.transpose(0, 2, 1)))

    def lipschitz(self, domain: Domain) -> float:
        """Return G of the pointwise loss for records of norm R²."""
        return self.pointwise.lipschitz(_of_products(domain))

    def smoothness(self, domain: Domain) -> float:
        """Return L of the pointwise loss for records of norm R²."""
        return self.pointwise.smoothness(_of_products(domain))

    def holder(self, domain: Domain) -> Holder:
        """Return the Hölder continuity of the pointwise loss for records of norm R²."""
        return self.pointwise.holder(_of_products(domain))

    def pair_diameter(self, domain: Domain) -> float:
        """Return D of the pointwise loss for records of norm R²."""
        return self.pointwise.record_diameter(_of_products(domain))

    def why_slow(self) -> str:
        """Return that the scores of all pairs are computed."""
        return "the similarities of all pairs are computed, in O(n²d)"


def _of_products(domain: Domain) -> Domain:
    return Domain(domain.data_norm**2, domain.radius)


def _scores(matrix: Array, x: Array, other_x: Array) -> Array:
    """Return xᵀMx' of each pair, the same in both orders."""
    there, back = (np.sum((a @ matrix) * b, axis=1) for a, b in ((x, other_x), (other_x, x)))
    return np.asarray((there + back) / 2)


def _as_record(scores: Array, similar: NDArray[np.bool_]) -> tuple[Array, Array, Array]:
    """Return weights and records with these scores, whose second gradient is the derivative."""
    flat = scores.ravel()
    rows = np.stack([flat, np.ones_like(flat)], axis=1)
    return np.array([1.0, 0.0]), rows, np.where(similar.ravel(), 1.0, -1.0)


register_loss("bilinear_similarity", BilinearSimilarity())
