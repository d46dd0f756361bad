"""Model files that are damaged, of others, or forged: refused in words, and nothing runs."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save as to_bytes
from sklearn.pipeline import make_pipeline

from pairdp import (
    BoundsScaler,
    ModelFileError,
    load,
    save,
)
from pairdp._sealed import seal
from tests.model_file.models import (
    FRAME,
    D,
    Y,
    assert_same_release,
    fitted_ranker,
    fitted_scaler,
    forge,
    opened,
    ranker,
)

# Damaged files


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "model"
    save(make_pipeline(BoundsScaler(-2, 2), ranker(classes=[0, 1])).fit(FRAME, Y), path)
    return path.read_bytes()


def test_a_truncated_file_is_refused_wherever_it_is_cut(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "model"
    for end in [0, 1, 7, 8, 9, *np.linspace(10, len(good) - 1, 30).astype(int)]:
        path.write_bytes(good[:end])
        with pytest.raises(ModelFileError, match="damaged or not a pairdp model"):
            load(path)


def test_more_at_the_end_is_refused(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "model"
    for more in [b"\0", b" ", good]:
        path.write_bytes(good + more)
        with pytest.raises(ModelFileError, match="damaged"):
            load(path)


def test_a_changed_byte_is_refused_or_does_not_matter(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "model"
    path.write_bytes(good)
    saved, rng = load(path), np.random.default_rng(11)
    refused = 0
    header = int.from_bytes(good[:8], "little") + 8
    places = [*range(8), *rng.integers(8, header, 160), *rng.integers(header, len(good), 40)]
    for place in places:
        changed = bytearray(good)
        changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            found = load(path)
        except ModelFileError as error:
            refused += str(path) in str(error)
        else:  # white space in JSON, say
            assert place < header
            np.testing.assert_array_equal(
                found.decision_function(FRAME), saved.decision_function(FRAME)
            )
            assert found[1].get_params() == saved[1].get_params()
            assert found[1].certificate_ == saved[1].certificate_
            assert found[1].plan_ == saved[1].plan_
    assert refused > 0.8 * len(places)


# Files of others


class Trap:
    """What a hostile pickle does when it is read."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("sprung",)


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("coef_.npy", b"\0" * 10_000_000)
        bomb.writestr("../../escaped", b"x")
    return buffer.getvalue()


def framed(header: bytes, rest: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + rest


def of_objects() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Trap()]), allow_pickle=True)
    return buffer.getvalue()


FOREIGN = {
    "empty": b"",
    "text": b"not a model at all, but long enough to be one of some kind",
    "json": json.dumps({"format": "pairdp model"}).encode(),
    "zip": zipped(),
    "pickle": pickle.dumps(Trap()),
    "pickle behind a frame": framed(pickle.dumps(Trap())),
    "numpy objects": of_objects(),
    "header of 2**63 bytes": struct.pack("<Q", 2**63) + b"{}",
    "header of 99 MB": struct.pack("<Q", 99_000_000) + b"{}",
    "no metadata": to_bytes({"coef_": np.zeros(2)}),
    "no arrays": framed(b"{}"),
    "other metadata": to_bytes({"coef_": np.zeros(2)}, metadata={"format": "pt"}),
    "document that is no JSON": to_bytes({}, metadata={"pairdp": "{"}),
    "document that is a list": to_bytes({}, metadata={"pairdp": "[]"}),
    "document without digest": to_bytes({}, metadata={"pairdp": '{"format": "pairdp model"}'}),
    "another sealed document": to_bytes({}, metadata={"pairdp": seal({"format": "x"})}),
    "nested deeply": to_bytes({}, metadata={"pairdp": "[" * 100_000}),
    "huge number": to_bytes({}, metadata={"pairdp": '{"n": ' + "9" * 5000 + "}"}),
    "bomb of a shape": framed(
        b'{"coef_": {"dtype": "F64", "shape": [1000000000000], "data_offsets": [0, 8]}}', b"\0" * 8
    ),
    "overflowing shape": framed(
        b'{"coef_": {"dtype": "F64", "shape": [4294967296, 4294967296], "data_offsets": [0, 0]}}'
    ),
    "overlapping arrays": framed(
        b'{"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]},'
        b'"b": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}',
        b"\0" * 8,
    ),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_files_of_others_are_refused_and_run_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_bytes(FOREIGN[kind])
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=r"^(the model )?file ") as error:
            load("file")
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    assert len(str(error.value)) < 300
    assert list(Path().iterdir()) == [Path("file")]


def test_the_trap_would_spring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pickle.loads(FOREIGN["pickle"])
    assert list(Path().iterdir()) == [Path("sprung")]


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in [tmp_path, tmp_path / "nowhere"]:
        with pytest.raises(ModelFileError, match="there is no file"):
            load(path)


# Forged files: every digest is right, and what they say is wrong


Change = Callable[[dict[str, Any], dict[str, Any]], None]


