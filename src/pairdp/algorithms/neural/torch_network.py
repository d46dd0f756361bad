r"""A user's torch module as a `ScoreNetwork`, one record at a time by construction.

.. math:: s(x) = a^T x + b + f(θ, x)

``torch.func.vmap`` maps a function of *one* row, which calls the module with a batch of one. So a
score and its gradient are functions of one record, whatever the module does: it sees no other
record, and vmap raises an error for random numbers, and for branches and shapes that depend on
values, whatever these are. Tied weights are one parameter, and their gradients add up.

The module is in double precision. The rounding of a gradient is part of what is clipped, as for any
function of one record; norms are sums of at most `LARGEST_SIZE` squares in double precision, of
relative accuracy 10⁷·2⁻⁵³/2 < 10⁻⁹, and sums over records are those of `pairdp._sums`. A record
whose score or gradient is not finite has the score 0 and the gradient 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import BLOCK
from pairdp.algorithms.neural.score_network import Weights
from pairdp.algorithms.neural.torch_module import TorchModule, import_torch

if TYPE_CHECKING:
    import torch

Array = NDArray[np.float64]
LARGEST_SIZE = 10**7
"""The largest number of parameters."""
_BLOCK_NUMBERS = 2**22
"""About as many numbers of gradients are in memory."""
_PUBLIC_ROWS = 256


class ModuleFailedError(RuntimeError):
    """A module that passed all checks raised an error on records."""


class Gradients(NamedTuple):
    """What one pass over a block of rows computes.

    Attributes
    ----------
    scores : array of shape (n,)
        The scores, 0 where they or the gradients are not finite.
    parts : list of arrays of shape (n, size)
        The gradients in each parameter of the module, 0 in the same places.
    squares : array of shape (n,)
        The squared norms of the gradients, without those of the linear part.
    """

    scores: Array
    parts: list[Array]
    squares: Array


@dataclass(frozen=True, eq=False)
class TorchNetwork:
    """A module for rows of so many features.

    Parameters
    ----------
    source : TorchModule
        What the module is made from.
    features : int
        Number of features of a row.
    seed : int
        The public seed of the initial weights, also of those that are fixed.
    fixed : array, optional
        The parameters that are not trained, and the buffers, as one vector; by default, those of
        the new module.
    """

    source: TorchModule
    features: int
    seed: int = 0
    fixed: Array | None = None

    @cached_property
    def module(self) -> torch.nn.Module:
        """The module; its trained parameters are replaced in every call."""
        made = self.source.make(self.features, self.seed)
        if self.fixed is not None:
            _set_numbers(_fixed(made), self.fixed)
        return made

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters that are trained; a tied one is there once."""
        return tuple(name for name, one in self.module.named_parameters() if one.requires_grad)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Their shapes."""
        trained = dict(self.module.named_parameters())
        return tuple(tuple(trained[name].shape) for name in self.names)

    @property
    def size(self) -> int:
        """Number of parameters, with those of the linear part."""
        return sum(math.prod(shape) for shape in self.shapes) + self._linear_size

    @property
    def _linear_size(self) -> int:
        return self.features + 1 if self.source.linear else 0

    @property
    def linear(self) -> slice:
        """The places of the linear part, which come last; empty if there is none."""
        return slice(self.size - self._linear_size, self.size)

    @property
    def block(self) -> int:
        """The number of rows of a block."""
        return max(1, min(BLOCK, _BLOCK_NUMBERS // max(self.size, 1)))

    @cached_property
    def _fixed_tensors(self) -> dict[str, torch.Tensor]:
        parameters = self.module.named_parameters()
        fixed = {name: one for name, one in parameters if not one.requires_grad}
        return {**fixed, **dict(self.module.named_buffers())}

    @property
    def fixed_numbers(self) -> Array:
        """The parameters that are not trained, and the buffers."""
        return _numbers(_fixed(self.module))

    def initial(self, seed: int) -> Array:
        """Return the weights of a new module, and zeros for the linear part."""
        made = dict(self.source.make(self.features, seed).named_parameters())
        weights = _numbers([made[name] for name in self.names])
        return np.concatenate([weights, np.zeros(self._linear_size)])

    def typical_norm(self, seed: int) -> float:
        """Return the median norm of gradients for public normal rows, to two digits.

        Two digits are the same on all machines, so that a plan can be made again.
        """
        generator = np.random.default_rng([seed, 1])
        count = min(_PUBLIC_ROWS, 8 * self.block)
        rows = generator.normal(size=(count, self.features)) / math.sqrt(self.features)
        found: list[Array] = []

        def keep_norms(scores: Array, norms: Array) -> Array:
            found.append(norms)
            return np.zeros_like(scores)

        for start in range(0, count, self.block):
            self.gradient_sum(self.initial(seed), rows[start : start + self.block], keep_norms)
        return float(f"{np.median(np.concatenate(found)):.2g}")

    def scores(self, parameters: Array, rows: Array) -> Array:
        """Return the scores of rows; 0 where a score is not finite."""
        with import_torch().no_grad():
            found = self._mapped(self._score, parameters, rows)
        return self._with_linear(_array(found), parameters, rows)

    def gradient_sum(
        self, parameters: Array, rows: Array, weights: Weights, *, only_linear: bool = False
    ) -> Array:
        """Return Σ weight·gradient over rows; see `ScoreNetwork`."""
        total = np.zeros(self.size)
        linear = np.einsum("ij,ij->i", rows, rows) + 1 if self.source.linear else 0.0
        if only_linear:
            found = Gradients(self.scores(parameters, rows), [], np.zeros(len(rows)))
        else:
            found = self.gradients(parameters, rows)
        weight = weights(found.scores, np.sqrt(found.squares + linear))
        start = 0
        for part in found.parts:
            stop = start + part.shape[1]
            total[start:stop] = weight @ part
            start = stop
        if self.source.linear:
            total[self.linear] = np.append(weight @ rows, weight.sum())
        return total

    def gradients(self, parameters: Array, rows: Array) -> Gradients:
        """Return the gradients of the scores of rows in the parameters of the module."""
        one = import_torch().func.grad_and_value(self._score)
        found, scores = self._mapped(one, parameters, rows)
        parts = [_array(found[name]).reshape(len(rows), -1) for name in self.names]
        squares, plain = np.zeros(len(rows)), _array(scores)
        with np.errstate(all="ignore"):  # no warning depends on rows
            for part in parts:
                squares += np.einsum("ij,ij->i", part, part)
        wrong = ~(np.isfinite(squares) & np.isfinite(plain))
        if wrong.any():
            parts = [np.where(wrong[:, None], 0.0, part) for part in parts]
        values = self._with_linear(np.where(wrong, 0.0, plain), parameters, rows)
        return Gradients(values, parts, np.where(wrong, 0.0, squares))

    def _mapped(self, function: Callable[..., Any], parameters: Array, rows: Array) -> Any:
        """Return a function of one row, for each row; an error says nothing of the rows."""
        torch = import_torch()
        given = self._tensors(parameters), torch.from_numpy(np.ascontiguousarray(rows))
        try:
            return torch.func.vmap(function, in_dims=(None, 0))(*given)
        except Exception:
            raise ModuleFailedError(
                "the module raised an error on records, though it did not on public random rows: "
                "it must not check the values of rows"
            ) from None

    def _score(self, parameters: dict[str, torch.Tensor], row: torch.Tensor) -> torch.Tensor:
        """Return the score of one row, in a batch of one.

        Fixed numbers are given with every call: what a module assigns to a buffer is forgotten.
        """
        given = {**parameters, **self._fixed_tensors}
        found: Any = import_torch().func.functional_call(self.module, given, (row[None],))
        return found.reshape(())

    def _with_linear(self, scores: Array, parameters: Array, rows: Array) -> Array:
        if self.source.linear:
            weights = parameters[self.linear]
            with np.errstate(all="ignore"):  # no warning depends on rows
                scores = scores + (rows @ weights[:-1] + weights[-1])
        return np.where(np.isfinite(scores), scores, 0.0)

    def _tensors(self, parameters: Array) -> dict[str, torch.Tensor]:
        torch = import_torch()
        found, start = {}, 0
        for name, shape in zip(self.names, self.shapes, strict=True):
            stop = start + math.prod(shape)
            found[name] = torch.from_numpy(parameters[start:stop].copy()).reshape(shape)
            start = stop
        return found


def _fixed(module: torch.nn.Module) -> list[torch.Tensor]:
    parameters = [one for one in module.parameters() if not one.requires_grad]
    return [*parameters, *module.buffers()]


def _numbers(tensors: list[Any]) -> Array:
    parts = [_array(one.detach().double()).ravel() for one in tensors]
    return np.concatenate([np.zeros(0), *parts])


def _set_numbers(tensors: list[torch.Tensor], numbers: Array) -> None:
    torch = import_torch()
    if numbers.size != sum(one.numel() for one in tensors):
        raise ValueError("the module has another number of fixed parameters")
    start = 0
    with torch.no_grad():
        for one in tensors:
            stop = start + one.numel()
            one.copy_(torch.from_numpy(numbers[start:stop].copy()).reshape(one.shape))
            start = stop


def _array(tensor: Any) -> Array:
    return np.asarray(tensor.detach().numpy(), dtype=np.float64)
