"""A user's torch module as data: its class and arguments, or a module that is given as it is."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pairdp._checks import flag
from pairdp.storage import Storable, UnknownObjectError, encode

if TYPE_CHECKING:
    import torch

NEEDS_TORCH = "networks of your own need torch: pip install 'pairdp[torch]'"


def import_torch() -> Any:
    """Return torch; an error that says how to install it."""
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(NEEDS_TORCH, name=error.name) from None
    return torch


@dataclass(frozen=True)
class TorchModule(Storable):
    """A ``torch.nn.Module`` that maps rows of shape (b, d) to scores of shape (b,) or (b, 1).

    Parameters
    ----------
    module : class derived from torch.nn.Module, or an object of one
        A class is called with the number of features, then with ``arguments`` by name; its initial
        weights come from a public seed. Model files store its import path. Of an object, the
        weights are the initial ones, and must be public, and so must its buffers; it is copied, and
        cannot be stored.
    arguments : mapping of str to plain values
        What the class is called with.
    linear : bool
        Whether scores are those of the module plus a linear function of the features, which is
        learned first.
    """

    module: type[torch.nn.Module] | torch.nn.Module
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)
    linear: bool = True

    def __post_init__(self) -> None:
        torch = import_torch()
        is_class = isinstance(self.module, type) and issubclass(self.module, torch.nn.Module)
        if not is_class and not isinstance(self.module, torch.nn.Module):
            raise TypeError(
                f"module must be a torch.nn.Module or a class derived from it, got {self.module!r}"
            )
        if not is_class and self.arguments:
            raise ValueError("a module that is given as an object takes no arguments")
        try:
            encode(dict(self.arguments))
        except (UnknownObjectError, TypeError, ValueError):
            raise TypeError(
                "arguments must be a mapping of names to numbers, strings, booleans, None, and "
                f"lists or dictionaries of these, got {self.arguments!r}"
            ) from None
        flag("linear", self.linear)

    @classmethod
    def of(cls, module: Any) -> TorchModule:
        """Return a module, or a class of modules, as a TorchModule."""
        return module if isinstance(module, TorchModule) else cls(module)

    def make(self, features: int, seed: int) -> torch.nn.Module:
        """Return a new module in double precision, with initial weights from a seed."""
        torch = import_torch()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            if isinstance(self.module, type):
                made = self.module(features, **self.arguments)
            else:
                made = copy.deepcopy(self.module)
        if any(
            isinstance(one, torch.nn.parameter.UninitializedTensorMixin)
            for one in (*made.parameters(), *made.buffers())
        ):
            raise ValueError(
                "the module has lazy layers, whose shapes depend on the first batch: use layers "
                "with a fixed number of inputs"
            )
        return made.double()
