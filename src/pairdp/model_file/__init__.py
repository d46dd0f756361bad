"""Model files: save and load without pickle."""

from pairdp.model_file.errors import ModelFileError
from pairdp.model_file.files import draft_of, header_of, load, save

__all__ = ["ModelFileError", "draft_of", "header_of", "load", "save"]
