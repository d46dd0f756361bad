"""The choice of ``algorithm="auto"``: candidates, compared by predictions from public facts alone.

Each algorithm declares in its own module when it is a candidate, with `register_candidates`. This
package contains the choice, and a typical data set for each kind of model that predictions share.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
