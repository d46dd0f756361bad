"""Files without pickle: one container format, JSON values, and a registry of classes.

This package does not import what it stores: losses, constraints, problems and algorithms derive
from `Storable`, and use nothing else of it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
