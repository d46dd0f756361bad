"""JSON documents that contain a digest of their content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def canonical(values: Mapping[str, object]) -> str:
    """Return the canonical JSON text of plain values: sorted keys, no spaces, no NaN."""
    return json.dumps(
        values, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False
    )


def digest(values: Mapping[str, object]) -> str:
    """Return the SHA-256 of the canonical text."""
    return hashlib.sha256(canonical(values).encode()).hexdigest()


def seal(values: Mapping[str, object]) -> str:
    """Return readable JSON with a digest of its content."""
    sealed = {**values, "digest": digest(values)}
    return json.dumps(sealed, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def unseal(document: str | bytes) -> dict[str, object]:
    """Return the content of a sealed document.

    Raises
    ------
    ValueError
        If the document is not JSON, is not an object, has a duplicate key, or does not match its
        digest.
    """
    try:
        return _open(document)
    except UnicodeDecodeError as error:
        raise ValueError(f"not a JSON text: {error}") from None
    except RecursionError:
        raise ValueError("not a JSON text: nested too deeply") from None


def _open(document: str | bytes) -> dict[str, object]:
    values = json.loads(document, object_pairs_hook=_unique, parse_constant=_no_constant)
    if not isinstance(values, dict):
        raise ValueError("not a JSON object")
    stated = values.pop("digest", None)
    if stated is None:
        raise ValueError("the digest is missing")
    if stated != digest(values):
        raise ValueError("the content does not match its digest: it was changed or damaged")
    return values


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key occurs twice")
    return values


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a number")


def fields_of(
    what: str, values: object, required: set[str], optional: set[str] | None = None
) -> dict[str, Any]:
    """Return the fields of an object, after checking their names."""
    if not isinstance(values, dict):
        raise ValueError(f"{what} must be a JSON object, got {type(values).__name__}")
    if missing := required - values.keys():
        raise ValueError(f"{what} lacks {', '.join(sorted(missing))}")
    if unknown := values.keys() - required - (optional or set()):
        raise ValueError(f"{what} has unknown fields {', '.join(sorted(unknown))}")
    return values
