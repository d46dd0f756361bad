"""Private selection: the best of several candidates, for one budget and with one certificate."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
