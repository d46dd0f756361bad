"""Estimators that people know from scikit-learn and metric-learn, released privately."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
