from .base import Candidate as Candidate
from .base import Choice as Choice
from .linear import choose_linear as choose_linear
from .metric import choose_metric as choose_metric
from .ranking import choose_ranker as choose_ranker
from .regularization import balanced_regularization as balanced_regularization
