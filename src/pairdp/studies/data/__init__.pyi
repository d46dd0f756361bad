from .catalog import CATALOG as CATALOG
from .catalog import Source as Source
from .loader import DATA_VARIABLE as DATA_VARIABLE
from .loader import Dataset as Dataset
from .loader import DatasetError as DatasetError
from .loader import load as load
