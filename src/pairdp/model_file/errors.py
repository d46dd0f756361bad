"""What goes wrong with model files."""


class ModelFileError(ValueError):
    """A model file that cannot be written or read, saying why and what to do."""


NOT_VALID = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
)  # fmt: skip
"""What reading values of the wrong kind may raise."""
