from . import appearances as appearances
from . import dominating_pairs as dominating_pairs
from .pair_composition import PairComposition as PairComposition
