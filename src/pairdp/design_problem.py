r"""Problems whose average is over the pairs of a design, instead of all pairs.

The design has every record in exactly m pairs and is fixed by public facts (`BlockDesign`), so the
sensitivity of the gradient is D_h/n, as over all pairs: see `pairdp.pairs.design` for the proof.
The risk is only as smooth as one pair, since all pairs of the design may be of the worst kind, and
it is convex, and strongly convex with a regulariser, if the loss of a pair is.
"""

from __future__ import annotations

from dataclasses import dataclass

from pairdp import pairs
from pairdp.losses import Domain
from pairdp.pairs import BlockDesign, Risk
from pairdp.partitioned_records import PartitionedRecords
from pairdp.problem import Problem
from pairdp.records import Records


@dataclass(frozen=True, eq=False)
class DesignProblem(Problem):
    """A pairwise loss over m pairs of each record, a constraint, a regulariser and a data bound.

    Parameters
    ----------
    loss, constraint, regularization, center, data_norm
        As for `Problem`.
    partners : int
        m; even.
    seed : int
        Which pairs; public.

    Examples
    --------
    >>> from pairdp.constraints import PSDFrobeniusBall
    >>> from pairdp.losses import LogisticMetric
    >>> from pairdp.problem import Problem
    >>> all_pairs = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
    >>> some_pairs = DesignProblem(LogisticMetric(), PSDFrobeniusBall(1.0), partners=8)
    >>> some_pairs.sensitivity(1000) == all_pairs.sensitivity(1000)
    True
    """

    partners: int = 16
    seed: int = 0

    def __hash__(self) -> int:
        return super().__hash__()

    def _key(self) -> tuple[object, ...]:
        return (*super()._key(), self.partners, self.seed)

    def design(self, n: int) -> BlockDesign:
        """Return the pairs of n records."""
        return BlockDesign(n, self.partners, self.seed)

    def _risk_smoothness(self, domain: Domain, n: int, design: pairs.PairDesign | None) -> float:
        _no_design(design)
        return self.loss.smoothness(domain)

    def check_parts(self) -> None:
        """Do nothing: records are dealt into blocks, whose pairs are summed, wherever they are."""

    def risk(
        self, records: Records | PartitionedRecords, design: pairs.PairDesign | None = None
    ) -> Risk:
        """Return the average loss over the pairs of the design, without the regulariser."""
        _no_design(design)
        self.check_records(records)
        return pairs.risk(self.loss, records, self.design(records.n))


def _no_design(design: pairs.PairDesign | None) -> None:
    if design is not None:
        raise ValueError("design must be None: the problem has one")
