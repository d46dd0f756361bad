"""Tables in other encodings, with other separators and decimal marks, on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.helpers import BOUNDED, coefficients, refused, run

FORMS: dict[str, tuple[str, list[str]]] = {
    "latin-1": ("latin-1", ["--encoding", "latin-1"]),
    "utf-16": ("utf-16", ["--encoding", "utf-16"]),
    "byte order mark": ("utf-8-sig", []),
    "decimal comma": ("utf-8", ["--decimal", ","]),
    "decimal comma, latin-1": ("latin-1", ["--decimal", ",", "--encoding", "latin-1"]),
    "bars": ("utf-8", ["--separator", "|"]),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_table_in_another_form_is_the_same_model(form: str) -> None:
    encoding, options = FORMS[form]
    run(*BOUNDED)
    right = coefficients()
    scores = run("predict", "model.pairdp", "data.csv").stdout
    text = Path("data.csv").read_text()
    if "--decimal" in options:
        text = text.replace(",", ";").replace(".", ",")
    if "--separator" in options:
        text = text.replace(",", "|")
    mark = max(",;|", key=text.count)
    noted = [f"{line}{mark}Größe" for line in text.splitlines()]
    Path("other.csv").write_bytes("\n".join(noted).encode(encoding))
    run(
        "fit", "other.csv", *BOUNDED[2:-1], "other.pairdp", "--drop", "Größe", *options
    )  # fmt: skip
    np.testing.assert_array_equal(coefficients("other.pairdp"), right)
    assert run("predict", "other.pairdp", "other.csv", *options).stdout == scores


def test_what_is_wrong_with_a_form_is_said_in_one_sentence() -> None:
    Path("data.csv").write_bytes("größe,outcome\n1,0\n".encode("latin-1"))
    assert "--encoding latin-1" in refused(*BOUNDED)
    assert "not an encoding of text" in refused(*BOUNDED, "--encoding", "klingon")
    assert "one character" in refused(*BOUNDED, "--separator", "::")
