"""Model files: save and load without pickle."""

from pairdp.model_file.files import draft_of, header_of, load, save
from pairdp.storage import ModelFileError

__all__ = ["ModelFileError", "draft_of", "header_of", "load", "save"]
