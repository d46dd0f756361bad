"""Files without pickle: one container, plain values, and classes that register themselves.

It stands below all that it stores: losses, constraints, problems and algorithms derive from
`Storable`, which is all that they know of it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
