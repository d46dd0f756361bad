"""Private estimators on a Dask cluster, for more records than one machine holds.

They have the parameters of the estimators that they are named after, and ``client``. Rows are
clipped inside the tasks that load them; workers send sums, and noise is drawn once, on the driver.
Needs the extra ``pairdp[dask]``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
