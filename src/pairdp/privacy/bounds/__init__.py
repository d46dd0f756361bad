"""Named bounds on sensitivities, each with its proof and a second route to its value.

Every module of this package is imported with it, so that its bounds are known by name.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
