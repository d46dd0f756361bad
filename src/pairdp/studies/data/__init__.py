"""The papers' data sets, loaded from disk or downloaded, and checked against their digests."""

from pairdp.studies.data.catalog import CATALOG, Source
from pairdp.studies.data.loader import DATA_VARIABLE, Dataset, DatasetError, load

__all__ = ["CATALOG", "DATA_VARIABLE", "Dataset", "DatasetError", "Source", "load"]
