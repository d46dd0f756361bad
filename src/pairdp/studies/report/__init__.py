"""The report of studies: one HTML file with plots, tables and certificates, and SVG files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
