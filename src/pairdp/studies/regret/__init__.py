"""Regret of the models of a stream (Huai 2020). It is a statistic of the data: not private."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
