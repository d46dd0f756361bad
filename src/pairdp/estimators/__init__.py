"""Private estimators with the interfaces of scikit-learn and metric-learn."""

import lazy_loader

from pairdp.model_file.registry import search_for_estimators

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

search_for_estimators(__name__)
