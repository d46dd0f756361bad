"""The error of a schema that cannot be used."""

from __future__ import annotations


class SchemaError(ValueError):
    """A schema is wrong. The message says which column, in which line, and what is accepted."""
