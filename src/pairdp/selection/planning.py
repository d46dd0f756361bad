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
from dataclasses import dataclass
from typing import Literal

from pairdp.algorithms import Plan
from pairdp.algorithms.choice.ranking import choose_ranker
from pairdp.algorithms.repeated_search import RepeatedSearch, budget_of_a_fit, gaussian_mu
from pairdp.algorithms.score_models import model_of
from pairdp.estimators import PrivateEstimator, PrivateRanker
from pairdp.evaluation.selection import ModelSelection, RepeatedChoice, SelectionPlan
from pairdp.privacy import Budget, Certificate, Unit
from pairdp.privacy.certificates.combined import combine
from pairdp.privacy.certificates.held_out import SELECTION, TRAINING, HeldOutForSelection
from pairdp.selection.candidates import Candidate

WORTH = 0.005
"""A difference of AUC that is worth a search; a plan warns if searching costs more."""
_ASSUMED = (0.5, 0.25, 0.1)
_MOST_SPLIT = 4
_FITS_PER_CANDIDATE = 3
Method = Literal["auto", "split", "repeat"]


class SearchWarning(UserWarning):
    """By public facts, a search is expected to lose against one fit with the whole budget."""


@dataclass(frozen=True)
class PlannedCandidate:
    """A candidate with its plan.

    Attributes
    ----------
    candidate : Candidate
        Its estimator has the budget of its group.
    plan : Plan
        What its fit does.
    group : int
        Candidates of one group share a release.
    """

    candidate: Candidate
    plan: Plan
    group: int


@dataclass(frozen=True)
class SearchPlan:
    """A search with all of its noise, before any data is read.

    Attributes
    ----------
    certificate : Certificate
        What is released, and why it is private: one certificate for the whole search.
    candidates : tuple of PlannedCandidate
        The candidates, each with its plan.
    selection : SelectionPlan or RepeatedChoice
        The choice on held-out records.
    held_out : HeldOutForSelection
        Which records are held out.
    share : float
        The assumed share of the second class.
    predicted : tuple of two floats
        The AUC that privacy is predicted to cost on a typical data set: in one fit with the whole
        budget on all records, and in a fit with what a candidate gets.
    auto : str
        The kind of model that "auto" would learn from all records: "linear", "additive" or
        "quadratic".
    """

    certificate: Certificate
    candidates: tuple[PlannedCandidate, ...]
    selection: SelectionPlan | RepeatedChoice
    held_out: HeldOutForSelection
    share: float
    predicted: tuple[float, float]
    auto: str

    @property
    def n(self) -> int:
        """The public number of all records."""
        return self.certificate.n

    @property
    def groups(self) -> int:
        """How many fits are paid for."""
        return 1 + max(planned.group for planned in self.candidates)

    @property
    def method(self) -> str:
        """Whether candidates share a release ("free"), the budget ("split"), or are drawn."""
        if isinstance(self.selection, RepeatedChoice):
            return "repeat"
        return "free" if self.groups == 1 else "split"

    @property
    def cost(self) -> float:
        """The AUC that a search is expected to cost, by public facts: that of its parts.

        They are what fewer records and a smaller budget cost each candidate, compared with one fit
        on all records (on a typical data set), and what the choice loses on average, at most.
        """
        whole, each = self.predicted
        return max(0.0, each - whole) + self.selection.expected_loss(self.share)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the search costs and what to expect of it, one sentence each."""
        models, trained = len(self.candidates), self.n - self.selection.n
        share = f"{self.share:.0%} of the records positive"
        said = [
            (
                f"{models} candidates are fitted to {trained} records, and one is chosen on the "
                f"other {self.selection.n}: a record is used for one of both, so the search costs "
                "the larger of the two budgets"
            )
        ]
        if isinstance(self.selection, RepeatedChoice):
            chosen = self.selection.mechanism
            said.append(
                f"a random number of fits, {chosen.runs.mean} on average, is of candidates that "
                f"are drawn at random; one is never drawn with probability {chosen.missed():.0%}"
            )
        elif self.groups == 1:
            said.append("all candidates are computed from one release, which is paid for once")
        else:
            said.append(f"{self.groups} releases share the budget of training")
        whole, each = self.predicted
        said.append(
            f'one fit by "auto" with the whole budget on all records is predicted to lose '
            f"{whole:.4f} of AUC to noise and sampling, on a typical data set, and one with what a "
            f"candidate gets {each:.4f}"
        )
        said.append(
            f"the choice loses at most {self.selection.expected_loss(self.share):.4f} of AUC on "
            f"average, and at most {self.selection.likely_loss(self.share):.4f} in 9 of 10 runs, "
            f"with {share}"
        )
        return tuple(said)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings from public facts, one sentence each."""
        found = []
        likely = self.selection.likely_loss(self.share)
        if likely > WORTH:
            needed = self.selection.n * likely / WORTH
            found.append(
                f"{self.selection.n} held-out records are too few to tell candidates apart that "
                f"differ by {WORTH:g} of AUC: the choice may lose {likely:.2g} in one of 10 runs; "
                f"about {needed:.0f} would be needed"
            )
        if self.cost > WORTH:
            found.append(
                f"searching is expected to cost about {self.cost:.2g} of AUC, compared with one "
                'fit by algorithm="auto" with the whole budget on all records: search only if the '
                "best candidate may be better by more than that"
            )
        learned = {model_of(each.plan) for each in self.candidates}
        if self.auto not in learned:
            found.append(
                f'by public facts, "auto" would learn a model that is {self.auto}, and all '
                f"candidates are {' or '.join(sorted(learned))}: it is expected to be better than "
                "the best of them"
            )
        return tuple(found)

    def certificate_of(self, place: int) -> Certificate:
        """Return the certificate after a candidate was chosen: its plan is the first of the facts.

        Otherwise it differs from ``certificate`` only in which candidate of a group stands for it;
        all of them have the same releases.
        """
        chosen, own = self.candidates[place], self.certificate
        if isinstance(self.selection, RepeatedChoice):
            others = [each for each in self.candidates if each is not chosen]
            mean = self.selection.mechanism.runs.mean
            return _repeated([chosen, *others], mean, self.held_out, own)
        others = [each for each in leaders_of(self.candidates) if each.group != chosen.group]
        fitted = [chosen, *others]
        return _combined(self.n, fitted, self.selection.certificate, self.held_out, own.budget)

    def __str__(self) -> str:
        budget = self.certificate.budget
        claim = "no privacy" if budget is None else f"ε = {budget.epsilon:g}, δ = {budget.delta:g}"
        lines = [f"Private search for n = {self.n}, {claim}"]
        lines += [f"  {reason}" for reason in self.reasons]
        for place, planned in enumerate(self.candidates):
            lines.append(
                f"  candidate {place}, release {planned.group}: {planned.candidate.params}"
            )
        lines.append(
            "  expected loss of the choice, by the share of positives: "
            + ", ".join(f"{s:.0%}: {self.selection.expected_loss(s):.4f}" for s in _ASSUMED)
        )
        lines += [f"  WARNING: {sentence}" for sentence in self.warnings]
        return "\n".join(lines)


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
    search = _search_of(planned, mean, held_out)
    choice = RepeatedChoice(tested, search.mechanism(n, budget, unit))
    return tuple(planned), search.certify(n, budget, unit), choice


