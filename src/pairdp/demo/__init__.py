"""A demonstration on a synthetic table, and the tables of the tutorials."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
