"""What goes wrong with files and with what they hold."""


class ModelFileError(ValueError):
    """A model file that cannot be written or read, saying why and what to do."""


class NotDurableFileError(ModelFileError):
    """A file that was written, and might not survive a crash of the machine."""


class UnknownObjectError(ValueError):
    """A value that a file cannot hold, or a name that no class of this library has."""


class UntrustedClassError(ValueError):
    """A class outside this library that the caller did not name as trusted."""


NOT_VALID = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
    MemoryError,
)  # fmt: skip
"""What reading values of the wrong kind may raise."""
