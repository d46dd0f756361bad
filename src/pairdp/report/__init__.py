"""What a fitted model is: its card for notebooks, and the report for the person who signs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
