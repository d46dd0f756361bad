from .planning import RangeEstimation as RangeEstimation
from .planning import RangePlan as RangePlan
