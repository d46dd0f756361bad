from .descent import ONPAIRC as ONPAIRC
from .descent import ONPAIRGRADIENT as ONPAIRGRADIENT
from .descent import ONPAIRSTRC as ONPAIRSTRC
from .descent import OnlineDescent as OnlineDescent
from .learner import Learner as Learner
from .learner import OnlineAlgorithm as OnlineAlgorithm
from .moments import OnlineMoments as OnlineMoments
from .session import OnlineSession as OnlineSession
