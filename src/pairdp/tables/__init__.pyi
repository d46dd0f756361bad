from .base import Batch as Batch
from .base import Table as Table
from .base import TableError as TableError
from .base import open_table as open_table
from .labels import TwoLabels as TwoLabels
