"""Regret of the models of a stream (Huai 2020), a statistic of the data: not private."""

from pairdp.studies.regret.stream_regret import Regret, generalized_regret, regret

__all__ = ["Regret", "generalized_regret", "regret"]
