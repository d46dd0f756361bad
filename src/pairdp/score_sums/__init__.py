"""Sums of a function of score differences over all pairs, faster than pair by pair.

A `Structure` says what the function is, and brings its sums. Nothing here knows of losses or of
records: there are functions of one variable and arrays of scores.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
