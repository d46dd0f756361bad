"""Whether torch is installed, which all other tests of this folder need."""

from __future__ import annotations

import pytest


def test_torch_has_what_is_used() -> None:
    torch = pytest.importorskip("torch", reason="torch is missing: make test-torch installs it")
    assert callable(torch.func.vmap)
    assert callable(torch.func.grad_and_value)
    assert callable(torch.func.functional_call)
