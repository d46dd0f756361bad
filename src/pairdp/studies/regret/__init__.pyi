from .regret_bound import RegretBound as RegretBound
from .regret_bound import regret_bound as regret_bound
from .stream_regret import Regret as Regret
from .stream_regret import generalized_regret as generalized_regret
from .stream_regret import regret as regret
