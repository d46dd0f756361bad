"""Files without pickle: one container, plain values, and classes that register themselves.

It stands below all that it stores: losses, constraints, problems and algorithms derive from
`Storable`, which is all that they know of it.
"""

from pairdp.storage.codec import decode, encode
from pairdp.storage.container import Arrays, FileKind, format_of
from pairdp.storage.errors import (
    NOT_VALID,
    ModelFileError,
    NotDurableFileError,
    UnknownObjectError,
    UntrustedClassError,
)
from pairdp.storage.registry import Storable
from pairdp.storage.trust import Trusted

__all__ = [
    "NOT_VALID",
    "Arrays",
    "FileKind",
    "ModelFileError",
    "NotDurableFileError",
    "Storable",
    "Trusted",
    "UnknownObjectError",
    "UntrustedClassError",
    "decode",
    "encode",
    "format_of",
]
