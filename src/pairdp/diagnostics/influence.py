r"""How much the minimiser moves when one record is removed (Kang 2021, equation 4).

Removing the record z_i means making it a null record: n and the normaliser n(n-1) stay, as in the
paper. With F the regularised risk, H its Hessian at the minimiser w, and g_i the gradient of the
terms with z_i (`pairdp.diagnostics.curvature`),

.. math:: w_{-i} - w = H^{-1} g_i + O(1/n^2).

If w is at the boundary of the constraint set C, the minimiser is the fixed point of a projected
step, w = Π(w - η∇F(w)), and with J the derivative of the projection at w - η∇F(w),

.. math:: w_{-i} - w ≈ (I - J(I - ηH))^{-1} ηJ g_i,

which is the same in the interior, where J = I.

Everything here is a function of raw data. It is for those who may see the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from pairdp._checks import integer, non_negative
from pairdp.algorithms.plan import Progress
from pairdp.diagnostics.curvature import curvature_at, packed
from pairdp.diagnostics.minimum import non_private_minimizer, step_to
from pairdp.diagnostics.not_private import NotPrivate
from pairdp.privacy import unpack
from pairdp.problem import Problem
from pairdp.records import Records

Array = NDArray[np.float64]
_SINGULAR = 1e-12
_INTERIOR = 1e-6
_PROJECTION_STEP = 1e-7
_TOLERANCE, _MOST_STEPS = 1e-10, 10_000


@dataclass(frozen=True, eq=False, repr=False)
class NonPrivateInfluence(NotPrivate):
    """The estimated change of the minimiser for every removed record. NOT private.

    Attributes
    ----------
    packed_changes : array of shape (n, p)
        The changes; a symmetric matrix is packed into d(d+1)/2 numbers with the same norm.
    shape : tuple of int
        The shape of the parameter.
    residual : float
        The length of a projected gradient step at w, over the step size: 0 at the minimiser. The
        estimates are about the minimiser.
    """

    packed_changes: Array
    shape: tuple[int, ...]
    residual: float

    @property
    def changes(self) -> Array:
        """The changes, of shape (n,) and that of the parameter."""
        if len(self.shape) == 1:
            return self.packed_changes
        return np.array([unpack(change) for change in self.packed_changes])

    @property
    def sizes(self) -> Array:
        """The norm of every change."""
        return np.asarray(np.linalg.norm(self.packed_changes, axis=1))

    def most(self, count: int = 10) -> NDArray[np.intp]:
        """Return the indices of the most influential records, the first one first."""
        return np.argsort(-self.sizes, kind="stable")[: integer("count", count)]

    def on(self, target: ArrayLike) -> Array:
        """Return the change of ⟨target, w⟩ for every removed record.

        With the gradient of a smooth function of w as the target, this estimates its change.
        """
        return np.asarray(self.packed_changes @ packed(_target(target, self.shape)))

    def lines(self) -> list[str]:
        """Return the result in words."""
        sizes, first = self.sizes, self.most(1)[0]
        return [
            f"change of the minimiser when one of {sizes.size} records is removed, estimated",
            f"largest {sizes[first]:.4g} (record {first}), median {np.median(sizes):.4g}",
            f"residual of w {self.residual:.2g}",
        ]


@dataclass(frozen=True, eq=False, repr=False)
class NonPrivateInfluenceOn(NotPrivate):
    """The estimated change of ⟨target, w⟩ for every removed record. NOT private.

    Attributes
    ----------
    values : array of shape (n,)
        The changes.
    residual : float
        As for `NonPrivateInfluence`.
    """

    values: Array
    residual: float

    def most(self, count: int = 10) -> NDArray[np.intp]:
        """Return the indices of the records with the largest changes, of either sign."""
        return np.argsort(-np.abs(self.values), kind="stable")[: integer("count", count)]

    def lines(self) -> list[str]:
        """Return the result in words."""
        first = self.most(1)[0]
        return [
            f"change of ⟨target, w⟩ when one of {self.values.size} records is removed, estimated",
            f"largest {self.values[first]:.4g} (record {first})",
            f"residual of w {self.residual:.2g}",
        ]


def influence(
    problem: Problem,
    records: Records,
    w: ArrayLike | None = None,
    *,
    damping: float = 0.0,
    progress: bool | None = None,
) -> NonPrivateInfluence:
    """Estimate how much the minimiser moves when each record is removed. NOT private.

    The time is O(n·p²) for ranking losses with fast sums, and that of 4p gradients and n sums over
    the pairs of one record for all others (blocked, O(n²) for pairs).

    Parameters
    ----------
    problem : Problem
        A problem of pairs or of single records, with a smooth loss.
    records : Records
        The data, from ``problem.records(x, y)``.
    w : array, optional
        The minimiser; computed by default. At any other point, the result says by how much a Newton
        step on F changes, to first order.
    damping : float
        Added to the diagonal of the Hessian, for problems that are not strongly convex.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp.constraints import L2Ball
    >>> from pairdp.losses import LogisticRanking
    >>> from pairdp.problem import Problem
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 3)) / 3
    >>> y = np.where(x[:, 0] + 0.1 * rng.normal(size=200) > 0, 1, -1)
    >>> problem = Problem(LogisticRanking(), L2Ball(5.0), regularization=0.1)
    >>> found = influence(problem, problem.records(x, y))
    >>> found
    <NonPrivateInfluence: NOT PRIVATE (no certificate; computed from raw data without noise)>
    >>> found.changes.shape, bool(found.sizes[found.most(1)[0]] == found.sizes.max())
    ((200, 3), True)
    """
    point, damping, shown = _checked(problem, records, w, damping, progress)
    curvature = curvature_at(problem, records, point)
    gradients = curvature.record_gradients(shown)
    size = gradients.shape[1]
    hessian = curvature.hessian(size, shown) + (problem.regularization + damping) * np.eye(size)
    eigenvalues = np.linalg.eigvalsh(hessian)
    if not eigenvalues[-1] > 0:
        raise ValueError(_NOT_CONVEX)
    step = 1 / float(eigenvalues[-1])
    jacobian = _projection_jacobian(problem, records, point, step)
    if np.abs(jacobian - np.eye(size)).max() < _INTERIOR:
        if eigenvalues[0] <= _SINGULAR * eigenvalues[-1]:
            raise ValueError(_NOT_CONVEX)
        changes: Array = cho_solve(cho_factor(hessian), gradients.T).T
    else:
        matrix = np.eye(size) - jacobian @ (np.eye(size) - step * hessian)
        if np.linalg.cond(matrix) > 1 / _SINGULAR:
            raise ValueError(_NOT_CONVEX)
        changes = np.asarray(np.linalg.solve(matrix, step * jacobian @ gradients.T).T, np.float64)
    residual = _residual(problem, records, point, step)
    return NonPrivateInfluence(np.ascontiguousarray(changes), point.shape, residual)


def influence_on(
    problem: Problem,
    records: Records,
    target: ArrayLike,
    w: ArrayLike | None = None,
    *,
    damping: float = 0.0,
    progress: bool | None = None,
) -> NonPrivateInfluenceOn:
    """Estimate the change of ⟨target, w⟩ when each record is removed. NOT private.

    One system with the Hessian is solved by conjugate gradients, without forming the Hessian: this
    is for many features, and for one question, such as which records raise the score of a person.

    Parameters
    ----------
    problem, records, w, damping, progress
        As for `influence`; w must be in the interior of the constraint set.
    target : array
        A direction, of the shape of w.
    """
    point, damping, shown = _checked(problem, records, w, damping, progress)
    direction = packed(_target(target, point.shape))
    step = 1 / problem.constants(max(records.n, 2)).smoothness
    end = point - step * problem.gradient(point, records)
    if not np.allclose(problem.constraint.project(end), end, rtol=0.0, atol=1e-12):
        raise ValueError(
            "w is at the boundary of the constraint set: use influence(...).on(target), or a "
            "larger radius"
        )
    curvature = curvature_at(problem, records, point)
    added = problem.regularization + damping
    bar = shown.steps(_MOST_STEPS, "conjugate gradients", counted=False)

    def product(vector: Array) -> Array:
        next(bar, None)
        return curvature.product(np.ravel(vector)) + added * np.ravel(vector)

    operator: Any = LinearOperator((direction.size,) * 2, matvec=product, dtype=np.float64)
    solution, failed = cg(operator, direction, rtol=_TOLERANCE, atol=0.0, maxiter=_MOST_STEPS)
    bar.close()
    if failed or (direction.any() and not direction @ solution > 0):
        raise ValueError(_NOT_CONVEX)
    values = curvature.record_gradients(shown) @ solution
    return NonPrivateInfluenceOn(values, _residual(problem, records, point, step))


_NOT_CONVEX = (
    "the Hessian of F at w is not positive definite, so removing a record may move the minimiser "
    "anywhere: use a regularization, or damping"
)


def _checked(
    problem: Problem, records: Records, w: ArrayLike | None, damping: float, progress: bool | None
) -> tuple[Array, float, Progress]:
    problem.check_records(records)
    damping = non_negative("damping", damping)
    shape = np.shape(problem.constraint.initial(records.features))
    if w is None:
        point = non_private_minimizer(problem, records, progress=progress)
    else:
        point = _target(w, shape, "w")
    return point, damping, Progress(progress)


def _target(values: ArrayLike, shape: tuple[int, ...], name: str = "target") -> Array:
    found = np.asarray(values, dtype=np.float64)
    if found.shape != shape or not np.all(np.isfinite(found)):
        raise ValueError(f"{name} must be finite and have shape {shape}, got {found.shape}")
    return (found + found.T) / 2 if found.ndim == 2 else found


def _residual(problem: Problem, records: Records, point: Array, step: float) -> float:
    return float(np.linalg.norm(point - step_to(problem, records, point, step))) / step


def _projection_jacobian(problem: Problem, records: Records, point: Array, step: float) -> Array:
    """Return the derivative of the projection at the end of a gradient step, by differences."""
    end = packed(point - step * problem.gradient(point, records))
    h = _PROJECTION_STEP * max(1.0, float(np.linalg.norm(end)))

    def project(vector: Array) -> Array:
        where = unpack(vector) if point.ndim == 2 else vector
        return packed(problem.constraint.project(where))

    columns = [
        (project(end + h * unit) - project(end - h * unit)) / (2 * h) for unit in np.eye(end.size)
    ]
    return np.array(columns).T
