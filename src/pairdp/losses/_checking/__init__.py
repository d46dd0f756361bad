"""How `pairdp.losses.checker` tries to break a loss."""
