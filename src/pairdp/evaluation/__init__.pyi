from .evaluate import HopelessEvaluationWarning as HopelessEvaluationWarning
from .evaluate import evaluate as evaluate
from .evaluate import plan_evaluation as plan_evaluation
from .noisy_auc import Interval as Interval
from .planning import AUCEvaluation as AUCEvaluation
from .planning import EvaluationPlan as EvaluationPlan
from .result import Evaluation as Evaluation
