"""The code blocks of the documentation, and how each is tested.

``python -m tests.documentation.pages`` prints the inventory. A command is run unless `ONLY_CHECKED`
has it, with a reason.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Pages that are written by hand; those of the reference and the gallery are made by `make docs`.
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/explanations/*.md")])

DASK = "docs/scale.md"  # its examples and commands run in tests/dask
TORCH = "docs/neural.md"  # its example of a module runs in tests/neural_torch
TUTORIAL = "docs/tutorial_hospital.md"  # tests/cli/test_tutorial.py compares its console
BOUNDS_PAGE = "docs/estimators.md"  # its files of bounds are read in test_commands.py
OTHER_LIBRARIES = {
    f"docs/migrating_from_{name}.md": name for name in ("diffprivlib", "metric_learn", "opacus")
}

_MAKE = "installs into .venv; .ci/run does most of them"
_PIP = "installs; .ci/run and make test-versions do it"
ONLY_CHECKED = {
    ("README.md", "make demo"): _MAKE,
    ("README.md", "make test"): _MAKE,
    ("CONTRIBUTING.md", "make test"): _MAKE,
    ("CONTRIBUTING.md", "make test-slow"): _MAKE,
    ("CONTRIBUTING.md", "make test-dask"): _MAKE,
    ("CONTRIBUTING.md", "make test-peers"): _MAKE,
    ("CONTRIBUTING.md", "make test-torch"): _MAKE,
    ("CONTRIBUTING.md", "make coverage"): _MAKE,
    ("CONTRIBUTING.md", "make docs"): _MAKE,
    ("CONTRIBUTING.md", "make lint"): _MAKE,
    ("CONTRIBUTING.md", "make format"): _MAKE,
    ("CONTRIBUTING.md", "make package"): _MAKE,
    ("CONTRIBUTING.md", "make lock"): _MAKE,
    ("CONTRIBUTING.md", "make bench"): _MAKE,
    ("docs/index.md", "pip install ."): _PIP,
    ("docs/first_model.md", "pip install . pandas"): _PIP,
    ("docs/installation.md", "pip install ."): _PIP,
    ("docs/installation.md", "pip install '.[tables,plot]'"): _PIP,
    ("docs/studies.md", "pairdp study all --data DIR --out full --jobs 2"): "takes hours",
}
"""Commands that tests do not run, but whose targets, extras or options they check."""

DIRECTIVES = {"toctree", "include", "literalinclude", "grid", "grid-item-card"}
"""Directives of the site that contain no code of their own."""

_FENCE = re.compile(r"^([ >]*)(`{3,}|~{3,}|:{3,})(.*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, the number of its first line, its language and its text."""

    page: str
    line: int
    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The commands of a shell block, without comments."""
        lines = (re.sub(r"(^|\s+)#.*", "", line).strip() for line in self.text.splitlines())
        return [line for line in lines if line]

    @property
    def treatment(self) -> str:
        """How the block is tested; an error if nothing tests it."""
        if self.language.startswith("{"):
            assert self.language.strip("{}") in DIRECTIVES, f"{self.page}:{self.line}"
            return "no code"
        match self.language:
            case "python" if ">>> " in self.text:
                assert "+SKIP" not in self.text, f"{self.page}:{self.line} skips a line"
                return "run, and its output compared"
            case "python" if self.page in OTHER_LIBRARIES:
                return "compiled, and run where the other library is installed"
            case "python":
                return "run"
            case "console":
                return "run, and its output compared"
            case "json":
                return "read by the commands of the page"
            case "text" if self.page == BOUNDS_PAGE:  # Pygments does not know CSV files
                return "read by the commands of the page"
            case "shell":
                checked = [(self.page, command) in ONLY_CHECKED for command in self.commands]
                if not any(checked):
                    return "run"
                return "its options checked" if all(checked) else "run in part"
        raise AssertionError(f"{self.page}:{self.line} is in an unknown language")


def name(page: Path) -> str:
    """Return the path of a page in the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """Return all fenced blocks of a page, with those inside directives."""
    found: list[Block] = []
    opened: tuple[str, str, int, list[str]] | None = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if opened is not None:
            closing, language, start, text = opened
            if fence and fence[2] == closing and not fence[3].strip():
                found.append(Block(name(page), start, language, "".join(text)))
                opened = None
            else:
                text.append(f"{line}\n")
        elif fence:
            assert not fence[1], f"{page}:{number}: an indented block"
            language = fence[3].split()[0] if fence[3].strip() else ""
            if not fence[2].startswith(":"):
                opened = (fence[2], language, number, [])
            elif language:  # what it contains is read as part of the page
                found.append(Block(name(page), number, language, ""))
    assert opened is None, f"{page}: a block is not closed"
    return found


def all_blocks() -> list[Block]:
    """Return the blocks of all pages."""
    return [block for page in PAGES for block in blocks(page)]


def program(command: str) -> str:
    """Return the name of the program that a command starts."""
    return next(word for word in shlex.split(command) if not re.match(r"\w+=", word))


def main() -> None:
    """Print how many blocks of each page are tested in which way."""
    total: Counter[str] = Counter()
    for page in PAGES:
        counts = Counter(block.treatment for block in blocks(page))
        counts.pop("no code", None)
        total += counts
        if counts:
            print(f"{name(page)}: " + "; ".join(f"{n} {how}" for how, n in counts.items()))
    print(f"In all: {'; '.join(f'{n} {how}' for how, n in total.items())}.")
    print(f"{len(ONLY_CHECKED)} commands are not run:")
    for (page_name, command), reason in ONLY_CHECKED.items():
        print(f"  {page_name}: {command} ({reason})")


if __name__ == "__main__":
    main()
