"""The plan of a search: its certificate, what to expect of it, and warnings from public facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pairdp.algorithms import Plan
from pairdp.algorithms.repeated_search import RepeatedSearch
from pairdp.algorithms.score_models import model_of
from pairdp.evaluation.selection import RepeatedChoice, SelectionPlan
from pairdp.privacy import Budget, Certificate
from pairdp.privacy.certificates.combined import combine
from pairdp.privacy.certificates.held_out import SELECTION, TRAINING, HeldOutForSelection
from pairdp.selection.candidates import Candidate

WORTH = 0.005
"""A difference of AUC that is worth a search; a plan warns if searching costs more."""
_ASSUMED = (0.5, 0.25, 0.1)


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
        return combined(self.n, fitted, self.selection.certificate, self.held_out, own.budget)

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


def leaders_of(planned: Sequence[PlannedCandidate]) -> list[PlannedCandidate]:
    """Return the first candidate of each group, whose fit is paid for."""
    first: dict[int, PlannedCandidate] = {}
    for each in planned:
        first.setdefault(each.group, each)
    return [first[group] for group in sorted(first)]


def combined(
    n: int,
    fitted: Sequence[PlannedCandidate],
    chosen: Certificate,
    held_out: HeldOutForSelection,
    budget: Budget | None,
) -> Certificate:
    """Return one certificate for fits of training records and the choice on the others."""
    fits = [(TRAINING, each.plan.certificate) for each in fitted]
    return combine(n, [*fits, (SELECTION, chosen)], held_out, budget=budget)


def search_of(
    planned: Sequence[PlannedCandidate], mean: int, held_out: HeldOutForSelection
) -> RepeatedSearch:
    """Return the search that fits a random number of planned candidates."""
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
    return search_of(planned, mean, held_out).certify(whole.n, whole.budget, whole.unit)
