"""Learning from a stream of records; every intermediate model is released."""

import lazy_loader

from pairdp.algorithms.registry import search_for_algorithms

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

search_for_algorithms(__name__)
