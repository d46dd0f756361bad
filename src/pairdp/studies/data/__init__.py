"""The data sets of the papers: found, fetched, and checked to be the right ones."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
