"""The scorecard: an additive model of binned columns, learned from noisy counts and gradients."""

import lazy_loader

from pairdp.algorithms.registry import search_for_algorithms

search_for_algorithms(__name__)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
