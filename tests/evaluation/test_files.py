"""Files of evaluations: read again, verified, and refused if they were edited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pairdp import CertificateError, Evaluation
from pairdp._sealed import seal
from pairdp.verification import verify_file
from tests.evaluation.test_evaluate import N, of_arrays

EDITS: list[tuple[tuple[Any, ...], Any]] = [
    (("figures", "auc"), 0.99),
    (("figures", "auc_interval", 0), 0.9),
    (("figures", "classes"), ["1", "0"]),
    (("figures", "auc_interval", 1), 10**400),
    (("figures", "thresholds"), []),
    (("figures", "extra"), 1),
    (("released", 0, 0), 1e6),
    (("released", 0, 1), -1e308),
    (("released", 1, 3), 1e308),
    (("released", 0), [1.0]),
    (("released", 1, 3), 500.0),
    (("released", 1, 3), float("1e400")),
    (("released",), "numbers"),
    (("certificate", "n"), 2 * N),
    (("certificate", "plan", "statistic"), {"object": "L2Ball", "fields": {"radius": 1.0}}),
    (("certificate", "plan"), None),
    (("certificate",), None),
    (("format",), "pairdp certificate"),
    (("format_version",), 2),
]


def test_a_file_is_read_again(tmp_path: Path) -> None:
    for number, options in enumerate([{}, {"roc": True}, {"threshold": 0.0, "invalid": "null"}]):
        found = of_arrays(**options)
        found.save(tmp_path / f"{number}.json")
        again = Evaluation.from_json((tmp_path / f"{number}.json").read_bytes())
        assert again == found
        assert again.figures() == found.figures()
        (report,) = verify_file(tmp_path / f"{number}.json")
        assert report.holds


@pytest.mark.parametrize(("place", "value"), EDITS)
def test_an_edited_file_is_refused(place: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    document: Any = of_arrays(roc=True).to_dict()
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    path = tmp_path / "evaluation.json"
    try:
        path.write_text(seal(document))
    except ValueError:  # infinity is no JSON
        return
    with pytest.raises(CertificateError):
        verify_file(path)


@pytest.mark.parametrize("text", ["", "{}", "[]", "{", '{"format": "pairdp evaluation"}'])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(CertificateError):
        Evaluation.from_json(text)
