"""The columns of the data that a model was fitted to, and what is public about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline

from pairdp.schema import Schema
from pairdp.schema.columns import Column, IdentifierColumn, IgnoredColumn, ResponseColumn


class ColumnFact(NamedTuple):
    """A column: its name, its public bounds or kind in words, and what it is used as."""

    name: str
    words: str
    role: str = "feature"


def last_step(model: Any) -> Any:
    """Return the last step of a pipeline, or the model itself."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def columns_of(model: Any) -> tuple[ColumnFact, ...]:
    """Return the columns by the schema of a model, or by the public bounds that scale them."""
    schema: Schema | None = getattr(last_step(model), "schema_", None)
    if schema is not None:
        return (*map(_described, schema.columns), *_options(schema))
    steps = [step for _, step in model.steps[:-1]] if isinstance(model, Pipeline) else []
    return tuple(fact for step in steps for fact in _of_step(step))


def _of_step(step: Any) -> Iterator[ColumnFact]:
    """Yield the columns of an encoder with a schema, or of a scaler with public bounds."""
    if isinstance(schema := getattr(step, "schema_", None), Schema):
        yield from map(_described, schema.columns)
        return
    names = getattr(step, "feature_names_in_", None)
    if names is not None and hasattr(step, "half_width_"):
        low, high = step.center_ - step.half_width_, step.center_ + step.half_width_
        for name, *ends in zip(names, low, high, strict=True):
            yield ColumnFact(str(name), f"{ends[0]:g} to {ends[1]:g}")


def _described(column: Column) -> ColumnFact:
    return ColumnFact(column.name, short_words(column.form()), _role(column))


def _role(column: Column) -> str:
    match column:
        case ResponseColumn():
            return "label"
        case IdentifierColumn():
            return "identifier"
        case IgnoredColumn():
            return "not used"
    return "feature"


def _options(schema: Schema) -> Iterator[ColumnFact]:
    """Yield the options of a schema that differ from their defaults."""
    for name, words in schema.to_dict().items():
        if name.startswith("$") and name != "$columns":
            yield ColumnFact(name, short_words(words), "option of the schema")


def _named(form: dict[Any, Any]) -> Iterator[str]:
    for name, fact in form.items():
        yield (
            short_words(fact)
            if name in ("range", "categories", "target")
            else (f"{name} {short_words(fact)}")
        )


def short_words(form: Any) -> str:
    """Return the short form of a column in words."""
    match form:
        case str():
            return form
        case [float() | int() as low, float() | int() as high]:
            return f"{low:g} to {high:g}"
        case list() | tuple():
            return ", ".join(f'"{fact}"' if "," in str(fact) else str(fact) for fact in form)
        case {"date": [first, last], **more}:
            return "; ".join([f"{first} to {last}", *_named(more)])
        case dict():
            return "; ".join(_named(form))
        case bool():
            return "yes" if form else "no"
    return str(form)
