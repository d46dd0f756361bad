"""Model files, which may hold any estimator of this library."""

from pairdp.model_file import load as load
from pairdp.model_file import load_steps as load_steps
from pairdp.model_file import save as save
