from .base import Constraint as Constraint
from .matrices import FrobeniusBall as FrobeniusBall
from .matrices import PSDCone as PSDCone
from .matrices import PSDFrobeniusBall as PSDFrobeniusBall
from .matrices import PSDNuclearBall as PSDNuclearBall
from .matrices import SymmetricMatrices as SymmetricMatrices
from .vectors import L2Ball as L2Ball
from .vectors import Unconstrained as Unconstrained
