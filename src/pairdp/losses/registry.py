"""Losses by name.

A loss registers itself in the module that defines it. Modules of this package are imported when a
name is not known yet, those of users by their users.
"""

from __future__ import annotations

from typing import TypeVar

from pairdp._checks import text
from pairdp._discovery import import_modules
from pairdp._provenance import is_own
from pairdp.losses.base import PairwiseLoss
from pairdp.losses.metric import MetricLoss
from pairdp.losses.pointwise import PointwiseLoss
from pairdp.losses.ranking import RankingLoss

Loss = PairwiseLoss | PointwiseLoss
Named = TypeVar("Named", bound=Loss)
_KINDS: tuple[type[Loss], ...] = (RankingLoss, MetricLoss, PointwiseLoss)
_NAMED: dict[tuple[type[Loss], str], Loss] = {}


def register_loss(name: str, loss: Named) -> Named:
    """Make a loss known by a name among those of its kind, in this process, and return it.

    Parameters
    ----------
    name : str
        A ranking, a metric and a pointwise loss may have the same name.
    loss : RankingLoss, MetricLoss or PointwiseLoss
        With its parameters.

    Raises
    ------
    ValueError
        If a loss of another class has the name.
    """
    kind = next((kind for kind in _KINDS if isinstance(loss, kind)), None)
    if kind is None:
        raise TypeError(f"only ranking, metric and pointwise losses have names, got {loss!r}")
    if not is_own(type(loss)):
        import_modules("pairdp.losses")  # a name of the library is taken before it is used
    known = type(_NAMED.get((kind, text("name", name)), loss))
    # A class that is defined again, as in a notebook, replaces itself.
    if (known.__module__, known.__qualname__) != (type(loss).__module__, type(loss).__qualname__):
        raise ValueError(f"{known.__name__} is already registered as {name!r}")
    _NAMED[kind, name] = loss
    return loss


def loss_names(kind: type[Loss]) -> list[str]:
    """Return all names of losses of a kind: `RankingLoss`, `MetricLoss` or `PointwiseLoss`."""
    import_modules("pairdp.losses")
    return sorted(name for of, name in _NAMED if of is kind)


def find_loss(name: str, kind: type[Loss]) -> Loss:
    """Return the loss of a kind that is registered under a name."""
    if (kind, name) not in _NAMED and name not in loss_names(kind):
        raise ValueError(
            f"loss must be one of {', '.join(loss_names(kind))}, or an object; got {name!r}"
        )
    return _NAMED[kind, name]
