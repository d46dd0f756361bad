"""Descent in coordinates that private moments make isotropic, on rows or on functions of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
