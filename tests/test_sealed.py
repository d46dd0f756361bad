from __future__ import annotations

import hashlib
import json
import math
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp._sealed import canonical, digest, fields_of, seal, unseal

# Text that JSON escapes, keeps, or writes as two code units.
texts = st.text('ab"\\\n\t\x00éε😀 ', max_size=5)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
documents = st.dictionaries(texts, values, max_size=5)
SAMPLE: dict[str, object] = {"b": [1, 2.5, None], "a": {"ε": True, "text": 'a "quote"\n'}}


def flipped(text: str, position: int) -> str:
    return text[:position] + chr(ord(text[position]) ^ 1) + text[position + 1 :]


def test_canonical_text_is_sorted_dense_and_unescaped() -> None:
    assert canonical(SAMPLE) == '{"a":{"text":"a \\"quote\\"\\n","ε":true},"b":[1,2.5,null]}'


@settings(max_examples=50, deadline=None, derandomize=True)
@given(documents)
def test_canonical_text_does_not_depend_on_the_order_of_keys(document: dict[str, object]) -> None:
    assert canonical(dict(reversed(document.items()))) == canonical(document)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_has_not_are_refused(number: float) -> None:
    for function in (canonical, digest, seal):
        with pytest.raises(ValueError, match="JSON"):
            function({"deep": [{"value": number}]})


def test_digest_is_the_sha256_of_the_canonical_text() -> None:
    expected = hashlib.sha256(canonical(SAMPLE).encode("utf-8")).hexdigest()
    assert digest(SAMPLE) == expected
    assert set(expected) <= set(string.hexdigits)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (1, True), (0, False), ("1", 1), (None, "null"), (0.0, -0.0), ([], {}), (1, [1])],
)
def test_digest_tells_values_of_different_kinds_apart(one: object, other: object) -> None:
    assert digest({"value": one}) != digest({"value": other})


@settings(max_examples=100, deadline=None, derandomize=True)
@given(documents)
def test_unseal_returns_what_was_sealed(document: dict[str, object]) -> None:
    for text in (seal(document), seal(document).encode()):
        assert unseal(text) == document
        assert canonical(unseal(text)) == canonical(document)


def test_sealed_text_is_readable_json_with_the_digest_last() -> None:
    text = seal(SAMPLE)
    assert text.endswith('"\n}\n')
    assert "\n  " in text
    assert "ε" in text
    assert list(json.loads(text)) == ["b", "a", "digest"]


def test_sealing_leaves_the_values_alone() -> None:
    document = {"a": 1}
    seal(document)
    assert document == {"a": 1}


def test_order_and_spaces_do_not_matter() -> None:
    sealed = json.loads(seal(SAMPLE))
    shuffled = dict(sorted(sealed.items()))
    assert unseal(json.dumps(shuffled, indent=None)) == SAMPLE
    assert unseal(json.dumps(shuffled, indent=7)) == SAMPLE


def test_every_flipped_character_is_noticed() -> None:
    text = seal(SAMPLE)
    for position in range(len(text) - 1):
        with pytest.raises(ValueError, match=r"."):
            unseal(flipped(text, position))


def test_every_truncation_is_noticed() -> None:
    text = seal(SAMPLE)
    for length in range(len(text.rstrip())):
        with pytest.raises(ValueError, match=r"."):
            unseal(text[:length])
        with pytest.raises(ValueError, match=r"."):
            unseal(text[:length].encode())


@settings(max_examples=100, deadline=None, derandomize=True)
@given(documents, documents)
def test_another_documents_digest_does_not_fit(
    document: dict[str, object], other: dict[str, object]
) -> None:
    swapped = json.dumps({**document, "digest": digest(other)})
    if canonical(document) == canonical(other):
        assert unseal(swapped) == document
    else:
        with pytest.raises(ValueError, match="does not match its digest"):
            unseal(swapped)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("   ", "Expecting value"),
        ("hello", "Expecting value"),
        ("{", "Expecting"),
        ("[]", "not a JSON object"),
        ('"text"', "not a JSON object"),
        ("3", "not a JSON object"),
        ("null", "not a JSON object"),
        ("{}", "digest is missing"),
        ('{"a": 1}', "digest is missing"),
        ('{"a": 1, "digest": null}', "digest is missing"),
        ('{"a": 1, "digest": ""}', "does not match"),
        ('{"a": 1, "digest": 5}', "does not match"),
        ('{"a": 1, "digest": ["x"]}', "does not match"),
        ('{"a": 1, "a": 1, "digest": "x"}', "a key occurs twice"),
        ('{"a": {"b": 1, "b": 2}, "digest": "x"}', "a key occurs twice"),
        ('{"a": 1, "digest": "x", "digest": "x"}', "a key occurs twice"),
        ('{"a": NaN, "digest": "x"}', "NaN is not a number"),
        ('{"a": -Infinity, "digest": "x"}', "-Infinity is not a number"),
        ('{"a": 1e999, "digest": "x"}', "JSON"),
        ('{"a": "\\ud800", "digest": "x"}', "surrogates"),
        ('{"a": ' + "9" * 5000 + ', "digest": "x"}', "limit"),
        ("[" * 100_000, "not a JSON text"),
        (b"\xff\xff\xff\xff{}", "not a JSON text"),
        (b'{"a": "\xc3\x28", "digest": "x"}', "not a JSON text"),
        (b"\x00" * 64, "Expecting value"),
    ],
)
def test_what_is_no_sealed_document_is_a_value_error(text: str | bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        unseal(text)


def test_any_depth_of_nesting_is_a_value_error() -> None:
    # Reading and writing JSON reach the interpreter's limit at slightly different depths.
    for depth in range(600, 1100):
        with pytest.raises(ValueError, match=r"digest|JSON"):
            unseal('{"digest": "x", "a": ' + "[" * depth + "]" * depth + "}")


def test_a_duplicate_key_is_refused_even_with_a_fitting_digest() -> None:
    sealed = seal({"a": 1})
    doubled = sealed.replace('"a": 1', '"a": 2, "a": 1')
    with pytest.raises(ValueError, match="a key occurs twice"):
        unseal(doubled)


def test_fields_are_returned_when_they_are_the_known_ones() -> None:
    assert fields_of("thing", {"a": 1}, {"a"}) == {"a": 1}
    assert fields_of("thing", {"a": 1, "b": 2}, {"a"}, {"b", "c"}) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("given_fields", "reason"),
    [
        ({}, "thing lacks a, b"),
        ({"a": 1}, "thing lacks b"),
        ({"a": 1, "b": 2, "y": 3, "x": 4}, "thing has unknown fields x, y"),
        ([], "thing must be a JSON object, got list"),
        (None, "thing must be a JSON object, got NoneType"),
        ("ab", "thing must be a JSON object, got str"),
    ],
)
def test_missing_and_unknown_fields_are_named(given_fields: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        fields_of("thing", given_fields, {"a", "b"}, {"c"})
