"""Auditing estimators end to end, on a user's data with a canary."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from pairdp.algorithms.score_models import score_model
from pairdp.audit.functions import AttackName, audit
from pairdp.audit.influential import influential_canaries
from pairdp.audit.neighbours import Neighbours, canaries, widened
from pairdp.audit.report import AuditReport
from pairdp.privacy import Budget, Certificate, default_delta

Array = NDArray[np.float64]
_SEEDS, _ROWS = 5, 20
_LEARNT = ("coef_", "intercept_", "components_")


def audit_estimator(
    estimator: BaseEstimator,
    X: ArrayLike,  # noqa: N803  (as scikit-learn calls data)
    y: ArrayLike,
    *,
    pair: Neighbours | None = None,
    canary: Literal["extreme", "influential"] = "extreme",
    budget: Budget | None = None,
    released: Callable[[Any], Any] | None = None,
    runs: int = 500,
    confidence: float = 0.9999,
    attack: AttackName | Callable[[Array], Array] = "auto",
    jobs: int = 1,
    seed: int = 0,
    progress: bool | None = None,
) -> AuditReport:
    """Fit an estimator repeatedly to two neighbouring data sets and bound its ε from below.

    Parameters
    ----------
    estimator : estimator
        Any estimator with ``fit(X, y)`` and a ``random_state``. Clones of it are fitted, without
        its ledger. If it has ``max_records``, all records of one unit are replaced.
    X, y : array-like
        Data to audit on. The report depends on it and is not private: show it only to those who
        may see the data, or audit on public or synthetic data.
    pair : Neighbours, optional
        The neighbouring data sets. By default the canary that changes the fit most when both data
        sets are fitted with the same seed.
    canary : {"extreme", "influential"}
        Which canaries are tried: `canaries` for record 0, or `influential_canaries` of the problem
        that a private estimator plans to solve.
    budget : Budget, optional
        The claim; by default ``Budget(estimator.epsilon, estimator.delta)``, where a δ of None is
        `pairdp.default_delta` of the number of records.
    released : callable, optional
        Returns the released numbers of a fitted estimator; by default those of ``coef_``,
        ``intercept_`` and ``components_`` that exist. For models whose number of parameters is
        not fixed, such as scorecards, the scores of some records and of unit vectors.
    runs, confidence, attack, jobs, seed, progress
        As for `audit`.
    """
    claim = _claim(estimator, np.shape(X)) if budget is None else budget
    base = clone(estimator)
    numbers = _released(base, X) if released is None else released
    ledgers = [key for key in base.get_params() if key == "ledger" or key.endswith("__ledger")]
    base.set_params(**dict.fromkeys(ledgers))  # those of estimators inside it, too
    fit = FittedNumbers(base, numbers)
    if pair is None:
        found_canaries = _canaries(base, X, y, canary)
        if (records := base.get_params(deep=False).get("max_records")) is not None:
            found_canaries = (widened(found, records) for found in found_canaries)
        pair = max(
            found_canaries,
            key=lambda found: float(np.linalg.norm(_moved(fit, found, 1))),
        )
    direction = _moved(fit, pair, _SEEDS)
    found = audit(
        fit,
        *_both(base, pair),
        claim,
        runs=runs,
        confidence=confidence,
        attack=attack,
        noiseless=(np.zeros_like(direction), direction),
        jobs=jobs,
        seed=seed,
        progress=progress,
        name=type(estimator).__name__,
    )
    return replace(found, certificate_epsilon=_certificate_epsilon(base, pair, claim))


@dataclass(frozen=True)
class LearntParameters:
    """A function that returns the learnt parameters of an estimator as a vector."""

    def __call__(self, fitted: Any) -> Array:
        """Return the numbers of a fitted estimator."""
        found = [np.ravel(getattr(fitted, name)) for name in _LEARNT if hasattr(fitted, name)]
        if not found:
            raise ValueError(
                f"a fitted {type(fitted).__name__} has none of {', '.join(_LEARNT)}: pass "
                "released, a function that returns its released numbers"
            )
        return np.concatenate(found).astype(np.float64)


@dataclass(frozen=True, eq=False)
class LearntScores:
    """A function that returns the scores that an estimator gives to some rows."""

    rows: Any

    def __call__(self, fitted: Any) -> Array:
        """Return the scores."""
        return np.asarray(fitted.decision_function(self.rows), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class FittedNumbers:
    """A function that fits an estimator to a data set with a seed and returns its release."""

    estimator: Any
    released: Callable[[Any], Any]

    def __call__(self, data: tuple[Any, ...], seed: int) -> Any:
        """Return the numbers of one fit."""
        model = clone(self.estimator)
        # Every estimator accepts a generator, but not every one a large seed.
        model.set_params(random_state=np.random.RandomState(np.random.PCG64(seed)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the same for every fit
            return self.released(model.fit(*data))


def _claim(estimator: Any, shape: tuple[int, ...]) -> Budget:
    params = estimator.get_params(deep=False)
    if params.get("epsilon") is None:
        raise ValueError(
            f"{type(estimator).__name__} has no epsilon: pass budget, the claim to test"
        )
    if params.get("delta", 0.0) is None:  # it follows from n
        return Budget(params["epsilon"], default_delta(shape[0]))
    return Budget(params["epsilon"], params.get("delta", 0.0))


def _released(base: Any, x: ArrayLike) -> LearntParameters | LearntScores:
    """Return the function of a fit that an attacker sees, of a fixed number of values."""
    plan = getattr(base, "plan", None)
    if plan is None or np.ndim(x) != 2:
        return LearntParameters()
    n, d = np.shape(x)
    if score_model(plan(n, d).algorithm) is None:
        return LearntParameters()
    ends = float(base.get_params(deep=False).get("data_norm") or 1.0) * np.eye(d)
    rows = np.asarray(x)[:_ROWS]
    readable = rows.dtype.kind in "biuf" and bool(np.isfinite(rows).all())
    return LearntScores(np.vstack([ends, -ends, *([rows] if readable else [])]))


def _canaries(base: Any, x: ArrayLike, y: ArrayLike, canary: str) -> Iterator[Neighbours]:
    if canary == "extreme":
        norm = float(base.get_params(deep=False).get("data_norm") or 1.0)
        return canaries(x, y, norm)
    if canary != "influential":
        raise ValueError(f'canary must be "extreme" or "influential", got {canary!r}')
    if not hasattr(base, "plan"):
        raise ValueError(
            f'{type(base).__name__} has no plan: canary="influential" is for private estimators, '
            "or pass pair"
        )
    null = base.get_params(deep=False).get("invalid") == "null"
    return influential_canaries(base.plan(*np.shape(x)).problem, x, y, null=null)


def _both(base: Any, pair: Neighbours) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return both data sets as arguments of ``fit``, with groups if it protects units."""
    units = base.get_params(deep=False).get("max_records") is not None
    groups = (pair.groups,) if units else ()
    one, other = pair.both()
    return (*one, *groups), (*other, *groups)


def _moved(fit: FittedNumbers, pair: Neighbours, seeds: int) -> Array:
    """Return the change of the fit from the one data set to the other.

    Both are fitted with the same seeds, so that output noise cancels.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = [
            np.mean([np.ravel(fit(data, seed)) for seed in range(seeds)], axis=0)
            for data in _both(fit.estimator, pair)
        ]
    return np.asarray(ends[1] - ends[0], dtype=np.float64)


def _certificate_epsilon(base: Any, pair: Neighbours, claim: Budget) -> float | None:
    """Return the ε that the certificate of a fit of this size proves at the claimed δ."""
    plan = getattr(base, "plan", None)
    if plan is None:
        return None
    certificate = plan(*pair.x.shape).certificate
    return certificate.epsilon(claim.delta) if isinstance(certificate, Certificate) else None
