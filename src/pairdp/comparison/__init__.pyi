from .records import PublicRecords as PublicRecords
from .records import SyntheticRecords as SyntheticRecords
from .result import Comparison as Comparison
from .result import Score as Score
from .run import compare as compare
