"""Model files: save and load without pickle."""

from pairdp.model_file.files import header_of, load, save
from pairdp.storage import ModelFileError

__all__ = ["ModelFileError", "header_of", "load", "save"]
