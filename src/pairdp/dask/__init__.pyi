from .estimators import DaskPrivateLinearClassifier as DaskPrivateLinearClassifier
from .estimators import DaskPrivateMetric as DaskPrivateMetric
from .estimators import DaskPrivateRanker as DaskPrivateRanker
from .estimators import DaskPrivateScorecard as DaskPrivateScorecard
