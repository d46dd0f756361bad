"""What the papers print: the noise of each, to the letter, and tables of it beside certified noise.

Formulas are in one module a paper and are used with ``calibration="printed"`` alone.
`descent_table` and `sgd_table` print the tables; that of streams is `pairdp.online.printed_table`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
