from .files import ModelFileError as ModelFileError
from .files import draft_of as draft_of
from .files import header_of as header_of
from .files import load as load
from .files import save as save
from .registry import stored_in_model_files as stored_in_model_files
