r"""The plan of a search: what it costs and what to expect, before any record is read.

**Parallel composition.** Which records are held out follows from n and a public seed. Candidates
are fitted to the other records, and one of them is chosen by its scores on those held out. A
replaced record is in one of the two parts, so the search costs the larger of the two budgets
(`pairdp.privacy.certificates.combined`): both parts get the whole budget. The choice uses the
fitted candidates, which were released.

**Candidates that share a release are free.** If two candidates release the same statistics with the
same noise, and compute their models from them (`Plan.from_release`), the statistics are released
once, and both models are functions of them. All candidates that share a release form a group, and
only groups are paid for: with one group, each model is as good as if it were the only one fitted to
these records.

**Many groups.** A random number of fits, each of a candidate that is drawn at random, costs less
than a fit of each of more than four candidates (`pairdp.privacy.accounting.repeat_and_select`).

**Several groups** share the budget of training. If all noise is Gaussian, each of g groups gets
µ/√g, as Gaussian releases compose; otherwise ε/g and δ/g. What holds for the whole is computed
from all releases again, and a claim that does not hold is an error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from pairdp.algorithms import Plan
from pairdp.algorithms.choice.ranking import choose_ranker
from pairdp.algorithms.repeated_search import budget_of_a_fit, gaussian_mu
from pairdp.algorithms.score_models import model_of
from pairdp.estimators import PrivateEstimator, PrivateRanker
from pairdp.evaluation.selection import ModelSelection, RepeatedChoice
from pairdp.privacy import Budget, Certificate, Unit
from pairdp.privacy.certificates.held_out import HeldOutForSelection
from pairdp.selection.candidates import Candidate
from pairdp.selection.plan import (
    PlannedCandidate,
    SearchPlan,
    combined,
    leaders_of,
    search_of,
)

_MOST_SPLIT = 4
_FITS_PER_CANDIDATE = 3
Method = Literal["auto", "split", "repeat"]


def plan_search(
    candidates: Sequence[Candidate],
    n: int,
    n_features: int | None,
    budget: Budget,
    held_out: HeldOutForSelection,
    share: float,
    method: Method = "auto",
) -> SearchPlan:
    """Return the plan of a search among candidates; see `PrivateSearch`."""
    unit = _unit_of(candidates)
    trained, tested = held_out.sizes(n)
    groups = _groups(candidates, trained, n_features, budget)
    if method == "repeat" or (method == "auto" and max(groups) >= _MOST_SPLIT):
        drawn = _drawn(candidates, n, n_features, budget, held_out, unit)
        if drawn is not None:
            planned, certificate, choice = drawn
            predicted = _predicted(planned, n, budget, unit)
            auto = _auto_model(planned[0], n, n_features, budget)
            return SearchPlan(certificate, planned, choice, held_out, share, predicted, auto)
        if method == "repeat":
            raise ValueError(
                'method="repeat" needs δ > 0 and candidates whose noise is Gaussian, without '
                "sampling"
            )
    selection = ModelSelection(len(candidates)).plan(tested, budget, unit)
    planned, certificate = _within(
        candidates, groups, n, n_features, budget, held_out, selection.certificate
    )
    predicted = _predicted(planned, n, budget, unit)
    auto = _auto_model(planned[0], n, n_features, budget)
    return SearchPlan(certificate, planned, selection, held_out, share, predicted, auto)


def _drawn(
    candidates: Sequence[Candidate],
    n: int,
    n_features: int | None,
    budget: Budget,
    held_out: HeldOutForSelection,
    unit: Unit | None,
) -> tuple[tuple[PlannedCandidate, ...], Certificate, RepeatedChoice] | None:
    """Return a search by repeat-and-select; None if some noise is not Gaussian."""
    if budget.is_pure:
        return None
    trained, tested = held_out.sizes(n)
    mean = _FITS_PER_CANDIDATE * len(candidates)
    part = budget_of_a_fit(held_out, n, budget, unit, mean)
    planned = []
    for place, candidate in enumerate(candidates):
        _with_budget(candidate, part)
        plan = candidate.estimator.plan(trained, candidate.width(n_features))
        if plan.certificate.plan is None or math.isinf(gaussian_mu(plan.certificate)):
            return None
        planned.append(PlannedCandidate(candidate, plan, place))
    search = search_of(planned, mean, held_out)
    choice = RepeatedChoice(tested, search.mechanism(n, budget, unit))
    return tuple(planned), search.certify(n, budget, unit), choice


def _unit_of(candidates: Sequence[Candidate]) -> Unit | None:
    units = {candidate.estimator._unit() for candidate in candidates}
    if len(units) > 1:
        raise ValueError("all candidates must protect the same unit, with the same max_records")
    return next(iter(units))


def _with_budget(candidate: Candidate, budget: Budget) -> Candidate:
    estimator: PrivateEstimator = candidate.estimator
    estimator.set_params(epsilon=budget.epsilon, delta=budget.delta)
    return candidate


def _groups(
    candidates: Sequence[Candidate], n: int, n_features: int | None, budget: Budget
) -> list[int]:
    """Return the group of each candidate: those that share a release are in one.

    Whether they do does not depend on the budget, but for those that choose by it, so that
    groups are checked again with the budget that they get.
    """
    leaders: list[tuple[Candidate, Plan]] = []
    found = []
    for candidate in candidates:
        _with_budget(candidate, budget)
        plan = candidate.estimator.plan(n, candidate.width(n_features))
        for place, (other, shared) in enumerate(leaders):
            if _is_free(candidate, plan, other, shared):
                found.append(place)
                break
        else:
            found.append(len(leaders))
            leaders.append((candidate, plan))
    return found


def _is_free(candidate: Candidate, plan: Plan, other: Candidate, shared: Plan) -> bool:
    """Return whether a candidate's model is a function of what another one releases."""
    return (
        type(candidate.estimator) is type(other.estimator)
        and candidate.features == other.features
        and plan.shares_release(shared.certificate)
        and (_is_same(plan, shared) or plan.algorithm.solves_from_release)
    )


