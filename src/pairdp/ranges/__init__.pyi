from .estimation import PrivateRanges as PrivateRanges
from .estimation import WeakRangesWarning as WeakRangesWarning
from .estimation import estimate_bounds as estimate_bounds
from .planning import RangeEstimation as RangeEstimation
from .planning import RangePlan as RangePlan
