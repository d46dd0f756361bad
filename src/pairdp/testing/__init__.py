"""Checks that users can run on what they add: losses, before privacy rests on them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
