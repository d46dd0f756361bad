"""Losses whose steps are compiled."""

from __future__ import annotations

from typing import Any

from pairdp.losses import (
    HingePointwise,
    HingeRanking,
    LeastSquaresPointwise,
    LeastSquaresRanking,
    LogisticPointwise,
    LogisticRanking,
    PowerHingeRanking,
    RankingLoss,
    SigmoidRanking,
    SquaredHingeRanking,
)

RANKING: dict[str, RankingLoss] = {
    "logistic": LogisticRanking(),
    "logistic, one-sided": LogisticRanking(form="one-sided", temperature=0.5),
    "hinge": HingeRanking(),
    "hinge, rounded": HingeRanking(width=0.5, form="one-sided"),
    "hinge, wide": HingeRanking(width=3.0, temperature=2.0),
    "squared hinge": SquaredHingeRanking(),
    "power hinge": PowerHingeRanking(power=1.3),
    "power hinge, 2": PowerHingeRanking(power=2.0, form="one-sided"),
    "least squares": LeastSquaresRanking(),
    "least squares, one-sided": LeastSquaresRanking(form="one-sided"),
    "sigmoid": SigmoidRanking(temperature=0.5),
}
POINTWISE: dict[str, Any] = {
    "logistic, one record": LogisticPointwise(temperature=0.7),
    "hinge, one record": HingePointwise(),
    "rounded hinge, one record": HingePointwise(width=0.4),
    "least squares, one record": LeastSquaresPointwise(label_bound=2.0),
}
LOSSES = RANKING | POINTWISE
