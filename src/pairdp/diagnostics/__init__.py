"""Diagnostics of a problem on data: influence, stability, curvature. Nothing here is private."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
