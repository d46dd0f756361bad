"""The data sets of the papers: found, fetched, and checked to be the right ones."""

from pairdp.studies.data.catalog import CATALOG, Source
from pairdp.studies.data.loader import DATA_VARIABLE, Dataset, DatasetError, load

__all__ = ["CATALOG", "DATA_VARIABLE", "Dataset", "DatasetError", "Source", "load"]
