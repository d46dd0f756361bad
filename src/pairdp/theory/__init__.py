"""The papers' bounds on accuracy, evaluated with their constants; no data and no noise."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
