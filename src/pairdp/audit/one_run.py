r"""Auditing with one run: many canaries are chosen at random, and the attacker guesses them.

Each of m canaries is a position in the data with two candidate records, one of which is chosen by a
fair coin. After one run the attacker guesses some of the coins. Flipping a coin replaces one
record, so for a pure ε-DP release the odds of a right guess are at most e^ε, given the release and
the other coins: the number of right guesses among r is stochastically dominated by
Binomial(r, e^ε/(1 + e^ε)). For δ > 0 it is dominated by that plus some F ≥ 0 with E F ≤ 2mδ
(Steinke, Nasr and Jagielski 2023, Theorem 5.2). With f(v) the binomial's probability of at least v,

.. math:: P(W ≥ v) ≤ E f(v - F) ≤ f(v) + E F·\max_{i ≥ 1} \frac{f(v-i) - f(v)}{i},

and the ε at which the right-hand side equals the allowed error is a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binom

from pairdp._checks import integer, probability
from pairdp._roots import brentq
from pairdp.audit.report import AuditReport, Evidence, check_confidence
from pairdp.privacy import Budget
from pairdp.privacy.accounting.budget import check_budget

Array = NDArray[np.float64]
_MOST = 100.0
_SHARES = (1.0, 0.5, 0.25, 0.1)


def chance_of_guesses(
    right: int, guesses: int, canaries: int, epsilon: float, delta: float
) -> float:
    """Return an upper bound on the probability of this many right guesses under (ε, δ)-DP.

    Parameters
    ----------
    right, guesses, canaries : int
        v right guesses of r, with m coins.
    epsilon, delta : float
        The claim.
    """
    canaries = integer("canaries", canaries)
    guesses = integer("guesses", guesses, at_most=canaries)
    right = integer("right", right, at_least=0, at_most=guesses)
    share = float(expit(epsilon))
    tail = float(binom.sf(right - 1, guesses, share))
    if delta == 0 or right == 0:
        return min(tail, 1.0)
    i = np.arange(1, right + 1)
    slopes = (binom.sf(right - 1 - i, guesses, share) - tail) / i
    return min(tail + 2 * canaries * delta * float(slopes.max()), 1.0)


def one_run_epsilon(
    right: int, guesses: int, canaries: int, delta: float, confidence: float
) -> float:
    """Return a lower bound on ε from the number of right guesses in one run."""
    error = 1 - check_confidence(confidence)
    delta = probability("delta", delta)

    def excess(epsilon: float) -> float:
        return chance_of_guesses(right, guesses, canaries, epsilon, delta) - error

    if excess(0.0) >= 0:
        return 0.0
    if excess(_MOST) < 0:
        return _MOST
    return max(0.0, float(brentq(excess, 0.0, _MOST, xtol=1e-9)) - 1e-8)


def audit_one_run(
    mechanism: Callable[[NDArray[np.bool_], int], Array],
    canaries: int,
    budget: Budget,
    *,
    score: Callable[[Array], Array],
    confidence: float = 0.9999,
    seed: int = 0,
    name: str = "a user's function",
) -> AuditReport:
    """Audit a release with one run, by guessing the record of each canary.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(coins, seed)`` takes, for every canary, the second of its two records if the
        coin is True and otherwise the first, runs on these data, and returns the release.
    canaries : int
        m, the number of canaries.
    budget : Budget
        The claim.
    score : callable
        Takes the release and returns a score for each canary: positive to guess the second record,
        and larger in absolute value for a more certain guess.
    confidence : float
        The confidence of a violation.
    seed : int
        Seed of the coins and the run.
    name : str
        The name in the report.

    Notes
    -----
    All canaries, and the most certain half, quarter and tenth, are guessed; the four share the
    allowed error.
    """
    check_budget(budget)
    check_confidence(confidence)
    canaries = integer("canaries", canaries)
    integer("seed", seed, at_least=0)
    coins = np.random.default_rng((seed, 1)).random(canaries) < 0.5
    scores = np.asarray(score(mechanism(coins, seed)), dtype=np.float64)
    if scores.shape != (canaries,) or not np.all(np.isfinite(scores)):
        raise ValueError(
            f"score must return a finite number for each of the {canaries} canaries, got shape "
            f"{scores.shape}"
        )
    shared = 1 - (1 - confidence) / len(_SHARES)
    surest = np.argsort(-np.abs(scores), kind="stable")
    evidence = []
    for share in _SHARES:
        guessed = surest[: max(1, math.ceil(share * canaries))]
        right = int(np.sum((scores[guessed] > 0) == coins[guessed]))
        epsilon = one_run_epsilon(right, guessed.size, canaries, budget.delta, shared)
        details: dict[str, Any] = {
            "canaries": canaries,
            "guesses": int(guessed.size),
            "right": right,
        }
        evidence.append(Evidence("one run", epsilon, True, "guessed canaries", details))
    best = max(evidence, key=lambda found: found.epsilon)
    return AuditReport(name, budget, None, confidence, (best,), ("one run, end to end",))
