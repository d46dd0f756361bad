"""What goes wrong with model files."""


class ModelFileError(ValueError):
    """A model file that cannot be written or read, saying why and what to do."""
