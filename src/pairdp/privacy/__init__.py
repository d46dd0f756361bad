"""The privacy core: budgets, mechanisms, composition, noise and certificates.

Everything here is a function of public facts. It does not depend on losses or algorithms, and the
only data-dependent input is the value that a mechanism adds noise to.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
