"""Checks of user-defined losses: a search for counterexamples to what a loss declares.

Noise is calibrated to the constants that a loss declares. A constant that is too small voids the
guarantee, and nothing at run time would show it. `check_pairwise_loss` and `check_pointwise_loss`
look for counterexamples, in the spirit of scikit-learn's ``check_estimator``: they check values,
gradients, declared convexity, symmetry and structure, and search for records and parameters that
exceed each declared constant. Passing is not a proof: the proof belongs in the docstring of the
loss. Certificates planned later in the same process, on a domain that was checked, say that the
loss passed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pairdp._checks import integer, non_negative
from pairdp.losses.base import Domain, PairwiseLoss
from pairdp.losses.convexity import declared_convex
from pairdp.losses.pointwise import PointwiseLoss
from pairdp.losses.trust import remember_passed
from pairdp.testing._loss_checks.constants import constant_checks
from pairdp.testing._loss_checks.identities import along_segments, order_and_equals, well_formed
from pairdp.testing._loss_checks.report import Check, CheckReport, LossCheckError
from pairdp.testing._loss_checks.scalar_functions import scalar_function_checks
from pairdp.testing._loss_checks.search_space import Loss, SearchSpace, Subject

__all__ = [
    "Check",
    "CheckReport",
    "LossCheckError",
    "check_pairwise_loss",
    "check_pointwise_loss",
]

_TOLERANCE = 1e-6
_VECTOR_DOMAINS = (
    Domain(1.0, 1.0),
    Domain(0.5, 6.0),
    Domain(2.0, 0.3),
    Domain(1.0, math.inf),
    Domain(3.0, 0.0),
)
_MATRIX_DOMAINS = (
    Domain(1.0, 1.0, positive_semidefinite=True),
    Domain(2.0, 0.3),
    Domain(0.5, 8.0, positive_semidefinite=True),
    Domain(1.0, math.inf, positive_semidefinite=True),
    Domain(1.0, math.inf),
    Domain(3.0, 0.0),
)


def check_pairwise_loss(
    loss: PairwiseLoss,
    *,
    domains: Sequence[Domain] | None = None,
    features: Sequence[int] = (2, 1, 3),
    random_state: int = 0,
    tolerance: float = _TOLERANCE,
    raise_on_failure: bool = True,
) -> CheckReport:
    """Look for counterexamples to everything that a loss over pairs declares.

    Parameters
    ----------
    loss : PairwiseLoss
        The loss.
    domains : sequence of Domain, optional
        Where its constants are checked; by default small, large and unbounded sets, for matrices
        with and without positive semidefiniteness.
    features : sequence of int
        Numbers of features. The first is used on every domain, the others on the first domain.
    random_state : int
        Seed of the search; the same seed gives the same report.
    tolerance : float
        The largest relative excess of a value found over the declared constant.
    raise_on_failure : bool
        Whether a failure raises `LossCheckError` instead of being reported.

    Returns
    -------
    CheckReport
        Every check; ``print`` it.

    Raises
    ------
    LossCheckError
        If any check fails.

    Examples
    --------
    >>> from pairdp.losses import Domain, HingeRanking
    >>> report = check_pairwise_loss(HingeRanking(), domains=[Domain(1.0, 1.0)], features=[2])
    >>> report.passed
    True
    >>> round(report.worst("pair_diameter").ratio, 3)
    1.0
    """
    if not isinstance(loss, PairwiseLoss):
        raise TypeError(f"loss must be a PairwiseLoss, got {type(loss).__name__}")
    declared_convex(loss)
    default = _MATRIX_DOMAINS if loss.matrix else _VECTOR_DOMAINS
    labels = (-1.0, 1.0) if loss.binary else (0.0, 1.0, 2.0)
    if loss.label_bound is not None:
        labels = (-loss.label_bound, loss.label_bound, 0.0)
    spaces = _search_spaces(domains or default, features, loss.matrix, labels)
    report = _report(Subject(loss, 2), spaces, random_state, tolerance, raise_on_failure)
    _remember(loss, report, spaces, tolerance)
    return report


def check_pointwise_loss(
    loss: PointwiseLoss,
    *,
    labels: Sequence[float] | None = None,
    domains: Sequence[Domain] | None = None,
    features: Sequence[int] = (2, 1, 3),
    random_state: int = 0,
    tolerance: float = _TOLERANCE,
    raise_on_failure: bool = True,
) -> CheckReport:
    """Look for counterexamples to everything that a loss over single records declares.

    Parameters
    ----------
    loss : PointwiseLoss
        The loss.
    labels : sequence of float, optional
        The labels to try; by default ±``label_bound`` of the loss, or ±1 if it has none.
    domains, features, random_state, tolerance, raise_on_failure
        See `check_pairwise_loss`.

    Returns
    -------
    CheckReport
        Every check; ``print`` it.

    Raises
    ------
    LossCheckError
        If any check fails.
    """
    if not isinstance(loss, PointwiseLoss):
        raise TypeError(f"loss must be a PointwiseLoss, got {type(loss).__name__}")
    declared_convex(loss)
    bound = loss.label_bound or 1.0
    tried = tuple(float(label) for label in labels) if labels else (-bound, bound)
    default = _MATRIX_DOMAINS if loss.matrix else _VECTOR_DOMAINS
    spaces = _search_spaces(domains or default, features, loss.matrix, tried)
    report = _report(Subject(loss, 1), spaces, random_state, tolerance, raise_on_failure)
    if {-bound, bound} <= set(tried):
        _remember(loss, report, spaces, tolerance)
    return report


def _remember(loss: Loss, report: CheckReport, spaces: list[SearchSpace], tolerance: float) -> None:
    """Record a passed check for certificates, unless it was more lenient than the default."""
    if report.passed and tolerance <= _TOLERANCE:
        remember_passed(loss, [space.domain for space in spaces if space.features > 1])


def _search_spaces(
    domains: Sequence[Domain], features: Sequence[int], matrix: bool, labels: tuple[float, ...]
) -> list[SearchSpace]:
    counts = [integer("features", count) for count in features]
    if not counts:
        raise ValueError("features must contain at least one number of features")
    pairs = [(domains[0], count) for count in counts]
    pairs += [(domain, counts[0]) for domain in domains[1:]]
    return [SearchSpace(domain, count, matrix, labels) for domain, count in pairs]


def _report(
    subject: Subject, spaces: list[SearchSpace], seed: int, tolerance: float, raise_on_failure: bool
) -> CheckReport:
    rng = np.random.default_rng(seed)
    tolerance = non_negative("tolerance", tolerance)
    checks: list[Check] = []
    for space in spaces:
        checks += well_formed(subject, space, rng)
    # The other checks need the right shapes and finite numbers.
    if all(check.passed for check in checks if check.name in ("shapes", "finite")):
        for space in spaces:
            checks += along_segments(subject, space, rng)
            checks += order_and_equals(subject, space, rng)
            checks += scalar_function_checks(subject, space, rng, tolerance)
        for space in spaces:
            checks += constant_checks(subject, space, rng, tolerance)
    report = CheckReport(repr(subject.loss), tuple(checks))
    if raise_on_failure and not report.passed:
        raise LossCheckError(report)
    return report
