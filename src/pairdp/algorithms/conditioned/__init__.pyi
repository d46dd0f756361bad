from .conditioned import ConditionedDescent as ConditionedDescent
from .expanded_scores import ExpandedScores as ExpandedScores
