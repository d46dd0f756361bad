"""Sums over pairs of records: exact, and in linear time where the loss allows."""

from pairdp._sums import add_up
from pairdp.pairs.design import PairDesign
from pairdp.pairs.ranking import RankingMoments, RankingSums
from pairdp.pairs.risk import ACCURACY, Risk, risk

__all__ = ["ACCURACY", "PairDesign", "RankingMoments", "RankingSums", "Risk", "add_up", "risk"]
