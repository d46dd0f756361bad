"""Tables with a public schema, divided into records to learn from and records to judge on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.schema.real_tables import FILES, columns
from tests.studies.data.places import DATA

from pairdp import Schema, SchemaEncoder
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.schema import NumberColumn
from pairdp.studies.data import load
from pairdp.studies.data.public_ranges import PUBLIC_RANGES, Range

Array = NDArray[np.float64]
Columns = dict[str, NDArray[Any]]
LABEL = "label"
DELTA = 1e-6
PAPERS = {"diabetes": 512, "retinopathy": 512, "cancer_original": 466, "cancer_wdbc": 380,
          "hepatitis": 103}  # fmt: skip


@dataclass(frozen=True)
class Split:
    """Records to learn from, others to judge on, and the schema that both are read with."""

    name: str
    schema: Schema
    train: Columns
    test: Columns

    @property
    def n(self) -> int:
        """How many records there are to learn from."""
        return len(self.train[str(self.schema.label)])

    @property
    def numbers(self) -> tuple[str, ...]:
        """The names of the columns of numbers."""
        return tuple(c.name for c in self.schema.feature_columns if isinstance(c, NumberColumn))

    @cached_property
    def labels(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether a record is of the class that ranks high, to learn from and to judge on."""
        high = (self.schema.classes or ("",))[-1]
        name = str(self.schema.label)
        return self.train[name] == high, self.test[name] == high

    @cached_property
    def rows(self) -> tuple[Array, Array]:
        """The records in the unit ball, as the schema encodes them."""
        encode = SchemaEncoder(self.schema).transform
        return encode(self.train), encode(self.test)

    def facts(self, epsilon: float) -> dict[str, Any]:
        """Return the public facts that a choice among models may depend on."""
        return {
            "n": self.n,
            "mu": gdp_mu(epsilon, DELTA),
            "width": self.schema.width,
            "columns": len(self.schema.features),
            "numbers": len(self.numbers),
        }


def _some(table: Columns, rows: NDArray[np.int64]) -> Columns:
    return {name: cells[rows] for name, cells in table.items()}


def _cells(texts: list[str], is_number: bool) -> NDArray[Any]:
    if not is_number:
        return np.array(texts, dtype=object)
    return np.array([float(text) if text else np.nan for text in texts])


def mixed_table(name: str, n: int, seed: int) -> Split:
    """Return n records of adult or german to learn from.

    Those of adult are from its training part and judged on all of its test part; those of german
    are drawn from all, and judged on the others.
    """
    schema = Schema.read(FILES / f"{name}.json")
    found = [c.name for c in schema.feature_columns if isinstance(c, NumberColumn)]
    texts = columns(name)
    table = {key: _cells(cells, key in found) for key, cells in texts.items()}
    rng = np.random.default_rng(seed)
    if "part" in table:
        train, test = (np.flatnonzero(table["part"] == part) for part in ("train", "test"))
        train = rng.permutation(train)[:n] if n < len(train) else train
    else:
        order = rng.permutation(len(table[str(schema.label)]))
        train, test = order[:n], order[n:]
    return Split(name, schema, _some(table, train), _some(table, test))


def paper_table(name: str, n: int, seed: int) -> Split:
    """Return n records of a data set of the papers, with ranges from the meaning of features."""
    data, ranges = load(name, DATA), PUBLIC_RANGES[name]
    forms: dict[str, Any] = {key: _form(found) for key, found in ranges.items()}
    schema = Schema.of({**forms, LABEL: {"label": ["no", "yes"]}})
    table: Columns = dict(zip(data.source.columns, data.x.T, strict=True))
    for key, found in ranges.items():
        if found.zero_is_missing:
            table[key] = np.where(table[key] == 0, np.nan, table[key])
    table[LABEL] = np.where(data.y > 0, "yes", "no")
    order = np.random.default_rng(seed).permutation(len(data.y))
    return Split(name, schema, _some(table, order[:n]), _some(table, order[n:]))


def _form(found: Range) -> dict[str, Any]:
    return {"range": [found.lower, found.upper], "missing": found.typical}
