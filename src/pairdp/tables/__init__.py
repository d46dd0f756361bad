"""Tables on disk, read batch by batch."""

from pairdp.tables.base import Batch, Table, TableError, open_table
from pairdp.tables.labels import TwoLabels

__all__ = ["Batch", "Table", "TableError", "TwoLabels", "open_table"]
