"""Loading: tasks that read a block of rows, clip it and code its labels, all in one.

No row leaves the task that read it before it is clipped. What stays on the worker are arrays of
clipped rows and coded labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._reading import label_array, named_labels, read_labels
from pairdp.dask.collections import Blocks
from pairdp.engines.dask_engine import DaskEngine, pickled
from pairdp.engines.failures import Failure, PartError
from pairdp.engines.parts import Part, Parts, array_bytes
from pairdp.estimators.base import PrivateEstimator
from pairdp.estimators.schema_tables import response_of
from pairdp.partitioned_records import PartitionedRecords, RecordArrays, arrays_of
from pairdp.records import RecordFacts, Records
from pairdp.schema import Schema


@dataclass(frozen=True, eq=False)
class BlockReader:
    """Reads one block of rows; public facts alone.

    Attributes
    ----------
    estimator : PrivateEstimator
        An estimator that was not fitted, with the parameters that say how labels are coded.
    schema : Schema or None
        The schema of the columns.
    labels : array or None
        The classes.
    width : int
        Number of columns of the data, or of the encoded rows.
    facts : RecordFacts
        How rows are clipped and what labels are.
    of_tasks : object
        What later tasks need, such as the loss: workers that cannot read it fail while they load
        records, and not after the ledger has paid.
    """

    estimator: PrivateEstimator
    schema: Schema | None
    labels: NDArray[Any] | None
    width: int
    facts: RecordFacts
    of_tasks: Any = None

    def read(self, x: Any, y: Any, number: int) -> Loaded:
        """Return the records of a block, clipped and coded."""
        facts, estimator = self.facts, self.estimator
        if y is not None and len(y) != len(x):
            raise ValueError("a block of X does not have as many rows as that of y has labels")
        if not len(x):
            return self._empty(number)
        if self.schema is not None:
            rows, labels = estimator._table_batch(self.schema, (0, x, y, None), self.labels)
        else:
            if np.ndim(x) != 2 or np.shape(x)[1] != self.width:
                raise ValueError(f"a block does not have {self.width} columns")
            rows, labels = x, estimator._coded(_flat(y), self.labels)
        records = Records(
            estimator._rows(rows, self.width),
            labels,
            data_norm=facts.data_norm,
            binary=facts.binary,
            target_bound=facts.target_bound,
            invalid=estimator._invalid_rows,
        )
        names: tuple[Any, ...] = ()
        if records.keys is not None:
            coded = records.y >= 0
            _, places = np.unique(records.y[coded], return_index=True)
            names = tuple(read_labels(labels)[coded][places].tolist())
        return Loaded(number, arrays_of(records), names)

    def _empty(self, number: int) -> Loaded:
        of_classes = not self.facts.binary and self.facts.target_bound is None
        return Loaded(
            number,
            RecordArrays(
                np.zeros((0, self.facts.features)),
                np.zeros(0),
                np.zeros(0, dtype=np.bool_),
                np.zeros(0, dtype=np.int64) if of_classes else None,
            ),
            (),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Loaded:
    """The number of a block, its records, and the names of its classes in order of their codes."""

    number: int
    arrays: RecordArrays
    names: tuple[Any, ...]

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + array_bytes(self.arrays)


def loaded(engine: DaskEngine, reader: BlockReader, blocks: Blocks) -> PartitionedRecords:
    """Return the records of all blocks, which stay in the memory of the workers.

    The number of records must be that of the facts, which is public; otherwise it is an error that
    does not say how many there are.
    """
    delayed = import_module("dask").delayed
    payload = delayed(pickled(reader))
    read = delayed(_read, pure=False)
    pairs = zip(blocks.rows, blocks.labels, strict=True)
    tasks = [read(x, y, number, payload) for number, (x, y) in enumerate(pairs)]
    futures = engine.client.compute(tasks)
    lengths = engine.results(engine.client.map(_length, futures, pure=False))
    if sum(lengths) != reader.facts.n:
        raise PartError(
            f"the data does not have n = {reader.facts.n} records, which were declared or counted: "
            "the plan is for another number, and nothing was released"
        )
    known: dict[Any, int] = {}
    if not reader.facts.binary and reader.facts.target_bound is None:
        known = _numbered(engine.map_sum(_names, futures))
    handles = engine.map(_placed, futures, [0, *accumulate(lengths)], known)
    return PartitionedRecords(reader.facts, Parts(engine, handles, reader.facts.n))


def counted(engine: DaskEngine, blocks: Blocks) -> int:
    """Return the number of rows, which reads them once."""
    count = import_module("dask").delayed(_count, pure=False)
    futures = engine.client.compute([count(x) for x in blocks.rows])
    return int(engine.map_sum(_same, futures))


def occurring(engine: DaskEngine, blocks: Blocks, schema: Schema | None) -> NDArray[Any]:
    """Return the labels that occur, each once, which reads them once."""
    find = import_module("dask").delayed(_occurring, pure=False)
    payload = import_module("dask").delayed(pickled(schema))
    pairs = zip(blocks.rows, blocks.labels, strict=True)
    futures = engine.client.compute([find(x, y, payload) for x, y in pairs])
    return label_array(list(_numbered(engine.map_sum(_same, futures))))


@dataclass(frozen=True)
class Names:
    """Different names of classes, in the order in which they occur."""

    names: tuple[Any, ...]

    def __add__(self, other: Names) -> Names:
        return Names(tuple(dict.fromkeys((*self.names, *other.names))))


def _numbered(found: Names) -> dict[Any, int]:
    """Return a number for each name, in sorted order if they can be sorted."""
    try:
        return {name: i for i, name in enumerate(sorted(found.names))}
    except TypeError:
        return {name: i for i, name in enumerate(found.names)}


def _flat(y: Any) -> Any:
    if y is None:
        raise ValueError("y is needed: without a schema, nothing says which column is the label")
    return np.ravel(y) if np.ndim(y) == 2 and np.shape(y)[1] == 1 else y


def _read(x: Any, y: Any, number: int, payload: bytes) -> Loaded | Failure:
    try:
        return _reader(payload).read(x, y, number)
    except Exception as error:
        failure = Failure.of(error)
        if failure.message is None:
            return failure
        # Messages number the rows of a block from 0.
        return replace(failure, message=f"in block {number}: {failure.message}")


def _reader(payload: bytes) -> BlockReader:
    try:
        return import_module("cloudpickle").loads(payload)  # type: ignore[no-any-return]
    except Exception as error:
        raise TypeError(
            f"a worker cannot read what its tasks need ({type(error).__name__} when it was "
            "unpickled): install the modules that define the loss and the other parameters on all "
            "workers"
        ) from None


def _length(found: Loaded | Failure) -> int | Failure:
    return found if isinstance(found, Failure) else len(found.arrays.y)


def _names(found: Loaded) -> Names:
    return Names(found.names)


def _placed(found: Loaded, starts: list[int], known: Mapping[Any, int]) -> Part:
    arrays = found.arrays._replace(start=starts[found.number])
    if known and found.names:
        # A name such as (nan,) does not equal itself: all such names are one class.
        other = len(known)
        own = (known.get(name, other) for name in found.names)
        codes = np.array([*own, -1], dtype=np.float64)
        arrays = arrays._replace(y=codes[arrays.y.astype(np.intp)])
    return Part(found.number, len(arrays.y), arrays)


def _count(x: Any) -> int | Failure:
    try:
        return len(x)
    except Exception as error:
        return Failure.of(error)


def _occurring(x: Any, y: Any, payload: bytes) -> Names | Failure:
    try:
        schema = import_module("cloudpickle").loads(payload)
        labels = read_labels(np.ravel(response_of(schema, x, y)))
        named = labels[named_labels(labels)]
        if named.dtype.kind != "O":
            named = np.unique(named)
        return Names(tuple(dict.fromkeys(named.tolist())))
    except Exception as error:
        return Failure.of(error)


def _same(found: Any) -> Any:
    return found
