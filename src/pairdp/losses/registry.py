"""Losses by name.

A loss is registered in the module that defines it. Modules of this package are imported when a name
is not known yet; users import their own modules.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TypeVar

from pairdp._checks import did_you_mean, text
from pairdp._discovery import find_registered, import_modules
from pairdp._provenance import is_own
from pairdp.losses.base import Loss
from pairdp.storage.registry import path_of

Named = TypeVar("Named", bound=Loss)
_PACKAGE = "pairdp.losses"
_KINDS = ("RankingLoss", "MetricLoss", "PairMetricLoss", "PointwiseLoss", "PairwiseLoss")
_NAMED: defaultdict[type[Loss], dict[str, Loss]] = defaultdict(dict)


def register_loss(name: str, loss: Named) -> Named:
    """Register a loss under a name, in this process, and return it.

    Parameters
    ----------
    name : str
        Unique among losses of its kind; a ranking, a metric and a pointwise loss may share a name.
    loss : PairwiseLoss or PointwiseLoss
        The loss with its parameters. Its kind is the first of `RankingLoss`, `MetricLoss`,
        `PairMetricLoss`, `PointwiseLoss` and `PairwiseLoss` that it is.

    Raises
    ------
    ValueError
        If a loss of another class has the name.
    """
    kinds = (kind for kind in type(loss).__mro__ if is_own(kind) and kind.__name__ in _KINDS)
    kind = next(kinds, None)
    if kind is None:
        raise TypeError(f"only pairwise and pointwise losses have names, got {loss!r}")
    if not is_own(type(loss)):
        import_modules(_PACKAGE)  # names of the library cannot be replaced
    named = _NAMED[kind]
    known = named.get(text("name", name), loss)
    # A class that is defined again, as in a notebook, replaces the earlier one.
    if path_of(type(known)) != path_of(type(loss)):
        raise ValueError(f"{type(known).__name__} is already registered as {name!r}")
    named[name] = loss
    return loss


def loss_names(kind: type[Loss]) -> list[str]:
    """Return all names of losses of a kind, such as `RankingLoss`; see `register_loss`."""
    import_modules(_PACKAGE)
    return sorted(_NAMED[kind])


def find_loss(name: str, kind: type[Loss]) -> Loss:
    """Return the loss of a kind registered under a name."""
    found = find_registered(_NAMED[kind], name, _PACKAGE)
    if found is None:
        known = loss_names(kind)
        raise ValueError(
            f"loss must be one of {', '.join(known)}, or an object; got {name!r}"
            + did_you_mean(name, known)
        )
    return found
