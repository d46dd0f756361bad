"""Modules that are refused with a reason, before any data is read."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp import Budget, PrivateNeuralRanker, TorchModule
from pairdp.algorithms.neural import NeuralDescent
from pairdp.algorithms.neural.module_checks import RefusedModuleError, check_module
from pairdp.algorithms.neural.torch_network import ModuleFailedError, TorchNetwork
from pairdp.constraints import Unconstrained
from pairdp.losses import LogisticRanking
from pairdp.problem import Problem
from tests.neural_torch import modules

REFUSED = {
    modules.WithBatchNorm: r"batch of one row.*BatchNorm and other layers that mix records",
    modules.WithoutTracking: "other scores alone than in a batch",
    modules.Neighbouring: "mix records",
    modules.WithDropout: r"draws random numbers.*dropout.*eval",
    modules.WithNumpyNoise: "draws random numbers",
    modules.Counting: "changes its buffers",
    modules.Remembering: "draws random numbers",
    modules.Branching: "branches and shapes must not depend on values",
    modules.Selecting: r"returned the shape .*no shape may depend on values",
    modules.TwoScores: r"of shape \(7,\) or \(7, 1\), and returned the shape \(7, 2\)",
    modules.Dictionary: "must return a tensor of scores",
    modules.Complex: "phase is of type torch.complex64",
    modules.Integers: "places is of type torch.int64",
    modules.Lazy: "lazy layers",
    modules.NothingToLearn: "no parameters that require gradients",
    modules.Single: "fails for a batch of 7 rows in double precision",
}


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.__name__)
def test_a_module_is_refused_with_a_reason_by_its_plan(kind: type) -> None:
    problem = Problem(LogisticRanking(), Unconstrained())
    with pytest.raises(ValueError, match=REFUSED[kind]):
        NeuralDescent(module=TorchModule(kind)).plan(problem, 100, 3, Budget(1.0, 1e-6))


def test_a_module_without_gradients_is_refused_unless_a_linear_part_has_some() -> None:
    with pytest.raises(RefusedModuleError, match="zero at the initial weights"):
        check_module(TorchNetwork(TorchModule(modules.Flat, linear=False), 3))
    check_module(TorchNetwork(TorchModule(modules.Flat), 3))


@pytest.mark.parametrize(
    "source",
    [
        TorchModule(modules.Net),
        TorchModule(modules.Net, {"width": 3}, linear=False),
        TorchModule(modules.Line(3)),
        TorchModule(modules.Tied),
        TorchModule(modules.Frozen),
        TorchModule(modules.WithBatchNorm, {"evaluating": True}),
        TorchModule(modules.WithDropout(3).eval()),
    ],
    ids=lambda source: str(source.module)[:40],
)
def test_modules_that_score_each_record_alone_are_accepted(source: TorchModule) -> None:
    check_module(TorchNetwork(source, 3))


def test_what_is_no_module_is_refused() -> None:
    for wrong in ("net", dict, modules.Net(2).forward):
        with pytest.raises(TypeError, match=r"must be a torch\.nn\.Module or a class"):
            TorchModule(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="arguments must be a mapping"):
        TorchModule(modules.Net, {"width": object()})
    with pytest.raises(ValueError, match="takes no arguments"):
        TorchModule(modules.Net(2), {"width": 3})


def test_an_error_of_a_module_on_records_says_nothing_of_them() -> None:
    x = np.random.default_rng(0).normal(size=(60, 2))
    y = np.tile([0, 1], 30)
    network = TorchNetwork(TorchModule(modules.Gathered), 2)
    check_module(network)
    x[17] = 7777.0
    with pytest.raises(ModuleFailedError) as caught:
        network.scores(network.initial(0), x)
    assert "7777" not in str(caught.value)
    assert caught.value.__suppress_context__
    # In a fit, rows are standardised and clipped to norm 2: it cannot happen there.
    PrivateNeuralRanker(1e3, module=modules.Gathered, n_steps=1, data_norm=9e3).fit(x, y)
