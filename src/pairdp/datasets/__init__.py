"""The data sets of the papers: found, fetched, and checked to be the right ones."""

from pairdp.datasets.catalog import CATALOG, Source
from pairdp.datasets.loader import DATA_VARIABLE, Dataset, DatasetError, load

__all__ = ["CATALOG", "DATA_VARIABLE", "Dataset", "DatasetError", "Source", "load"]
