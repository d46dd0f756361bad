"""The noise formulas of the papers as printed, and tables that compare them with certified noise.

There is one module per paper; its formulas are used only with ``calibration="printed"``.
`descent_table` and `sgd_table` print the tables; the one for streams is
`pairdp.online.printed_table`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
