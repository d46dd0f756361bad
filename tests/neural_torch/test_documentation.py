"""The example of the page on networks that needs torch, run as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

PAGE = Path(__file__).parents[2] / "docs" / "neural.md"


def test_the_example_with_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = PAGE.read_text(encoding="utf-8").split("```python\n")[1:]
    (source,) = [block.split("```")[0] for block in blocks if "import torch" in block]
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(source, "docs/neural.md", "exec"), names)  # noqa: S102
    ranker = names["ranker"]
    assert isinstance(ranker.module.module(4), torch.nn.Module)
    assert ranker.score(names["X"], names["y"]) > 0.6
    assert names["verify"](ranker.certificate_, trusted=[names["Net"]]).holds
