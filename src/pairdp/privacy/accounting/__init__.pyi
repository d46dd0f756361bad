from .pair_composition import PairComposition as PairComposition
