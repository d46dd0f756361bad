from .base import Engine as Engine
from .base import in_pairs as in_pairs
from .dask_engine import DaskEngine as DaskEngine
from .failures import PartError as PartError
from .local import InProcess as InProcess
from .local import Threads as Threads
from .parts import Parts as Parts
