"""The papers' data sets, loaded from disk or downloaded, and checked against their digests."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
