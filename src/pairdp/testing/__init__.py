"""Checks that users can run on what they add: losses, before privacy rests on them."""

from pairdp.testing.loss_checker import (
    Check,
    CheckReport,
    LossCheckError,
    check_pairwise_loss,
    check_pointwise_loss,
)

__all__ = ["Check", "CheckReport", "LossCheckError", "check_pairwise_loss", "check_pointwise_loss"]
