"""The certificates behind the numbers: a table, and their full texts, compressed."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pairdp._sealed import seal
from pairdp.drawing.text import escape, number
from pairdp.studies.results import Results


@dataclass(frozen=True)
class Proof:
    """The anchor of a certificate on the page, and whether its claim is proved."""

    place: str
    proved: bool


def find_proofs(results: Results) -> dict[str, Proof]:
    """Return the anchor of each certificate, by its key."""
    used = dict.fromkeys(cell.certificate for cell in results.cells)
    keys = [key for key in used if key in results.certificates]
    keys += [key for key in results.certificates if key not in used]
    return {
        key: Proof(f"c{i}", bool(results.certificates[key].get("claim_is_proved")))
        for i, key in enumerate(keys, 1)
    }


def write_list(results: Results, proofs: Mapping[str, Proof]) -> str:
    """Return the table of all certificates, grouped by algorithm."""
    together: dict[str, list[str]] = {}
    for key, proof in proofs.items():
        certificate = results.certificates[key]
        document = _document(certificate)
        name = f"{document.get('algorithm', '')}, {document.get('calibration', '')} noise"
        together.setdefault(name, []).append(_row(certificate, proof))
    bodies = "".join(
        f"<tbody><tr><th colspan=5 scope=rowgroup>{escape(name)}{''.join(rows)}"
        for name, rows in together.items()
    )
    return (
        "<div class=scroll><table class=certificates><thead><tr><th scope=col>certificate"
        "<th scope=col>records<th scope=col>ε<th scope=col>δ"
        f"<th scope=col>claim{bodies}</table></div>"
    )


def _row(certificate: Mapping[str, Any], proof: Proof) -> str:
    verdict = "<td>proved" if proof.proved else "<td class=no>NOT proved"
    return (
        f"<tr id={proof.place}><td><a href=#{proof.place}>{proof.place}</a>"
        f"<td>{escape(_document(certificate).get('n', ''))}"
        f"<td>{_size(certificate.get('epsilon'))}<td>{_size(certificate.get('delta'))}{verdict}"
    )


def _document(certificate: Mapping[str, Any]) -> Mapping[str, Any]:
    return certificate.get("json") or {}


def pack(results: Results, proofs: Mapping[str, Proof], *, documents: bool) -> str:
    """Return the statements and, with ``documents``, the certificates, compressed, in base64.

    Statements are nearly equal: compressed together, with similar ones next to each other, they
    take about a twentieth of their size.
    """
    similar = sorted((_statement(results, key), key) for key in proofs)
    texts = {
        proofs[key].place: {
            "statement": statement,
            "document": _sealed(results.certificates[key].get("json")) if documents else "",
        }
        for statement, key in similar
    }
    plain = json.dumps(texts, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(zlib.compress(plain, 9)).decode()


def _statement(results: Results, key: str) -> str:
    return str(results.certificates[key].get("statement", ""))


def _sealed(document: Mapping[str, object] | None) -> str:
    """Return a certificate as the text of a file that `pairdp verify` accepts."""
    if not document:
        return ""
    return seal({name: value for name, value in document.items() if name != "digest"})


def _size(value: object) -> str:
    return number(value) if isinstance(value, int | float) else escape(value)
