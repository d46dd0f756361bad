"""Auditing any function of a data set: run it on two neighbours and distinguish its outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import flag, integer
from pairdp.audit.attacks import Attack, columns, linear, projection, trained
from pairdp.audit.counting import Counts, best_threshold
from pairdp.audit.curves import Curve, best_point, delta_of, points_of
from pairdp.audit.repeated_runs import run_many
from pairdp.audit.report import AuditReport, Evidence, check_confidence
from pairdp.privacy import Budget
from pairdp.privacy.accounting.budget import check_budget
from pairdp.privacy.accounting.gaussian import epsilon as gaussian_epsilon

Array = NDArray[np.float64]
AttackName = Literal["auto", "projection", "linear", "trained", "columns"]
FEWEST = 40
_FEW_COLUMNS = 8


def audit(
    mechanism: Callable[[Any, int], Any],
    one: object,
    other: object,
    budget: Budget,
    *,
    runs: int = 1000,
    confidence: float = 0.9999,
    attack: AttackName | Callable[[Array], Array] = "auto",
    noiseless: tuple[Any, Any] | None = None,
    gaussian: bool = False,
    jobs: int = 1,
    seed: int = 0,
    progress: bool | None = None,
    name: str = "a user's function",
) -> AuditReport:
    """Run a function on two neighbouring data sets and bound its ε from below.

    A quarter of the runs trains attacks, a quarter selects the attack and the threshold, and the
    other half is counted. So the runs that count had no part in the selection.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(data, seed)`` returns what it releases: an array of the same shape for every
        run, such as all models of a stream. All of its randomness must come from the seed, and
        another seed must give independent noise.
    one, other : object
        Two data sets that differ in one record.
    budget : Budget
        The claim.
    runs : int
        Number of runs on each data set. Counting can show an ε of at most about ln(runs/40) at the
        default confidence.
    confidence : float
        The confidence of a violation.
    attack : {"auto", "projection", "linear", "trained", "columns"} or callable
        How outputs are scored. "projection" needs ``noiseless``; "columns" takes the best single
        number; "auto" tries all. A callable takes outputs as rows and returns scores.
    noiseless : tuple of arrays, optional
        The outputs without noise, on the one data set and on the other.
    gaussian : bool
        Whether the claim is that of a Gaussian release. Then the lower bound on its μ counts
        towards the verdict; otherwise it is reported as an estimate. See the documentation of
        audits.
    jobs : int
        Number of processes. The report does not depend on it.
    seed : int
        The seed from which the seeds of runs are derived.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.
    name : str
        The name in the report.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import Budget
    >>> def leaky(data, seed):                      # noise for a quarter of the sensitivity
    ...     return data.mean() + np.random.default_rng(seed).laplace(0, 0.25 * 2 / len(data))
    >>> report = audit(leaky, np.ones(10), np.r_[-1.0, np.ones(9)], Budget(1.0), runs=2000)
    >>> report.verdict
    'violated'
    """
    check_budget(budget)
    check_confidence(confidence)
    flag("gaussian", gaussian)
    integer("runs", runs, at_least=FEWEST)
    here, there = run_many(mechanism, one, other, runs, seed=seed, jobs=jobs, progress=progress)
    if not (np.all(np.isfinite(here)) and np.all(np.isfinite(there))):
        raise ValueError("the mechanism returned infinity: return a large number instead")
    return analyze_runs(
        here,
        there,
        budget,
        confidence=confidence,
        attack=attack,
        noiseless=noiseless,
        gaussian=gaussian,
        name=name,
        notes=(f"{runs} runs on each of two data sets, end to end",),
    )


def analyze_runs(
    here: Array,
    there: Array,
    budget: Budget,
    *,
    confidence: float,
    attack: AttackName | Callable[[Array], Array] | Sequence[Attack] = "auto",
    noiseless: tuple[Any, Any] | None = None,
    gaussian: bool = False,
    curve: Curve | None = None,
    certificate_epsilon: float | None = None,
    name: str = "a user's function",
    notes: tuple[str, ...] = (),
) -> AuditReport:
    """Return the report on outputs of runs on the one data set and on the other; see `audit`."""
    quarter, half = len(here) // 4, len(here) // 2
    attacks = _attacks(attack, here[:quarter], there[:quarter], noiseless)
    choosing = _Scores(attacks, here[quarter:half], there[quarter:half])
    counting = _Scores(attacks, here[half:], there[half:])
    counted = len(here) - half
    # The deciding tests share the allowed error probability.
    error = (1 - confidence) / (1 + gaussian + (curve is not None))
    evidence = []
    for of_gaussian in (False, True):
        chosen = max(
            (
                _Choice(i, sign, *best_threshold(*scores, counted, budget.delta, error,
                                                 gaussian=of_gaussian))
                for i, sign, scores in choosing.signed()
            ),
            key=lambda choice: choice.promised,
        )  # fmt: skip
        evidence.append(
            evidence_of(
                counting.counts(chosen),
                budget,
                error,
                attacks[chosen.attack].name,
                chosen.sign * chosen.threshold,
                of_gaussian,
                gaussian,
            )
        )
    if curve is not None:
        evidence.append(_test_curve(curve, choosing, counting, budget, error))
    return AuditReport(name, budget, certificate_epsilon, confidence, tuple(evidence), notes)


class _Choice(NamedTuple):
    """The index of an attack, the sign of its scores, a threshold, and the bound it promises."""

    attack: int
    sign: float
    threshold: float
    promised: float


class _Scores:
    """Scores of all attacks on some outputs."""

    def __init__(self, attacks: Sequence[Attack], here: Array, there: Array) -> None:
        if not attacks:
            raise ValueError("at least one attack is needed")
        self.attacks = attacks
        self._scores = [(_scores(a, here), _scores(a, there)) for a in attacks]

    def signed(self) -> Iterator[tuple[int, float, tuple[Array, Array]]]:
        """Yield each attack with either sign of its scores."""
        for i, (one, other) in enumerate(self._scores):
            yield i, 1.0, (one, other)
            yield i, -1.0, (-one, -other)

    def counts(self, choice: _Choice) -> Counts:
        """Return the numbers of scores above the threshold."""
        one, other = self._scores[choice.attack]
        wrong, right = (
            int(np.sum(choice.sign * scores > choice.threshold)) for scores in (one, other)
        )
        return Counts(right, other.size, wrong, one.size)


def _test_curve(
    curve: Curve, choosing: _Scores, counting: _Scores, budget: Budget, error: float
) -> Evidence:
    """Test the trade-off of a certificate at its most promising point."""
    points = points_of(curve, budget.epsilon)
    counted = len(counting._scores[0][0])
    found = [
        (i, sign, best_point(points, *scores, counted, error))
        for i, sign, scores in choosing.signed()
    ]
    i, sign, point = max(found, key=lambda each: each[2].promised)
    counts = counting.counts(_Choice(i, sign, point.threshold, point.promised))
    details: dict[str, float | int | str | bool | None] = {
        "hits": counts.hits,
        "runs": counts.runs,
        "false_hits": counts.false_hits,
        "false_runs": counts.false_runs,
        "threshold": sign * point.threshold,
        "at_epsilon": point.epsilon,
        "counted_delta": delta_of(counts, point.epsilon, error),
        "certificate_delta": point.delta,
    }
    return Evidence("curve", 0.0, True, choosing.attacks[i].name, details)


def evidence_of(
    counts: Counts,
    budget: Budget,
    error: float,
    attack: str,
    threshold: float,
    of_gaussian: bool,
    gaussian_decides: bool,
) -> Evidence:
    """Return the lower bound that counts prove, for any release or for Gaussian noise."""
    details: dict[str, float | int | str | bool | None] = {
        "hits": counts.hits,
        "runs": counts.runs,
        "false_hits": counts.false_hits,
        "false_runs": counts.false_runs,
        "threshold": threshold,
    }
    if not of_gaussian:
        epsilon = counts.epsilon(budget.delta, error)
        return Evidence("counts", epsilon, True, attack, details)
    mu = counts.mu(error)
    # For a pure claim there is no Gaussian bound: any μ > 0 would refute it.
    epsilon = gaussian_epsilon(mu, budget.delta) if budget.delta > 0 else 0.0
    decides = gaussian_decides and budget.delta > 0
    return Evidence("gaussian", epsilon, decides, attack, {**details, "mu": mu})


def _scores(attack: Attack, outputs: Array) -> Array:
    """Return the scores of outputs, with infinite ones replaced by the largest floats."""
    scores = np.asarray(attack.score(outputs), dtype=np.float64)
    if scores.shape != (len(outputs),) or np.any(np.isnan(scores)):
        raise ValueError(
            f"an attack must return a score for each of the {len(outputs)} outputs, and no NaN; "
            f"{attack.name} returned shape {scores.shape}"
        )
    return np.nan_to_num(scores)


def _attacks(
    attack: AttackName | Callable[[Array], Array] | Sequence[Attack],
    here: Array,
    there: Array,
    noiseless: tuple[Any, Any] | None,
) -> list[Attack]:
    if isinstance(attack, str):
        return _by_name(attack, here, there, noiseless)
    if callable(attack):
        return [Attack("a user's attack", attack)]
    return list(attack)


def _by_name(
    attack: str, here: Array, there: Array, noiseless: tuple[Any, Any] | None
) -> list[Attack]:
    known = ("auto", "projection", "linear", "trained", "columns")
    if attack not in known:
        raise ValueError(f"attack must be one of {', '.join(known)}, or a function; got {attack!r}")
    if attack == "projection" and noiseless is None:
        raise ValueError('attack="projection" needs noiseless=(one, other)')
    found = []
    if noiseless is not None and attack in ("auto", "projection"):
        ends = [np.ravel(np.asarray(end, dtype=np.float64)) for end in noiseless]
        if any(end.size != here.shape[1] for end in ends):
            raise ValueError(
                f"noiseless outputs must have {here.shape[1]} numbers like those of runs, got "
                f"{ends[0].size} and {ends[1].size}"
            )
        found.append(projection(ends[0], ends[1]))
    width = here.shape[1]
    if attack == "columns" or (attack == "auto" and width <= _FEW_COLUMNS):
        found += columns(width)
    if width > 1 and attack in ("auto", "linear"):
        found.append(linear(here, there))
    if attack == "trained" or (attack == "auto" and width > 1):
        found.append(trained(here, there))
    return found or columns(width)
