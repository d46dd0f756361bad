"""Classes as values: by their import path, and only those that a caller trusts."""

from __future__ import annotations

import pytest

from pairdp import Budget
from pairdp.storage import Trusted, UnknownObjectError, UntrustedClassError, decode, encode
from pairdp.storage.codec import user_classes


class Own:
    """A class of a user."""


def test_a_class_is_stored_by_its_path_and_needs_trust() -> None:
    stored = encode([Own, 3])
    path = f"{__name__}:Own"
    assert stored == {"list": [{"type": path}, 3]}
    assert list(user_classes(stored)) == [path]
    with pytest.raises(UntrustedClassError, match="which is not part of pairdp"):
        decode(stored)
    assert decode(stored, Trusted([Own])) == [Own, 3]


def test_classes_of_the_library_are_no_values() -> None:
    with pytest.raises(UnknownObjectError, match="cannot be stored"):
        encode(Budget)


def test_a_dict_of_the_user_names_no_class() -> None:
    given = {"type": "relu", "class": {"class": "x:Y", "fields": {}}}
    assert list(user_classes(encode(given))) == []
    assert decode(encode(given)) == given
    assert list(user_classes(encode({"type": Own}))) == [f"{__name__}:Own"]
