"""What ``algorithm="auto"`` takes: candidates, predicted from public facts alone.

Each algorithm says in its own module when it is a candidate, with `register_candidates`. This
package has what predictions share, a typical data set for each kind of model, and the choice.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
