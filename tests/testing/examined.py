"""Losses examined with few draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pairdp.losses import (
    Domain,
    PairwiseLoss,
)
from pairdp.testing.loss_checker import (
    CheckReport,
    check_pairwise_loss,
    check_pointwise_loss,
)

BALL = [Domain(1.0, 1.0)]
CONE = [Domain(1.0, 1.0, positive_semidefinite=True)]


def examine(loss: Any, domains: list[Domain] | None = None, **options: Any) -> CheckReport:
    check: Callable[..., CheckReport] = check_pointwise_loss
    if isinstance(loss, PairwiseLoss):
        check = check_pairwise_loss
        domains = domains or (CONE if loss.matrix else BALL)
    options.setdefault("features", (2,))
    return check(loss, domains=domains or BALL, raise_on_failure=False, **options)
