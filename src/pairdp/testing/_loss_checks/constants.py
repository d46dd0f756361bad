"""The declared constants of a loss, each against the worst that a search finds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from pairdp.losses.base import PairwiseLoss
from pairdp.testing._loss_checks import objectives
from pairdp.testing._loss_checks.objectives import Question
from pairdp.testing._loss_checks.report import Check
from pairdp.testing._loss_checks.search import NOTHING, Found, attack, measure
from pairdp.testing._loss_checks.search_space import Ground, Subject

_COUNTS = (2, 3, 4, 5, 6)


def constant_checks(
    subject: Subject, ground: Ground, rng: np.random.Generator, tolerance: float
) -> Iterator[Check]:
    """Yield a check of each constant on this ground."""
    yield from _Constants(subject, ground, rng, tolerance).checks()


class _Constants:
    """The attack on all constants of one loss on one ground."""

    def __init__(
        self, subject: Subject, ground: Ground, rng: np.random.Generator, tolerance: float
    ) -> None:
        self.subject, self.ground, self.rng, self.tolerance = subject, ground, rng, tolerance

    def checks(self) -> Iterator[Check]:
        """Yield a check of each constant."""
        yield self._sane()
        yield from self._one_parameter()
        if not self.ground.still:
            yield from self._two_parameters()

    def _sane(self) -> Check:
        loss, domain = self.subject.loss, self.ground.domain
        declared = loss.constants(domain)
        numbers = [declared.lipschitz, declared.smoothness, declared.holder.constant]
        numbers += [declared.pair_diameter, declared.record_diameter]
        sane = all(number >= 0 for number in numbers) and 0 <= declared.holder.exponent <= 1
        same = declared.lipschitz == loss.lipschitz(domain)
        same = same and declared.record_diameter == loss.record_diameter(domain)
        same = same and declared.holder == loss.holder(domain)
        return Check("declared constants", sane and same, str(self.ground), example=repr(declared))

    def _one_parameter(self) -> Iterator[Check]:
        loss, domain, places = self.subject.loss, self.ground.domain, self.subject.places
        check, derivative_bound = self._asked(objectives.lipschitz(places), loss.lipschitz(domain))
        yield check
        null, known = objectives.null_diameter(places), []
        if derivative_bound is not NOTHING and (places == 1 or getattr(loss, "symmetric", False)):
            # The steepest pair is the one that a null record moves furthest.
            known = [self._measured(null, derivative_bound, list(range(places)))]
        yield self._asked(null, loss.null_diameter(domain), known)[0]
        moved = objectives.record_diameter(places)
        if not isinstance(loss, PairwiseLoss):
            yield self._asked(moved, loss.record_diameter(domain))[0]
            return
        check, slot = self._asked(objectives.pair_diameter(), loss.pair_diameter(domain))
        yield check
        known = []
        if loss.symmetric and slot is not NOTHING:
            # Both orders have the same gradient, so the worst of one is the worst of both.
            known = [self._measured(moved, slot, [0, 1, 2])]
        averages = [loss.sensitivity(domain, n) for n in _COUNTS]
        check, record = self._asked(moved, loss.record_diameter(domain), known, averages)
        yield check
        for n in _COUNTS:
            yield self._sensitivity(loss, record, n)

    def _sensitivity(self, loss: PairwiseLoss, record: Found, n: int) -> Check:
        """Check that no replaced record moves the average further.

        The average over pairs moves by the mean of what the pairs with each partner move
        by, over n: no more than when all partners are the worst one.
        """
        question, found = objectives.sensitivity(n), NOTHING
        if record is not NOTHING:
            found = self._measured(question, record, [0, *[2] * (n - 1), 1])
        return self._judged(question, loss.sensitivity(self.ground.domain, n), found)

    def _two_parameters(self) -> Iterator[Check]:
        loss, domain, places = self.subject.loss, self.ground.domain, self.subject.places
        averages = []
        if isinstance(loss, PairwiseLoss):
            averages = [loss.risk_smoothness(domain, n) for n in _COUNTS]
        check, pair = self._asked(
            objectives.smoothness(places), loss.smoothness(domain), (), averages
        )
        yield check
        holder = loss.holder(domain)
        question = objectives.holder(places, holder.exponent)
        if holder.exponent == 1 and pair is not NOTHING:
            yield self._judged(question, holder.constant, pair)
        else:
            yield self._asked(question, holder.constant)[0]
        if isinstance(loss, PairwiseLoss):
            for n in _COUNTS:
                yield self._risk(loss, pair, n)

    def _risk(self, loss: PairwiseLoss, pair: Found, n: int) -> Check:
        """Check the smoothness of the average, from copies of the worst pair."""
        question = objectives.risk_smoothness(n)
        declared = loss.risk_smoothness(self.ground.domain, n)
        if pair is NOTHING:
            return self._judged(question, declared, NOTHING)
        starts = [
            self._measured(question, pair, [0] * count + [1] * (n - count)) for count in range(1, n)
        ]
        return self._asked(question, declared, starts)[0]

    def _measured(self, question: Question, at: Found, order: list[int]) -> Found:
        """Return what the records of an example, taken in this order, answer to a question."""
        x, y = at.x[order], at.y[order]
        return measure(self.subject, question, at.parameters, x[None], y[None])

    def _asked(
        self,
        question: Question,
        declared: float,
        known: Sequence[Found] = (),
        averages: Sequence[float] = (),
    ) -> tuple[Check, Found]:
        """Search, from what is known if anything is, and judge.

        Infinity cannot be exceeded, and is not searched for unless averages start from there.
        """
        found = NOTHING
        if any(math.isfinite(number) for number in (declared, *averages)):
            found = attack(self.subject, question, self.ground, self.rng, known)
        return self._judged(question, declared, found), found

    def _judged(self, question: Question, declared: float, found: Found) -> Check:
        passed = found.value <= declared * (1 + self.tolerance)
        where, example = str(self.ground), str(found)
        return Check(question.name, passed, where, declared, found.value, example)
