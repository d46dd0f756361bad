"""Errors of files and their contents."""


class ModelFileError(ValueError):
    """A model file cannot be written or read."""


class NotDurableFileError(ModelFileError):
    """A file was written, but might not survive a crash of the machine."""


class UnknownObjectError(ValueError):
    """A value cannot be stored, or a file names a class that is not in this library."""


class UntrustedClassError(ValueError):
    """A class outside this library that the caller did not name as trusted."""


NOT_VALID = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
    MemoryError,
)  # fmt: skip
"""Errors that decoding values of the wrong type may raise."""
