"""Estimators that people know from scikit-learn and metric-learn, released privately."""

from pairdp.estimators.bounds import Bounds, read_bounds
from pairdp.estimators.fit_warnings import DataNormWarning, NoSignalWarning
from pairdp.estimators.linear import PrivateLinearClassifier, PrivateLinearRegressor
from pairdp.estimators.metric import PrivateMetric
from pairdp.estimators.online_metric import OnlinePrivateMetric
from pairdp.estimators.online_ranker import OnlinePrivateRanker
from pairdp.estimators.ranker import PrivateRanker
from pairdp.estimators.scaler import BoundsScaler
from pairdp.model_file import load, save

__all__ = [
    "Bounds",
    "BoundsScaler",
    "DataNormWarning",
    "NoSignalWarning",
    "OnlinePrivateMetric",
    "OnlinePrivateRanker",
    "PrivateLinearClassifier",
    "PrivateLinearRegressor",
    "PrivateMetric",
    "PrivateRanker",
    "load",
    "read_bounds",
    "save",
]
