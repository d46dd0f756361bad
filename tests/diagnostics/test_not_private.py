"""Results of diagnostics say that they are not private, and cannot be stored."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pairdp.constraints import L2Ball
from pairdp.diagnostics import (
    elastic_stability,
    estimate_pl_constant,
    influence,
    influence_on,
    non_private_minimizer,
)
from pairdp.diagnostics.not_private import NotPrivate
from pairdp.losses import HingeRanking, LogisticRanking
from pairdp.problem import Problem
from pairdp.storage.codec import encode
from pairdp.storage.errors import UnknownObjectError
from tests.diagnostics.data import data

PROBLEM = Problem(LogisticRanking(), L2Ball(5.0), regularization=0.1)
RECORDS = PROBLEM.records(*data(20))
RESULTS = [
    influence(PROBLEM, RECORDS),
    influence_on(PROBLEM, RECORDS, np.ones(3)),
    elastic_stability(PROBLEM, RECORDS),
    estimate_pl_constant(PROBLEM, RECORDS),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_every_result_says_so_and_is_not_stored(result: NotPrivate) -> None:
    assert type(result).__name__.startswith("NonPrivate")
    assert repr(result).startswith(f"<{type(result).__name__}: NOT PRIVATE (no certificate")
    assert str(result).startswith(f"{type(result).__name__}: NOT PRIVATE (no certificate")
    assert "NOT private" in (type(result).__doc__ or "")
    assert not hasattr(result, "certificate")
    with pytest.raises(TypeError, match="not private and cannot be pickled or stored"):
        pickle.dumps(result)
    with pytest.raises(UnknownObjectError, match="cannot be stored"):
        encode(result)


def test_the_estimate_is_called_one() -> None:
    assert "ESTIMATE" in str(RESULTS[-1])
    assert "no path shows that the condition holds" in str(RESULTS[-1])


@pytest.mark.parametrize(
    "function", [influence, influence_on, elastic_stability, estimate_pl_constant]
)
def test_every_function_says_so(function: object) -> None:
    assert "NOT private" in (function.__doc__ or "")


def test_a_loss_that_is_not_smooth_is_refused() -> None:
    problem = Problem(HingeRanking(), L2Ball(5.0))
    with pytest.raises(ValueError, match="use a smooth loss"):
        non_private_minimizer(problem, problem.records(*data(9)))


def test_progress_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    influence(PROBLEM, RECORDS, progress=True)
    assert "minimising" in capsys.readouterr().err
