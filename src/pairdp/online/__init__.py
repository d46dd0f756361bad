"""Learning from a stream of records, every model of which is released."""

from pairdp.online.descent import ONPAIRC, ONPAIRSTRC, OnlineDescent
from pairdp.online.learner import Learner, OnlineAlgorithm
from pairdp.online.moments import OnlineMoments
from pairdp.online.session import OnlineSession

__all__ = [
    "ONPAIRC",
    "ONPAIRSTRC",
    "Learner",
    "OnlineAlgorithm",
    "OnlineDescent",
    "OnlineMoments",
    "OnlineSession",
]
