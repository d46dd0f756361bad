"""The condition that rows are encoded by a public schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pairdp.algorithms.facts import Condition
from pairdp.privacy import Certificate
from pairdp.problem import Problem
from pairdp.schema import Schema
from pairdp.storage import decode


@dataclass(frozen=True)
class SchemaRows(Condition):
    """Rows are encoded by a public schema, cell by cell, and have norm at most 1.

    Parameters
    ----------
    schema : Schema
        The schema, which a certificate contains in full. The problem must have a data norm of at
        least 1, so that clipping changes no encoded row, and as many features as the schema
        encodes, or one more for a constant feature.
    """

    schema: Schema

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Schema):
            raise TypeError(f"a schema must be a Schema, got {type(self.schema).__name__}")

    @property
    def sentence(self) -> str:
        """What certificates say."""
        columns = len(self.schema.features)
        said = (
            f"Rows are encoded by a public schema of {columns} column{'s'[: columns > 1]} "
            f"(SHA-256 {self.schema.digest[:16]}), cell by cell: each depends on its own record "
            "and on the schema alone, and has norm at most 1."
        )
        if self.schema.classes is not None:
            named = ", ".join(map(repr, self.schema.classes))
            said += f" The classes {named} are those of the schema."
        return said

    def check(self, problem: Problem, features: int) -> None:
        """Raise ValueError if the problem has a smaller data norm or other features."""
        if problem.data_norm < 1:
            raise ValueError(
                "rows that a schema encodes have norm up to 1, and the problem has the data_norm "
                f"{problem.data_norm:g}"
            )
        if features not in (self.schema.width, self.schema.width + 1):
            raise ValueError(
                f"the schema encodes {self.schema.width} features, and the problem has {features}"
            )


def schema_of(certificate: Certificate) -> Schema | None:
    """Return the schema of the plan of a certificate; None if rows are not encoded by one."""
    plan: Any = certificate.to_dict()["plan"] or {}
    for stored in plan.get("conditions", ()):
        if isinstance(stored, dict) and stored.get("object") == SchemaRows.__name__:
            condition = decode(stored)
            return condition.schema if isinstance(condition, SchemaRows) else None
    return None
