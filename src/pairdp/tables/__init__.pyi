from .base import Batch as Batch
from .base import Cells as Cells
from .base import Table as Table
from .base import TableError as TableError
from .labels import TwoLabels as TwoLabels
from .opening import open_table as open_table
from .text_format import TextFormat as TextFormat
