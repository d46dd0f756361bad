"""The Parquet files of one table: a single file, or all files of a directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from pairdp.tables.base import TableError

ENDINGS = (".parquet", ".pq")
Part = tuple[dict[str, Any], int]
_MISSING = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class ParquetFiles:
    """Files whose rows are one table.

    Directories such as ``year=2024`` give the column ``year`` to all rows of the files in them. It
    is text whatever the names are: with types that were guessed from all names, one record could
    change how others are read.

    Parameters
    ----------
    path : Path
        A file, or a directory. In a directory, names that begin with a dot or an underscore are
        not read.

    Raises
    ------
    TableError
        If a file cannot be read, has columns or types that differ from those of the first file, or
        if there is none.
    """

    path: Path

    def __post_init__(self) -> None:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            raise TableError(
                "Parquet files need pyarrow: install it with  pip install 'pairdp[tables]'"
            ) from None
        first = self._headers[0]
        for path, header in zip(self.paths[1:], self._headers[1:], strict=True):
            if list(self._partition(path)) != list(self._partition(self.paths[0])):
                raise TableError(f"{path} is not in directories of the same columns as the others")
            if not header.schema.equals(first.schema):
                raise TableError(
                    f"{path} has other columns or types than {self.paths[0]}: one table has one "
                    "schema; convert the files, or read them one by one"
                )
        both = [name for name in self._partition(self.paths[0]) if name in first.schema.names]
        if both:
            raise TableError(
                f"{self.path} has the column {both[0]!r} in the names of directories and in files"
            )

    @cached_property
    def paths(self) -> list[Path]:
        """The files, in order."""
        if not self.path.is_dir():
            return [self.path]
        found = [
            path
            for path in sorted(self.path.rglob("*"))
            if path.suffix.lower() in ENDINGS
            and path.is_file()
            and not any(part.startswith((".", "_")) for part in path.relative_to(self.path).parts)
        ]
        if not found:
            raise TableError(f"{self.path} is a directory without Parquet files")
        return found

    @cached_property
    def _headers(self) -> list[_Header]:
        return [_header(path) for path in self.paths]

    @property
    def names(self) -> list[str]:
        """The columns: those in the files, and those in the names of directories."""
        return [*self._headers[0].schema.names, *self._partition(self.paths[0])]

    @property
    def rows(self) -> int:
        """The number of rows of all files."""
        return sum(int(header.metadata.num_rows) for header in self._headers)

    @property
    def size(self) -> int:
        """The number of bytes of all files."""
        return sum(path.stat().st_size for path in self.paths)

    def _partition(self, path: Path) -> dict[str, str | None]:
        """Return the columns that the names of directories give to the rows of a file."""
        if path == self.path:
            return {}
        found = {}
        for part in path.relative_to(self.path).parts[:-1]:
            name, equals, value = part.partition("=")
            if equals:
                found[unquote(name)] = None if value == _MISSING else unquote(value)
        return found

    def parts(self, size: int, columns: list[str], told: Callable[[int], object]) -> Iterator[Any]:
        """Yield batches of pyarrow with some columns of all rows, at most ``size`` at a time."""
        import pyarrow as pa

        before = 0
        for path, header in zip(self.paths, self._headers, strict=True):
            bytes_of_file, rows = path.stat().st_size, 0
            partition = self._partition(path)
            inside = [name for name in columns if name not in partition]
            for batch in _batches(path, header, size, inside):
                rows += batch.num_rows
                arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
                for name in partition.keys() & set(columns):
                    value = pa.scalar(partition[name], pa.string())
                    arrays[name] = pa.repeat(value, batch.num_rows)
                yield arrays, batch.num_rows
                told(before + bytes_of_file * rows // max(1, int(header.metadata.num_rows)))
            before += bytes_of_file


class _Header(NamedTuple):
    """What a file says of itself; it is closed, since a directory may have thousands."""

    schema: Any
    metadata: Any


def _header(path: Path) -> _Header:
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(path) as file:
            return _Header(file.schema_arrow, file.metadata)
    except (ArrowException, OSError):
        raise TableError(f"{path} is not a readable Parquet file") from None


def _batches(path: Path, header: _Header, size: int, columns: list[str]) -> Iterator[Any]:
    from pyarrow import ArrowException, parquet, types

    texts = [field.name for field in header.schema if types.is_string(field.type)]
    try:
        # Texts come as distinct ones and their codes, in which form most files store them.
        with parquet.ParquetFile(path, metadata=header.metadata, read_dictionary=texts) as coded:
            yield from coded.iter_batches(batch_size=size, columns=columns)
    except (ArrowException, OSError):
        raise TableError(f"{path} cannot be read: it is damaged") from None
