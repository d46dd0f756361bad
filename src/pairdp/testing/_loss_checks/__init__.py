"""How `pairdp.testing.loss_checker` tries to break a loss."""
