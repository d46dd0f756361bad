"""Where the data sets are: in the environment's directory, or beside the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pairdp.studies.data import DATA_VARIABLE

_BESIDE = Path(__file__).parents[4] / "shared" / "data"
DATA = Path(os.environ.get(DATA_VARIABLE) or _BESIDE)

needs_data = pytest.mark.skipif(
    not (DATA / "diabetes.csv").is_file(),
    reason=f"the data sets are not here: set {DATA_VARIABLE} to their directory",
)
