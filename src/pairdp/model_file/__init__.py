"""Model files: save and load without pickle."""

from pairdp.model_file.errors import ModelFileError
from pairdp.model_file.files import header_of, load, save

__all__ = ["ModelFileError", "header_of", "load", "save"]
