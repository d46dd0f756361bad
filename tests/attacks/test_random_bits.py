"""No float of a generator decides privacy: noise and draws are made of unbiased integers.

Floats of a generator are multiples of 2^-53 or have laws that are rounded, so noise from them has
patterns that tell values apart, and a record drawn with such a probability is drawn with another
one than is accounted for. Here every stream refuses all but the methods that use integers only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pairdp import Budget, NoiseSource
from pairdp.algorithms import NoisyGradientDescent, Plan
from pairdp.algorithms.neural import EmbeddingDescent
from pairdp.algorithms.registry import algorithms
from pairdp.privacy.mechanisms import noise_source
from pairdp.privacy.mechanisms.noise_source import Stream
from tests.audit.cases import ALL, BUDGET, METRIC, TIGHT, plan, pure_ones

INTEGERS = {"integers", "permutation", "choice", "bit_generator", "spawn"}
FLOATS = [
    name
    for name in dir(np.random.Generator)
    if not name.startswith("_") and name not in INTEGERS and not name.endswith("shuffle")
]


class FloatUsedError(AssertionError):
    """A stream was asked for a float."""


class IntegersOnly(Stream):
    """A stream without floats."""

    def choice(self, a: Any, *args: Any, p: Any = None, **kwargs: Any) -> Any:
        """Choose with equal probabilities, which takes integers alone."""
        if p is not None or len(args) > 2:
            raise FloatUsedError("choice with probabilities")
        return super().choice(a, *args, **kwargs)


def _refused(name: str) -> Any:
    def method(self: IntegersOnly, *args: Any, **kwargs: Any) -> Any:
        raise FloatUsedError(name)

    return method


for _name in FLOATS:
    setattr(IntegersOnly, _name, _refused(_name))


@pytest.fixture(autouse=True)
def streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_source, "Stream", IntegersOnly)


def run(planned: Plan) -> None:
    n, d = planned.task.n, planned.task.features
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(n, d)), np.resize([1.0, -1.0], n)
    planned.run(planned.problem.records(x, y), NoiseSource(6), progress=False)


def test_streams_refuse_floats() -> None:
    stream = NoiseSource(1).stream("noise")
    known = {"random", "uniform", "normal", "standard_normal", "gamma", "laplace", "exponential"}
    assert known | {"binomial", "poisson"} <= set(FLOATS)
    for name in FLOATS:
        with pytest.raises(FloatUsedError):
            getattr(stream, name)()
    with pytest.raises(FloatUsedError):
        stream.choice(3, p=[0.2, 0.3, 0.5])
    assert sorted(stream.permutation(5)) == list(range(5))


def test_every_named_algorithm_is_run_here() -> None:
    assert set(algorithms(published=True)) <= set(ALL)
    kinds = {type(algorithm) for algorithm, _ in ALL.values()} | {EmbeddingDescent}
    assert {type(algorithm) for algorithm in algorithms().values()} <= kinds


@pytest.mark.parametrize("name", ALL)
def test_no_run_uses_a_float(name: str) -> None:
    run(plan(name))


def test_no_embedding_uses_a_float() -> None:
    run(EmbeddingDescent((3,), 2, steps=2).plan(METRIC, 20, 3, BUDGET))


@pytest.mark.parametrize("name", pure_ones())
def test_no_pure_run_uses_a_float(name: str) -> None:
    run(plan(name, Budget(0.5)))


@pytest.mark.parametrize("batch_size", [2, 3])
def test_no_long_run_uses_a_float(batch_size: int) -> None:
    """Long runs are compiled where numba is installed, and draw in blocks."""
    algorithm = NoisyGradientDescent(steps=3000, step_size=0.01, batch_size=batch_size)
    run(algorithm.plan(TIGHT, 40, 3, BUDGET))


def test_no_printed_stream_uses_a_float_after_its_burn_in() -> None:
    """The burn-in of Huai 2020 is exempt: random points, from floats, that see no record."""
    algorithm, problem = ALL["OnPairStrC"]
    run(algorithm.plan(problem, 30, 2, BUDGET, calibration="printed", schedule="tuned"))
