from .base import ACCURACY as ACCURACY
from .base import Risk as Risk
from .blocked import add_up as add_up
from .design import PairDesign as PairDesign
from .one_record import one_against as one_against
from .ranking import RankingMoments as RankingMoments
from .ranking import RankingSums as RankingSums
from .risk import risk as risk
