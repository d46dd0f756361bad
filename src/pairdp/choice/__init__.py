"""Choosing an algorithm and its hyper-parameters from public facts."""

from pairdp.choice.base import Candidate, Choice
from pairdp.choice.linear import choose_linear
from pairdp.choice.metric import choose_metric
from pairdp.choice.ranking import choose_ranker
from pairdp.choice.regularization import balanced_regularization

__all__ = [
    "Candidate",
    "Choice",
    "balanced_regularization",
    "choose_linear",
    "choose_metric",
    "choose_ranker",
]
