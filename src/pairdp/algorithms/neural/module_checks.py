"""What a user's module must be, tested on public random rows before any data is read.

Privacy does not depend on these tests: `TorchNetwork` computes each score and gradient from one
record. They refuse modules whose scores would be others than their author expects, or which
cannot be computed in this way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import on_one_line
from pairdp.algorithms.neural.torch_module import import_torch
from pairdp.algorithms.neural.torch_network import LARGEST_SIZE, TorchNetwork

if TYPE_CHECKING:
    import torch

Array = NDArray[np.float64]
_ROWS = 7
_CLOSE: Mapping[str, Any] = {"rtol": 1e-6, "atol": 1e-9}
_MIXED = (
    "so a score depends on other records of its batch: leave out BatchNorm and other layers that "
    "mix records (LayerNorm and GroupNorm do not), or call eval() on the module first"
)
_SHORTEST_NORM = 1e-8


class RefusedModuleError(ValueError):
    """A module that cannot be learned with a guarantee, or not as its author expects."""


def check_module(network: TorchNetwork) -> None:
    """Raise an error with a reason if a module cannot be used.

    Parameters
    ----------
    network : TorchNetwork
        The module, for a number of features.

    Raises
    ------
    RefusedModuleError
        If parameters are not real numbers on the CPU; if scores have a wrong shape, are random,
        depend on other records or change the module; if ``torch.func`` cannot map it over records.
    """
    torch = import_torch()
    module = network.module
    _check_parameters(network)
    rows = torch.from_numpy(_public_rows(network))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(network.seed)
        before = {name: one.clone() for name, one in module.state_dict().items()}
        drawn = torch.get_rng_state()
        with torch.no_grad():
            scores = _called(module, rows, f"a batch of {_ROWS} rows")
            again = _called(module, rows, f"a batch of {_ROWS} rows")
        if not torch.equal(drawn, torch.get_rng_state()) or not torch.equal(scores, again):
            raise RefusedModuleError(
                "the module draws random numbers, and a score and its gradient need the same "
                "ones: remove dropout and other noise, or call eval() on the module first"
            )
        _check_rows_alone(module, rows, scores)
        after = module.state_dict()
        if any(not torch.equal(one, after[name]) for name, one in before.items()):
            raise RefusedModuleError(
                "the module changes its buffers or parameters when it is called, so a score would "
                "depend on records that were scored before: remove the state, or call eval() first"
            )
        _check_gradients(network, rows, scores)


def _public_rows(network: TorchNetwork) -> Array:
    """Return normal rows of norm about 1, some of them shorter and longer."""
    generator = np.random.default_rng([network.seed, 2])
    rows = generator.normal(size=(_ROWS, network.features)) / np.sqrt(network.features)
    return np.asarray(rows * np.linspace(0.25, 1.75, _ROWS)[:, None])


def _check_parameters(network: TorchNetwork) -> None:
    torch = import_torch()
    for name, one in (*network.module.named_parameters(), *network.module.named_buffers()):
        is_parameter = isinstance(one, torch.nn.Parameter)
        if one.is_complex() or (is_parameter and not one.is_floating_point()):
            raise RefusedModuleError(f"{name} is of type {one.dtype}: use real numbers")
        if one.device.type != "cpu":
            raise RefusedModuleError(f"{name} is on {one.device}: move the module to the CPU")
        if not torch.isfinite(one).all():
            raise RefusedModuleError(f"{name} has numbers that are not finite")
    if not network.names:
        raise RefusedModuleError("the module has no parameters that require gradients")
    if network.size > LARGEST_SIZE:
        raise RefusedModuleError(
            f"the module has {network.size} parameters, and the rounding of norms is accounted "
            f"for up to {LARGEST_SIZE}"
        )


def _called(module: torch.nn.Module, rows: torch.Tensor, what: str) -> torch.Tensor:
    """Return the scores of a batch; an error if the module fails, or returns something else."""
    torch = import_torch()
    found = _tried(lambda: module(rows), f"the module fails for {what} in double precision")
    if not isinstance(found, torch.Tensor) or not found.is_floating_point():
        raise RefusedModuleError(f"the module must return a tensor of scores, got {found!r:.80}")
    shape, b = tuple(found.shape), len(rows)
    if shape not in ((b,), (b, 1)):
        raise RefusedModuleError(
            f"the module must return one score for each row, of shape ({b},) or ({b}, 1), and "
            f"returned the shape {shape}: no shape may depend on values"
        )
    if not torch.isfinite(found).all():
        raise RefusedModuleError("scores of public random rows are not finite")
    return found.reshape(b)


def _check_rows_alone(module: torch.nn.Module, rows: torch.Tensor, scores: torch.Tensor) -> None:
    """Raise an error if a row has another score alone, in another order or beside other rows."""
    torch = import_torch()
    with torch.no_grad():
        try:
            alone = torch.cat([_called(module, row[None], "a batch of one row") for row in rows])
        except RefusedModuleError as error:
            raise RefusedModuleError(f"{error}; {_MIXED}") from None
        turned = _called(module, rows.flip(0), "the same rows in another order").flip(0)
        beside = rows.clone()
        beside[-1] *= 100
        others = _called(module, beside, "other rows")[:-1]
    for found, what in ((alone, "alone"), (turned, "in another order")):
        if not torch.allclose(found, scores, **_CLOSE):
            raise RefusedModuleError(f"rows have other scores {what} than in a batch, {_MIXED}")
    if not torch.allclose(others, scores[:-1], **_CLOSE):
        raise RefusedModuleError(f"rows have other scores beside other rows, {_MIXED}")


def _check_gradients(network: TorchNetwork, rows: torch.Tensor, scores: torch.Tensor) -> None:
    """Raise an error if ``torch.func`` cannot compute the gradient of each record's score."""
    torch = import_torch()
    parameters = network.initial(network.seed)
    one = torch.func.grad_and_value(network._score)
    found, mapped = _tried(
        lambda: torch.func.vmap(one, in_dims=(None, 0))(network._tensors(parameters), rows),
        "torch.func cannot map the module over records: branches and shapes must not depend on "
        "values, and nothing may be changed in place",
    )
    if not torch.allclose(mapped, scores, **_CLOSE):
        raise RefusedModuleError("scores by torch.func are not those of the module")
    trained = dict(network.module.named_parameters())
    exact = torch.autograd.grad(
        network.module(rows[:1]).sum(), [trained[name] for name in network.names], allow_unused=True
    )
    for name, expected in zip(network.names, exact, strict=True):
        plain = torch.zeros_like(trained[name]) if expected is None else expected
        if not torch.allclose(found[name][0], plain, **_CLOSE):
            raise RefusedModuleError(f"gradients of {name} by torch.func are not those of autograd")
    beside = rows.clone()
    beside[-1] *= -3
    kept, other = (network.gradients(parameters, some.numpy()) for some in (rows, beside))
    if not all(
        np.array_equal(a[:-1], b[:-1])
        for a, b in zip((kept.scores, *kept.parts), (other.scores, *other.parts), strict=True)
    ):
        raise RefusedModuleError("a record changes the last digits of another one's gradient")
    if not network.typical_norm(network.seed) > _SHORTEST_NORM:
        raise RefusedModuleError(
            "gradients of scores are zero at the initial weights for most public random rows"
        )


def _tried(call: Callable[[], Any], what: str) -> Any:
    try:
        return call()
    except Exception as error:
        said = on_one_line(str(error).strip().splitlines()[0]) if str(error).strip() else ""
        raise RefusedModuleError(f"{what}: {type(error).__name__}: {said:.200}") from None
