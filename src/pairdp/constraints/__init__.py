"""Constraint sets: where parameters may lie, with exact projections."""

from pairdp.constraints.base import Constraint
from pairdp.constraints.matrices import (
    FrobeniusBall,
    PSDCone,
    PSDFrobeniusBall,
    PSDNuclearBall,
    SymmetricMatrices,
)
from pairdp.constraints.vectors import L2Ball, Unconstrained

__all__ = [
    "Constraint",
    "FrobeniusBall",
    "L2Ball",
    "PSDCone",
    "PSDFrobeniusBall",
    "PSDNuclearBall",
    "SymmetricMatrices",
    "Unconstrained",
]