def _is_same(plan: Plan, other: Plan) -> bool:
    """Return whether two plans do the same."""
    # A certificate does not describe an algorithm that cannot be stored, such as one of a module.
    is_described = (plan.certificate.plan or {}).get("algorithm") is not None
    return plan.certificate == other.certificate and (
        is_described or plan.algorithm == other.algorithm
    )


def _within(
    candidates: Sequence[Candidate],
    groups: Sequence[int],
    n: int,
    n_features: int | None,
    budget: Budget,
    held_out: HeldOutForSelection,
    chosen: Certificate,
) -> tuple[tuple[PlannedCandidate, ...], Certificate]:
    """Return the planned candidates and the certificate of the whole search."""
    trained = held_out.sizes(n)[0]
    count = 1 + max(groups)
    ways = [(budget,)] if count == 1 else _splits(budget, count)
    error: ValueError | None = None
    for parts in ways:
        planned = []
        for candidate, group in zip(candidates, groups, strict=True):
            _with_budget(candidate, parts[group])
            plan = candidate.estimator.plan(trained, candidate.width(n_features))
            planned.append(PlannedCandidate(candidate, plan, group))
        _check_groups(planned)
        try:
            certificate = combined(n, leaders_of(planned), chosen, held_out, budget)
        except ValueError as found:  # noise that is not Gaussian
            error = found
            continue
        return tuple(planned), certificate
    raise ValueError(f"the budget cannot be split among the candidates: {error}")


def _splits(budget: Budget, count: int) -> list[tuple[Budget, ...]]:
    """Return the ways to split a budget, that with the least noise first."""
    basic = budget.split(count)
    return [basic] if budget.is_pure else [budget.split(count, composition="gaussian"), basic]


def _check_groups(planned: Sequence[PlannedCandidate]) -> None:
    leaders = leaders_of(planned)
    for each in planned:
        leader = leaders[each.group]
        if not _is_free(each.candidate, each.plan, leader.candidate, leader.plan):
            raise ValueError(
                "with their share of the budget, candidates no longer share a release, as "
                'algorithm="auto" chooses by the budget: name the algorithm'
            )


def _auto_model(planned: PlannedCandidate, n: int, n_features: int | None, budget: Budget) -> str:
    """Return the kind of model that a ranker with default parameters learns from all records.

    A given ``model`` is kept: there may be other reasons for it.
    """
    given = planned.candidate.estimator
    if not isinstance(given, PrivateRanker):
        return model_of(planned.plan)
    default = PrivateRanker(
        budget.epsilon,
        budget.delta,
        model=given.model,
        data_norm=given.data_norm,
        schema=given.schema,
        classes=given.classes,
        unit=given.unit,
        max_records=given.max_records,
    )
    return model_of(default.plan(n, planned.candidate.width(n_features)))


def _predicted(
    planned: Sequence[PlannedCandidate], n: int, budget: Budget, unit: Unit | None
) -> tuple[float, float]:
    """Return the AUC that "auto" is predicted to lose, and a fit with what a candidate gets.

    Both are for the best linear ranker on a typical data set, as `choose_ranker` predicts; noise
    costs other models about as much.
    """
    task = planned[0].plan.task
    whole = choose_ranker(n, task.features, budget, unit=unit)
    each = choose_ranker(task.n, task.features, task.budget, unit=unit)
    return whole.best.error, each.best.error
