"""Fast sums of a function of score differences over all pairs.

A `Structure` describes the function and provides its sums. This package is independent of losses
and records: it works with functions of one variable and arrays of scores.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
