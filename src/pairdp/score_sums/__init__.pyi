from .all_pairs import AllPairs as AllPairs
from .analytic import Analytic as Analytic
from .base import Moments as Moments
from .base import ScoreSums as ScoreSums
from .base import Structure as Structure
from .quadratic import Quadratic as Quadratic
from .truncated_powers import TruncatedPowers as TruncatedPowers
