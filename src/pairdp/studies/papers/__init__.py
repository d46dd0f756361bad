"""The papers' experiments: one module a paper, with a function ``study`` that returns a `Study`."""

from pkgutil import iter_modules
from typing import Final

STUDIES: Final = tuple(sorted((m.name for m in iter_modules(__path__)), key=lambda m: (m[-4:], m)))
"""Names of all studies, which are their modules' names, by year."""