def _search_of(
    planned: Sequence[PlannedCandidate], mean: int, held_out: HeldOutForSelection
) -> RepeatedSearch:
    return RepeatedSearch(
        tuple(each.plan.certificate.to_json() for each in planned), mean, held_out
    )


def _repeated(
    planned: Sequence[PlannedCandidate],
    mean: int,
    held_out: HeldOutForSelection,
    whole: Certificate,
) -> Certificate:
    if whole.budget is None:
        raise ValueError("a search needs a budget")
    return _search_of(planned, mean, held_out).certify(whole.n, whole.budget, whole.unit)


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
        and (plan.certificate == shared.certificate or plan.algorithm.solves_from_release)
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
            certificate = _combined(n, leaders_of(planned), chosen, held_out, budget)
        except ValueError as found:  # noise that is not Gaussian
            error = found
            continue
        return tuple(planned), certificate
    raise ValueError(f"the budget cannot be split among the candidates: {error}")


def _combined(
    n: int,
    fitted: Sequence[PlannedCandidate],
    chosen: Certificate,
    held_out: HeldOutForSelection,
    budget: Budget | None,
) -> Certificate:
    fits = [(TRAINING, each.plan.certificate) for each in fitted]
    return combine(n, [*fits, (SELECTION, chosen)], held_out, budget=budget)


def _splits(budget: Budget, count: int) -> list[tuple[Budget, ...]]:
    """Return the ways to split a budget, that with the least noise first."""
    basic = budget.split(count)
    return [basic] if budget.is_pure else [budget.split(count, composition="gaussian"), basic]


def leaders_of(planned: Sequence[PlannedCandidate]) -> list[PlannedCandidate]:
    """Return the first candidate of each group, whose fit is paid for."""
    first: dict[int, PlannedCandidate] = {}
    for each in planned:
        first.setdefault(each.group, each)
    return [first[group] for group in sorted(first)]


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
