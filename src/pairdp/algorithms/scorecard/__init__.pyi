from .cells import CategoryCells as CategoryCells
from .cells import Cells as Cells
from .cells import NumberCells as NumberCells
from .scorecard import Scorecard as Scorecard
