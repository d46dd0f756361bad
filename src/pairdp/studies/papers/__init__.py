"""The papers' experiments: one module a study, with a function ``study`` that returns a `Study`."""

import re
from pkgutil import iter_modules
from typing import Final


def _by_year(name: str) -> tuple[str, ...]:
    return (*re.findall(r"\d{4}", name), name)


STUDIES: Final = tuple(
    sorted((m.name.replace("_", "-") for m in iter_modules(__path__)), key=_by_year)
)
"""Names of all studies, which are their modules' names with hyphens, by year."""
