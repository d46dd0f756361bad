"""What goes wrong with model files."""


class ModelFileError(ValueError):
    """A model file that cannot be written or read, saying why and what to do."""


class NotDurableFileError(ModelFileError):
    """A file that was written, and might not survive a crash of the machine."""


NOT_VALID = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
    MemoryError,
)  # fmt: skip
"""What reading values of the wrong kind may raise."""
