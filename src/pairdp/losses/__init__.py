"""Losses over pairs (and over single records), each with its certified constants."""

from pairdp.losses.base import Constants, Holder, PairwiseLoss
from pairdp.losses.domain import Domain
from pairdp.losses.hinge_metric import HingeMetric
from pairdp.losses.hinge_pointwise import HingePointwise
from pairdp.losses.hinge_ranking import HingeRanking
from pairdp.losses.least_squares_pointwise import LeastSquaresPointwise
from pairdp.losses.least_squares_ranking import LeastSquaresRanking
from pairdp.losses.logistic_metric import LogisticMetric
from pairdp.losses.logistic_pointwise import LogisticPointwise
from pairdp.losses.logistic_ranking import LogisticRanking
from pairdp.losses.metric import MetricLoss
from pairdp.losses.pointwise import PointwiseLoss
from pairdp.losses.power_hinge_ranking import PowerHingeRanking, SquaredHingeRanking
from pairdp.losses.ranking import RankingLoss
from pairdp.losses.registry import find_loss, loss_names, register_loss
from pairdp.losses.sigmoid_ranking import SigmoidRanking
from pairdp.score_sums.all_pairs import AllPairs
from pairdp.score_sums.analytic import Analytic
from pairdp.score_sums.base import ScoreSums, Structure
from pairdp.score_sums.quadratic import Quadratic
from pairdp.score_sums.truncated_powers import TruncatedPowers

__all__ = [
    "AllPairs",
    "Analytic",
    "Constants",
    "Domain",
    "HingeMetric",
    "HingePointwise",
    "HingeRanking",
    "Holder",
    "LeastSquaresPointwise",
    "LeastSquaresRanking",
    "LogisticMetric",
    "LogisticPointwise",
    "LogisticRanking",
    "MetricLoss",
    "PairwiseLoss",
    "PointwiseLoss",
    "PowerHingeRanking",
    "Quadratic",
    "RankingLoss",
    "ScoreSums",
    "SigmoidRanking",
    "SquaredHingeRanking",
    "Structure",
    "TruncatedPowers",
    "find_loss",
    "loss_names",
    "register_loss",
]
