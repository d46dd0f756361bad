"""Model files that may hold any estimator of this library."""

from pairdp._discovery import import_modules
from pairdp.model_file import load as load
from pairdp.model_file import save as save

import_modules("pairdp.estimators")  # they register
