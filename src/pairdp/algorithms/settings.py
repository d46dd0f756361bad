"""The numbers that a plan fixes, as a frozen dataclass for each kind of algorithm."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from pairdp.privacy.certificates.certificate import Scalar

if TYPE_CHECKING:
    from typing_extensions import TypeVar
else:
    from typing import TypeVar


@dataclass(frozen=True)
class Settings:
    """The settings of a plan. A subclass has one field for each number or string.

    A field that is None does not apply to the plan, and the certificate does not record it.
    """

    def to_dict(self) -> dict[str, Scalar]:
        """Return the settings by name, as certificates record them."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


if TYPE_CHECKING:
    S = TypeVar("S", bound=Settings, default=Settings, covariant=True)
else:
    S = TypeVar("S")  # defaults of type variables are for type checkers until Python 3.13
