"""The privacy core: budgets, mechanisms, composition, noise and certificates.

Everything here is a function of public facts. It knows nothing of losses or
algorithms, and never sees a record except as the value that a mechanism adds noise to.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
