"""Algorithms and losses that parameters specify by name or as objects."""

from __future__ import annotations

from pairdp.algorithms import Algorithm, find_algorithm
from pairdp.losses import Loss, find_loss, loss_names


def algorithm_of(algorithm: str | Algorithm) -> Algorithm | None:
    """Return the algorithm that a parameter specifies, None for "auto"."""
    if isinstance(algorithm, Algorithm):
        return algorithm
    if algorithm == "auto":
        return None
    if isinstance(algorithm, str):
        try:
            return find_algorithm(algorithm)
        except ValueError as error:
            raise ValueError(f'algorithm must be "auto" or a known name: {error}') from None
    raise TypeError(f'algorithm must be "auto", a name or an Algorithm, got {algorithm!r}')


def loss_of(loss: str | Loss | None, kind: type[Loss]) -> Loss | None:
    """Return the loss that a parameter specifies, None if it specifies none."""
    if loss is None or isinstance(loss, kind):
        return loss
    if isinstance(loss, str):
        return find_loss(loss, kind)
    raise TypeError(
        f"loss must be None, one of {', '.join(loss_names(kind))}, or a {kind.__name__}, "
        f"got {loss!r}"
    )
