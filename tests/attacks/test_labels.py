"""What labels give away: does a class occur in the table?

With ``--classes`` (or ``classes=``) which labels occur is a secret. The command used to convert
the names of the classes to the type that the column happened to have: ``--classes 0,1.0`` succeeded
on a table with one record of a certain label and failed on one without; ``--classes 0,1+`` ended in
a comparison of an integer with text. Exit code, messages, labels of the model and certificate
must be the same whether or not a class, or a certain way to write it, occurs.

Scores used to count labels that the model never saw as negative, or to return NaN.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from pairdp import (
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateRanker,
    load,
)
from pairdp.cli.main import main
from pairdp.tables import TwoLabels

N = 60


def fit(folder: Path, cells: list[Any], classes: str, kind: str = "csv") -> tuple[Any, ...]:
    """Fit a table with these labels, and return everything that an observer sees."""
    x = np.random.default_rng(0).uniform(size=N)
    cells = [cells[i % len(cells)] for i in range(N)]
    path = folder / f"data.{kind}"
    if kind == "csv":
        path.write_text("x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, cells, strict=True)))
    else:
        pd.DataFrame({"x": x, "y": cells}).to_parquet(path)
    model = folder / "model.pairdp"
    args = ["fit", str(path), "--label", "y", "--unscaled", "--data-norm", "1", "--force"]
    args += ["--algorithm", "DPGDC", "--classes", classes, "-o", str(model)]
    result = CliRunner().invoke(main, args)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    if result.exit_code:
        return result.exit_code, result.stderr
    made = load(model)
    labels = json.dumps(made.classes_.tolist())
    return result.exit_code, result.output, labels, made.certificate_.to_dict()


# Columns of one table that differ in which labels occur, or in how one record writes its label.
SAME_TO_AN_OBSERVER: dict[str, tuple[str, str, list[list[Any]]]] = {
    "a number and a decimal": (
        "0,1.0",
        "csv",
        [["0"], ["1"], ["1.0"], ["0", "1"], ["0", "1.0"], ["0", "+1"], ["0", "1e0"], ["0.0", "1"]],
    ),
    "integers": ("0,1", "csv", [["0", "1"], ["0"], ["1"], ["0", "1.0"], ["-0", "1"], [" 0", "1 "]]),
    "a number and text": ("0,1+", "csv", [["0"], ["1+"], ["0", "1+"], [" 0", "1+ "]]),
    "text": ("no,yes", "csv", [["no"], ["yes"], ["no", "yes"]]),
    "truth values": ("True,False", "csv", [["True"], ["False"], ["False", "True"]]),
    "parquet integers": ("0,1.0", "parquet", [[0], [1], [0, 1]]),
    "parquet decimals": ("0,1", "parquet", [[0.0], [1.0], [0.0, 1.0]]),
    "parquet text": ("0,1", "parquet", [["0"], ["1.0"], ["0", "+1"], ["0.0", "1"]]),
    "parquet truth values": ("False,True", "parquet", [[False], [True], [False, True]]),
    "truth values as numbers": ("0,1", "parquet", [[False], [True], [False, True]]),
}


@pytest.mark.parametrize("name", SAME_TO_AN_OBSERVER)
def test_it_does_not_show_which_classes_occur(name: str, tmp_path: Path) -> None:
    classes, kind, columns = SAME_TO_AN_OBSERVER[name]
    seen = [fit(tmp_path, cells, classes, kind) for cells in columns]
    assert seen[0][0] == 0, seen[0]
    for other in seen[1:]:
        assert other == seen[0]


@pytest.mark.parametrize("classes", ["0,1", "0,1+", "no,yes", "0,yes", "False,True"])
def test_another_label_is_refused_with_one_sentence_whatever_it_is(
    classes: str, tmp_path: Path
) -> None:
    known = classes.split(",")
    found = {
        fit(tmp_path, [known[0], cell], classes) for cell in ("secret", "7", "0.5", "1e400", "nan")
    }
    assert len(found) == 1
    ((code, said),) = found
    assert code == 1
    assert said.count("\n") == 1
    for quoted in ("secret", "7", "0.5", "1e400", "nan"):
        assert quoted not in said


@pytest.mark.parametrize("classes", ["0", "0,0", "0,0.0", "0,", ",", "0,1,2", "0.5,1", "a,a"])
def test_what_names_no_two_classes_is_refused_whatever_the_table_has(
    classes: str, tmp_path: Path
) -> None:
    found = {fit(tmp_path, cells, classes) for cells in (["0"], ["1"], ["0", "1"], ["a"])}
    assert len(found) == 1
    assert found.pop()[0] == 1


names = st.one_of(
    st.integers(-(10**17), 10**17).map(str),
    st.floats(allow_nan=True).map(str),
    st.text("01ae+-. _Ttrue", min_size=1, max_size=5),
    st.sampled_from(["True", "False", "1e0", "+1", "1.0", "1+", "inf", "1_0"]),
)


@given(st.lists(names, min_size=2, max_size=2), st.lists(names, max_size=8), names)
def test_what_a_cell_matches_depends_on_nothing_but_the_cell(
    classes: list[str], others: list[str], cell: str
) -> None:
    try:
        labels = TwoLabels.named(classes)
    except ValueError:
        return
    alone = labels.signs(np.array([cell]))
    np.testing.assert_array_equal(labels.signs(np.array([cell, *others]))[:1], alone)
    np.testing.assert_array_equal(labels.signs(np.array([*others, cell]))[-1:], alone)
    # A class matches itself, and its place is that of the sorted labels.
    assert sorted(labels.signs(np.array(classes)).tolist()) == [-1, 1]
    assert labels.low < labels.high  # type: ignore[operator]


def test_classes_of_an_estimator_do_not_depend_on_the_labels_that_occur() -> None:
    x = np.random.default_rng(0).uniform(size=(N, 2)) / 2
    for kind in (PrivateRanker, PrivateLinearClassifier):
        made = [
            kind(data_norm=1.0, classes=classes, algorithm="DPGDC").fit(x, np.resize(y, N))
            for classes in ((0, 1.0), [1.0, 0], np.array([0, 1.0]))
            for y in ([0], [1], [0, 1], [0.0, 1.0], [False, True])
        ]
        for model in made:
            assert model.classes_.tolist() == [0, 1]
            assert model.certificate_.to_dict() == made[0].certificate_.to_dict()
        for classes in ((0, "1+"), (0, None), (0, 0.0), ("a", b"a")):
            for y in ([0], [0, 1], ["0"], ["0", "1+"]):
                with pytest.raises(ValueError, match=r"two different labels|not in classes"):
                    kind(data_norm=1.0, classes=classes).fit(x, np.resize(y, N))
        # Numbers are not text, although numpy compares them as such.
        with pytest.raises(ValueError, match="not in classes"):
            kind(data_norm=1.0, classes=("0", "1")).fit(x, np.resize([0, 1], N))


def rankers() -> list[Any]:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(200, 2)) / 2, np.resize([0, 1], 200)
    stream = OnlinePrivateRanker(5.0, horizon=200, data_norm=1.0)
    return [
        PrivateRanker(5.0, data_norm=1.0).fit(x, y),
        PrivateLinearClassifier(5.0, data_norm=1.0).fit(x, y),
        stream.partial_fit(x, y, classes=[0, 1]),
    ]


@pytest.mark.parametrize("place", range(3))
def test_scores_refuse_labels_that_the_model_never_saw(place: int) -> None:
    model = rankers()[place]
    x = np.zeros((4, 2))
    for y in (
        [0, 1, 2, 1],
        [7, 7, 8, 8],
        ["0", "1", "0", "1"],
        np.array([0, 1, "0", None], dtype=object),
        [0.0, 1.0, 0.5, 0.0],
        [0, 1, np.nan, 1],
    ):
        with pytest.raises(ValueError, match="fitted to the classes 0 and 1") as raised:
            model.score(x, y)
        assert not {"7", "8", "2", "0.5"} & set(str(raised.value).split())
    assert 0 <= model.score(x, [0, 1, 0, 1]) <= 1
    assert model.score(x, [False, True, False, True]) == model.score(x, [0, 1, 0, 1])


@pytest.mark.parametrize("place", range(3))
def test_scores_take_the_column_that_a_fit_takes(place: int) -> None:
    model = rankers()[place]
    x, y = np.eye(4, 2), [0, 1, 0, 1]
    weights = [1.0, 2.0, 3.0, 4.0]
    for column in (np.array(y)[:, None], pd.DataFrame({"y": y}), pd.Series(y)):
        assert model.score(x, column) == model.score(x, y)
        assert model.score(x, column, sample_weight=weights) == model.score(
            x, y, sample_weight=weights
        )
    with pytest.raises(ValueError, match="fitted to the classes 0 and 1"):
        model.score(x, pd.DataFrame({"y": [0, 1, 0, 2]}))


def test_scores_are_numbers_or_errors() -> None:
    ranker, classifier, online = rankers()
    x = np.zeros((4, 2))
    for model in (ranker, online):
        for y in ([1, 1, 1, 1], [0, 0, 0, 0]):
            with pytest.raises(ValueError, match="both classes, 0 and 1"):
                model.score(x, y)
        with pytest.raises(ValueError, match="with positive weights"):
            model.score(x, [0, 1, 1, 1], sample_weight=[0, 1, 1, 1])
    assert 0 <= classifier.score(x, [1, 1, 1, 1]) <= 1
    regressor = PrivateLinearRegressor(data_norm=1.0).fit(x + 0.1, [0.1, 0.2, 0.3, 0.4])
    with pytest.raises(ValueError, match="two records"):
        regressor.score(x[:1], [0.1])


def test_it_is_said_which_label_ranks_high(tmp_path: Path) -> None:
    for model in rankers():
        assert "Label 1 is ranked above label 0." in model.privacy_statement()
    shown = fit(tmp_path, ["well", "sick"], "sick,well")[1]
    assert "Label 'well' is ranked above label 'sick'." in shown
