"""Where the features of each column are in an encoded row, and how they are scaled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pairdp.schema.cells import Array, MissingValues
from pairdp.schema.features import FeatureColumn, Mask
from pairdp.schema.flag_column import FlagColumn
from pairdp.schema.names import Name


@dataclass(frozen=True)
class Place:
    """The features of one column.

    Attributes
    ----------
    column : FeatureColumn
        The column.
    part : slice
        Their places in a row.
    factor : float
        What the block of the column is multiplied by; see `shares`.
    is_sparse_flag : bool
        Whether it is a flag that is encoded as 0 and 1.
    missing : MissingValues
        Which of its cells are missing.
    """

    column: FeatureColumn
    part: slice
    factor: float
    is_sparse_flag: bool
    missing: MissingValues


@dataclass(frozen=True, eq=False)
class Layout:
    """The features of all columns.

    Attributes
    ----------
    places : tuple of Place
        Those of each column, in order.
    flags : array of bool
        Which features are of sparse flags.
    flag_norm : float
        The norm that these are clipped to.
    """

    places: tuple[Place, ...]
    flags: Mask
    flag_norm: float

    @staticmethod
    def of(
        columns: Sequence[FeatureColumn], sparse: int | None, missing_values: tuple[Name, ...]
    ) -> Layout:
        """Return the layout of columns of a schema."""
        factors, flag_norm = shares(columns, sparse)
        places: list[Place] = []
        end = 0
        for column, factor in zip(columns, factors, strict=True):
            part = slice(end, end := end + len(column.feature_names))
            is_sparse_flag = sparse is not None and isinstance(column, FlagColumn)
            missing = MissingValues((*missing_values, *column.missing_values))
            places.append(Place(column, part, factor, is_sparse_flag, missing))
        flags = np.zeros(end, dtype=np.bool_)
        for place in places:
            flags[place.part] = place.is_sparse_flag
        return Layout(tuple(places), flags, flag_norm)


def shares(columns: Sequence[FeatureColumn], sparse: int | None) -> tuple[Array, float]:
    r"""Return the factor of each column, and the norm that sparse flags are clipped to.

    A column c has a block :math:`b_c` of norm at most 1 and a weight :math:`w_c`. Without sparse
    flags the row is :math:`(w_c b_c)_c / \sqrt{W}` with :math:`W = \sum_c w_c^2`, so

    .. math:: |row|^2 = \sum_c w_c^2 |b_c|^2 / W \le 1.

    If at most k flags are yes in a usual record, they are encoded as 0 and 1, and the part
    :math:`f = (w_c b_c)_c` of the flags is clipped to norm :math:`\sqrt{F}`, where F is the smaller
    of :math:`k \max_c w_c^2` and :math:`\sum_c w_c^2` over flags. With
    :math:`W = F + \sum_c w_c^2` over the other columns, the norm is again at most 1, for every
    record, whatever it contains.
    """
    weights = np.array([column.weight for column in columns])
    flags = np.array([sparse is not None and isinstance(c, FlagColumn) for c in columns], bool)
    squares = weights**2
    of_flags = float(squares[flags].sum())
    if flags.any() and sparse is not None:
        of_flags = min(of_flags, sparse * float(squares[flags].max()))
    total = math.sqrt(float(squares[~flags].sum()) + of_flags)
    return weights / total, math.sqrt(of_flags) / total
