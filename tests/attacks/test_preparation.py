"""Preparation that has looked at the data, and rows that nobody scaled.

The statement spoke of numbers that "were fixed without looking at the data" while a StandardScaler
or a mean imputer in the same pipeline had looked. No estimator can see what was done to its rows,
so the statement must say that it is not covered. On the command line, rows without bounds and
without a norm must be warned of, whatever they are.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairdp import BoundsScaler, OnlinePrivateRanker, PrivateMetric, PrivateRanker
from pairdp.cli.main import main

SENTENCE = "Preparation of the records before they reach the algorithm is not covered"


def test_the_statement_does_not_speak_for_what_was_done_before() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 2)), np.resize([0, 1], 400)
    for before in ([SimpleImputer(), StandardScaler()], [BoundsScaler(-4, 4)]):
        for model in (PrivateRanker(), PrivateMetric(5.0, algorithm="DPGDSC")):
            # Without a seed, the noise may hide every direction, which is a warning.
            model.set_params(data_norm=1.0, random_state=0)
            made = make_pipeline(*before, model).fit(x, y)[-1]
            words = " ".join(made.privacy_statement().split())
            assert SENTENCE in words
            assert "without looking at the data" not in words
    assert SENTENCE in " ".join(
        OnlinePrivateRanker(data_norm=1.0).plan(100, 2).certificate.statement().split()
    )


def run(*args: str) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = CliRunner().invoke(main, list(args))
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_rows_without_a_norm_are_warned_of_on_the_command_line(
    scale: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{scale * i},{i % 2}" for i in range(200)]
    Path("data.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    Path("bounds.json").write_text(json.dumps({"x": [0, 200 * scale]}))
    fit = ("fit", "data.csv", "--label", "y", "--algorithm", "DPGDC", "--force", "-o", "model")
    told = run(*fit, "--unscaled").stderr
    assert told.startswith("Warning: data_norm is not given")
    assert told.count("\n") == 1
    for more in (("--unscaled", "--data-norm", "1"), ("--bounds", "bounds.json")):
        assert run(*fit, *more).stderr == ""


def test_the_commands_say_which_delta_they_took_and_what_not_to_expect() -> None:
    shown = run("plan", "--n", "1000000", "--features", "3").stdout
    assert "δ = 1e-08 is min(1e-6, 1/(100n))" in shown
    assert "WARNING" not in shown
    found = json.loads(run("plan", "--n", "100", "--features", "3", "--json").stdout)
    assert found["delta"] == 1e-6
    assert found["chosen"]["warnings"] == []
    hopeless = ("plan", "--n", "100", "--features", "3", "--epsilon", "1e-9")
    assert "WARNING: at ε = 1e-09 and n = 100 the noise" in run(*hopeless).stdout
    assert "WARNING: at ε = 1e-09" in run(*hopeless, "--details").stdout
    assert len(json.loads(run(*hopeless, "--json").stdout)["chosen"]["warnings"]) == 1
