"""Verification: plan again from the facts of a certificate, and recompute by other routes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
