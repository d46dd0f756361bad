"""Tables on disk, read batch by batch."""

from pairdp.tables.base import Batch, Table, TableError, open_table

__all__ = ["Batch", "Table", "TableError", "open_table"]