def setting(*path: Any, to: Any) -> Change:
    """Return a change of one entry of the header."""

    def change(header: dict[str, Any], _: dict[str, Any]) -> None:
        place: Any = header
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return change


def planned(*path: Any, to: Any) -> Change:
    """Return a change of the plan in the certificate, which is sealed again."""

    def change(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        setting("steps", 0, "certificate", "plan", *path, to=to)(header, arrays)
        certificate = header["steps"][0]["certificate"]
        del certificate["digest"]
        header["steps"][0]["certificate"] = json.loads(seal(certificate))

    return change


def array(name: str, to: Any) -> Change:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        if to is None:
            del arrays[name]
        else:
            arrays[name] = np.array(to)

    return change


def swap(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["0.coef_"], arrays["0.intercept_"] = arrays["0.intercept_"], arrays["0.coef_"]


def thing(name: str, **fields: Any) -> dict[str, Any]:
    return {"object": name, "fields": fields}


STEP = ("steps", 0)
FORGED: dict[str, tuple[Change, str]] = {
    "newer": (setting("format_version", to=3), "use a newer pairdp"),
    "much newer": (setting("format_version", to=10**30), "use a newer pairdp"),
    "version 0": (setting("format_version", to=0), "unknown"),
    "version true": (setting("format_version", to=True), "unknown"),
    "older": (setting("format_version", to=1), "unknown to this pairdp, which reads 2"),
    "version 2.0": (setting("format_version", to=2.0), "unknown"),
    "version text": (setting("format_version", to="2"), "unknown"),
    "other format": (setting("format", to="pairdp certificate"), "its format is"),
    "unknown header": (setting("more", to=1), "unknown fields more"),
    "pipeline": (setting("pipeline", to=1), "malformed"),
    "no steps": (setting("steps", to=[]), "no steps"),
    "steps of numbers": (setting("steps", to=[1]), "a step has no name"),
    "steps by name": (setting("steps", to={"0": {}}), "no steps"),
    "step without name": (setting(*STEP, "name", to=None), "a step has no name"),
    "two steps": (
        lambda header, arrays: header["steps"].append(dict(header["steps"][0])),
        "lacks the array '1.coef_'",
    ),
    "unknown class": (setting(*STEP, "class", to="Pipeline"), "unknown model 'Pipeline'"),
    "class with a path": (setting(*STEP, "class", to="os.system"), "unknown model"),
    "class that is a list": (setting(*STEP, "class", to=["PrivateRanker"]), "unknown model"),
    "other class": (setting(*STEP, "class", to="PrivateMetric"), "classes"),
    "fewer params": (setting(*STEP, "params", to={}), "params lacks"),
    "more params": (setting(*STEP, "params", "__class__", to=1), "params has unknown"),
    "params of numbers": (setting(*STEP, "params", to=[]), "must be a JSON object"),
    "bare list": (setting(*STEP, "params", "epsilon", to=[1]), "not an encoded value"),
    "unknown kind": (setting(*STEP, "params", "loss", to={"set": []}), "not an encoded value"),
    "two kinds": (
        setting(*STEP, "params", "loss", to={"list": [], "tuple": []}),
        "not an encoded value",
    ),
    "bad float": (setting(*STEP, "params", "epsilon", to={"float": "1.0"}), "not an encoded value"),
    "unknown object": (setting(*STEP, "params", "loss", to=thing("Popen")), "unknown object"),
    "object that is a plan": (setting(*STEP, "params", "loss", to=thing("Plan")), "unknown"),
    "object that is abstract": (
        setting(*STEP, "params", "loss", to=thing("RankingLoss")),
        "unknown object|abstract",
    ),
    "wrong fields": (
        setting(*STEP, "params", "loss", to=thing("HingeRanking", code="x")),
        "unexpected keyword",
    ),
    "missing fields": (
        setting(*STEP, "params", "algorithm", to=thing("WithThreshold")),
        "missing",
    ),
    "fields of wrong type": (
        setting(*STEP, "params", "loss", to=thing("HingeRanking", width="wide")),
        "width",
    ),
    "fields out of range": (
        setting(*STEP, "params", "algorithm", to=thing("GradientDescent", steps=10**400)),
        "at most",
    ),
    "ragged array": (
        setting(*STEP, "params", "classes", to={"array": [{"list": [1]}, 2]}),
        "inhomogeneous",
    ),
    "no features": (setting(*STEP, "features", to=0), "number of features"),
    "features true": (setting(*STEP, "features", to=True), "number of features"),
    "features text": (setting(*STEP, "features", to="3"), "number of features"),
    "many features": (setting(*STEP, "features", to=10**12), "3 features"),
    "fewer names": (setting(*STEP, "names", to=["a"]), "names of features"),
    "names of numbers": (setting(*STEP, "names", to=[1, 2, 3]), "not strings"),
    "names that are text": (setting(*STEP, "names", to="abc"), "names of features"),
    "three labels": (setting(*STEP, "classes", "values", to=[0, 1, 2]), "malformed"),
    "equal labels": (setting(*STEP, "classes", "values", to=[1, 1]), "the same"),
    "labels of another type": (setting(*STEP, "classes", "values", to=["0", 1]), "wrong type"),
    "labels true": (setting(*STEP, "classes", "values", to=[False, True]), "wrong type"),
    "huge labels": (setting(*STEP, "classes", "values", to=[0, 10**40]), "too large"),
    "labels of objects": (setting(*STEP, "classes", "type", to="pickle"), "malformed"),
    "label type a list": (setting(*STEP, "classes", "type", to=[]), "unhashable"),
    "no certificate": (setting(*STEP, "certificate", to=None), "certificate"),
    "certificate without digest": (setting(*STEP, "certificate", to={}), "digest"),
    "changed certificate": (setting(*STEP, "certificate", "n", to=10), "changed or damaged"),
    "no plan": (planned(to=None), "no facts of a plan"),
    "empty plan": (planned(to={}), "plan lacks"),
    "plan with more": (planned("code", to="x"), "unknown fields code"),
    "plan for more features": (planned("features", to=4), "plan is for 4"),
    "plan without algorithm": (planned("algorithm", to="DPGDSC"), "algorithm"),
    "plan with a loss for algorithm": (
        planned("algorithm", to=thing("LogisticRanking")),
        "algorithm",
    ),
    "plan with settings in a list": (planned("settings", to=[]), "settings"),
    "plan with a number for conditions": (planned("conditions", to=1), "conditions"),
    "plan with a loss for a condition": (
        planned("conditions", to=[thing("LogisticRanking")]),
        "condition",
    ),
    "reasons that are text": (setting(*STEP, "reasons", to="because"), "reasons"),
    "departures that are numbers": (setting(*STEP, "departures", to=[1]), "departures"),
    "problem out of range": (
        planned("problem", "fields", "regularization", to=-1),
        "regularization",
    ),
    "problem without loss": (planned("problem", "fields", "loss", to=None), "loss"),
    "problem that is a set": (planned("problem", to=thing("L2Ball")), "problem"),
    "center of another size": (
        planned("problem", "fields", "center", to={"array": [0.0] * 7}),
        "center",
    ),
    "swapped arrays": (swap, "shape"),
    "no array": (array("0.coef_", None), "lacks the array"),
    "unknown array": (array("evil", [1.0]), "unknown array 'evil'"),
    "array with a path": (array("../../evil", [1.0]), "unknown array"),
    "NaN": (array("0.coef_", [[np.nan] * D]), "not finite"),
    "infinity": (array("0.intercept_", [np.inf]), "not finite"),
    "other shape": (array("0.coef_", [[1.0] * (D + 1)]), "shape"),
    "flat": (array("0.coef_", [1.0] * D), "shape"),
    "scalar": (array("0.intercept_", 1.0), "shape"),
    "no entries": (array("0.coef_", np.zeros((1, 0))), "shape"),
    "float32": (array("0.coef_", np.zeros((1, D), np.float32)), "wrong type"),
    "integers": (array("0.coef_", np.zeros((1, D), np.int64)), "wrong type"),
    "bytes": (array("0.coef_", np.zeros((1, D), np.uint8)), "wrong type"),
    "truth values": (array("0.coef_", np.zeros((1, D), np.bool_)), "wrong type"),
}


@pytest.mark.parametrize("kind", FORGED)
def test_forged_files_are_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "model"
    save(fitted_ranker(), path)
    change, reason = FORGED[kind]
    header, arrays = opened(path)
    change(header, arrays)
    forge(path, header, arrays)
    with pytest.raises(ModelFileError, match=reason) as error:
        load(path)
    assert str(path) in str(error.value)


def test_forging_changes_nothing_by_itself(tmp_path: Path) -> None:
    save(fitted_ranker(), tmp_path / "model")
    forge(tmp_path / "model", *opened(tmp_path / "model"))
    assert_same_release(load(tmp_path / "model"), fitted_ranker())


def test_an_array_that_does_not_match_its_digest_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save(fitted_ranker(), path)
    header, arrays = opened(path)
    arrays["0.coef_"] = arrays["0.coef_"] + 1e-16 + 1e-9
    path.write_bytes(to_bytes(arrays, metadata={"pairdp": seal(header)}))
    with pytest.raises(ModelFileError, match=r"'0\.coef_' does not match its digest"):
        load(path)
    arrays["0.coef_"] = np.zeros((1, D + 1))
    path.write_bytes(to_bytes(arrays, metadata={"pairdp": seal(header)}))
    with pytest.raises(ModelFileError, match="does not match"):
        load(path)


def test_a_scaler_that_divides_by_zero_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save(fitted_scaler(), path)
    header, arrays = opened(path)
    for width in (0.0, -1.0):
        arrays["0.half_width_"] = np.full(D, width)
        forge(path, header, arrays)
        with pytest.raises(ModelFileError, match="half_width_"):
            load(path)
