"""The Python of the documentation, run as it stands."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.documentation.pages import DASK, OTHER_LIBRARIES, PAGES, ROOT, TORCH, blocks, name


def plain(page: Path) -> list[str]:
    """Return the Python blocks of a page that are no sessions."""
    return [
        block.text
        for block in blocks(page)
        if block.language == "python" and ">>> " not in block.text
    ]


SESSIONS = [
    page
    for page in PAGES
    if name(page) != DASK and any(">>> " in block.text for block in blocks(page))
]
SCRIPTS = [page for page in PAGES if name(page) not in {TORCH, *OTHER_LIBRARIES} and plain(page)]
# What a reader of the page has at this point.
BEFORE = {
    "CONTRIBUTING.md": """
from pairdp.algorithms import GradientDescent as MyAlgorithm

formula = second_route = lambda n: 2 / n
""",
    "docs/privacy.md": """
from pathlib import Path

import numpy as np

Path("mypackage").mkdir()
Path("mypackage/losses.py").write_text('''
from dataclasses import dataclass
from pairdp.losses import LogisticRanking

@dataclass(frozen=True)
class MyLoss(LogisticRanking):
    pass
''')
from mypackage.losses import MyLoss
from pairdp import Budget, PrivateRanker
from pairdp.constraints import L2Ball
from pairdp.online import OnlineDescent, OnlineSession
from pairdp.problem import Problem

y = np.arange(40) % 2
x = np.random.default_rng(0).normal(size=(40, 2)) / 4 + y[:, None] / 4
ranker = PrivateRanker(5.0, loss=MyLoss(), algorithm="DPGDSC", data_norm=1.0).fit(x, y)
ranker.save("model.pairdp")
plan = OnlineDescent(4).plan(Problem(MyLoss(), L2Ball(1.0), 0.1), 40, 2, Budget(1.0, 1e-5))
session = OnlineSession(plan)
session.learn(x[:10], 2 * y[:10] - 1)
session.save("stream")
""",
}
# What must be true after the blocks.
AFTER = {
    "CONTRIBUTING.md": """
from pairdp import PrivateRanker
PrivateRanker(1.0, data_norm=1.0).plan(1000, 3)
""",
    "docs/privacy.md": """
assert model.loss == MyLoss() and report.holds and stream.seen == 10
""",
}


@pytest.mark.parametrize("page", SESSIONS, ids=name)
def test_sessions_of_a_page_print_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # A closing fence would be read as expected output.
    text = page.read_text(encoding="utf-8").replace("```", "")
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    results = doctest.DocTestRunner().run(examples)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("page", SCRIPTS, ids=name)
def test_scripts_of_a_page_run(page: Path, tmp_path: Path) -> None:
    source = "\n".join([BEFORE.get(name(page), ""), *plain(page), AFTER.get(name(page), "")])
    path = os.pathsep.join([str(ROOT / "src"), str(tmp_path)])
    subprocess.run(
        [sys.executable, "-c", source],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        check=True,
        timeout=100,
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the other libraries
@pytest.mark.parametrize("page", OTHER_LIBRARIES)
def test_code_of_other_libraries(page: str) -> None:
    compiled = compile("\n".join(plain(ROOT / page)), page, "exec")
    if find_spec(OTHER_LIBRARIES[page]) is not None:
        exec(compiled, {})  # noqa: S102
