"""Stored classes are found by name in processes that have not imported them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pairdp import PrivateRanker
from pairdp.losses import SigmoidRanking
from pairdp.storage import Storable
from pairdp.storage.registry import known_class


def in_new_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


FIND = "from pairdp.storage.registry import known_class; print(known_class({!r}).__module__)"


@pytest.mark.parametrize(
    ("reader", "name", "module"),
    [
        ("pairdp.problem", "HingeMetric", "pairdp.losses.hinge_metric"),
        ("pairdp.algorithms.registry", "ScatterMetric", "pairdp.algorithms.scatter"),
        ("pairdp.algorithms.stored_plans", "Problem", "pairdp.problem"),
        (
            "pairdp.verification.certificates",
            "OnlineMoments",
            "pairdp.online.moments",
        ),
    ],
)
def test_a_class_is_found_once_its_kind_is_known(reader: str, name: str, module: str) -> None:
    assert in_new_process(f"import {reader}; {FIND.format(name)}") == module


def test_a_name_that_no_class_has_is_not_found() -> None:
    assert known_class("NoSuchLoss") is None
    assert known_class("os") is None


def test_a_class_outside_the_library_is_not_known_by_name() -> None:
    class Outside(Storable):
        pass

    assert known_class("Outside") is None


def test_a_model_is_read_in_a_new_process(tmp_path: Path) -> None:
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (40, 2))
    model = PrivateRanker(1.0, 1e-5, data_norm=1.0, loss=SigmoidRanking()).fit(x, x[:, 0] > 0)
    model.save(tmp_path / "model")
    code = f"import pairdp; print(pairdp.load({str(tmp_path / 'model')!r}).plan_.problem)"
    assert in_new_process(code) == str(model.plan_.problem)
