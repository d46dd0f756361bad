"""Checks of the declared constants of a loss against the worst examples of a search."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from pairdp.losses.base import PairwiseLoss
from pairdp.testing._loss_checks import objectives
from pairdp.testing._loss_checks.objectives import Objective
from pairdp.testing._loss_checks.report import Check
from pairdp.testing._loss_checks.search import NOTHING, Found, maximize, measure
from pairdp.testing._loss_checks.search_space import SearchSpace, Subject

_COUNTS = (2, 3, 4, 5, 6)


def constant_checks(
    subject: Subject, space: SearchSpace, rng: np.random.Generator, tolerance: float
) -> Iterator[Check]:
    """Yield a check of each constant on a search space."""
    yield from _Constants(subject, space, rng, tolerance).checks()


class _Constants:
    """The checks of all constants of one loss on one search space."""

    def __init__(
        self, subject: Subject, space: SearchSpace, rng: np.random.Generator, tolerance: float
    ) -> None:
        self.subject, self.space, self.rng, self.tolerance = subject, space, rng, tolerance

    def checks(self) -> Iterator[Check]:
        """Yield a check of each constant."""
        yield self._sane()
        yield from self._one_parameter()
        if not self.space.is_zero:
            yield from self._two_parameters()

    def _sane(self) -> Check:
        loss, domain = self.subject.loss, self.space.domain
        declared = loss.constants(domain)
        numbers = [declared.lipschitz, declared.smoothness, declared.holder.constant]
        numbers += [declared.pair_diameter, declared.record_diameter]
        sane = all(number >= 0 for number in numbers) and 0 <= declared.holder.exponent <= 1
        same = declared.lipschitz == loss.lipschitz(domain)
        same = same and declared.record_diameter == loss.record_diameter(domain)
        same = same and declared.holder == loss.holder(domain)
        return Check("declared constants", sane and same, str(self.space), example=repr(declared))

    def _one_parameter(self) -> Iterator[Check]:
        loss, domain, arity = self.subject.loss, self.space.domain, self.subject.arity
        check, steepest = self._searched(objectives.lipschitz(arity), loss.lipschitz(domain))
        yield check
        null, known = objectives.null_diameter(arity), []
        if steepest is not NOTHING and (arity == 1 or getattr(loss, "symmetric", False)):
            # A pair with the largest gradient changes most when a record becomes null.
            known = [self._measured(null, steepest, list(range(arity)))]
        yield self._searched(null, loss.null_diameter(domain), known)[0]
        moved = objectives.record_diameter(arity)
        if not isinstance(loss, PairwiseLoss):
            yield self._searched(moved, loss.record_diameter(domain))[0]
            return
        check, slot = self._searched(objectives.pair_diameter(), loss.pair_diameter(domain))
        yield check
        known = []
        if loss.symmetric and slot is not NOTHING:
            # Both orders have the same gradient, so the worst of one is the worst of both.
            known = [self._measured(moved, slot, [0, 1, 2])]
        averages = [loss.sensitivity(domain, n) for n in _COUNTS]
        check, record = self._searched(moved, loss.record_diameter(domain), known, averages)
        yield check
        for n in _COUNTS:
            yield self._sensitivity(loss, record, n)

    def _sensitivity(self, loss: PairwiseLoss, record: Found, n: int) -> Check:
        """Check that no replaced record moves the average further than declared.

        The average over pairs moves by the mean change over all partners, divided by n: at most as
        far as if all partners were the worst one.
        """
        objective, found = objectives.sensitivity(n), NOTHING
        if record is not NOTHING:
            found = self._measured(objective, record, [0, *[2] * (n - 1), 1])
        return self._compared(objective, loss.sensitivity(self.space.domain, n), found)

    def _two_parameters(self) -> Iterator[Check]:
        loss, domain, arity = self.subject.loss, self.space.domain, self.subject.arity
        averages = []
        if isinstance(loss, PairwiseLoss):
            averages = [loss.risk_smoothness(domain, n) for n in _COUNTS]
        check, pair = self._searched(
            objectives.smoothness(arity), loss.smoothness(domain), (), averages
        )
        yield check
        holder = loss.holder(domain)
        objective = objectives.holder(arity, holder.exponent)
        if holder.exponent == 1 and pair is not NOTHING:
            yield self._compared(objective, holder.constant, pair)
        else:
            yield self._searched(objective, holder.constant)[0]
        if isinstance(loss, PairwiseLoss):
            for n in _COUNTS:
                yield self._risk(loss, pair, n)

    def _risk(self, loss: PairwiseLoss, pair: Found, n: int) -> Check:
        """Check the smoothness of the average, from copies of the worst pair."""
        objective = objectives.risk_smoothness(n)
        declared = loss.risk_smoothness(self.space.domain, n)
        if pair is NOTHING:
            return self._compared(objective, declared, NOTHING)
        starts = [
            self._measured(objective, pair, [0] * count + [1] * (n - count))
            for count in range(1, n)
        ]
        return self._searched(objective, declared, starts)[0]

    def _measured(self, objective: Objective, at: Found, order: list[int]) -> Found:
        """Return the value of an objective at the records of an example, in this order."""
        x, y = at.x[order], at.y[order]
        return measure(self.subject, objective, at.parameters, x[None], y[None])

    def _searched(
        self,
        objective: Objective,
        declared: float,
        known: Sequence[Found] = (),
        averages: Sequence[float] = (),
    ) -> tuple[Check, Found]:
        """Search, from known examples if there are any, and compare with the declared constant.

        Infinity cannot be exceeded, so there is no search unless averages need a starting point.
        """
        found = NOTHING
        if any(math.isfinite(number) for number in (declared, *averages)):
            found = maximize(self.subject, objective, self.space, self.rng, known)
        return self._compared(objective, declared, found), found

    def _compared(self, objective: Objective, declared: float, found: Found) -> Check:
        passed = found.value <= declared * (1 + self.tolerance)
        where, example = str(self.space), str(found)
        return Check(objective.name, passed, where, declared, found.value, example)
