"""Learning from a stream of records, every model of which is released."""

from pairdp.online.descent import ONLINE, ONPAIRC, ONPAIRSTRC, OnlineDescent
from pairdp.online.learner import Learner, OnlineAlgorithm
from pairdp.online.moments import OnlineMoments
from pairdp.online.session import OnlineSession

__all__ = [
    "ONLINE",
    "ONPAIRC",
    "ONPAIRSTRC",
    "Learner",
    "OnlineAlgorithm",
    "OnlineDescent",
    "OnlineMoments",
    "OnlineSession",
]
