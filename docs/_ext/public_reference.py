"""The reference: a page for every public package, and one for every public name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import GenericAlias, ModuleType
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.roles import XRefRole

import pairdp

_KINDS = ("Classes", "Functions", "Exceptions and warnings", "Modules")


def public_packages() -> Iterator[ModuleType]:
    """Yield pairdp and its packages that declare public names."""
    yield pairdp
    for found in sorted(pkgutil.iter_modules(pairdp.__path__), key=lambda module: module.name):
        if found.ispkg and not found.name.startswith("_"):
            module = importlib.import_module(f"pairdp.{found.name}")
            if getattr(module, "__all__", None):
                yield module


def public_names() -> dict[str, dict[str, str]]:
    """Return for every package its public names, each with the full name that is documented.

    An object that several packages export is documented once, in the first of them.
    """
    documented: dict[int, str] = {}
    names: dict[str, dict[str, str]] = {}
    for module in public_packages():
        names[module.__name__] = {}
        for name in sorted(module.__all__, key=str.lower):
            value = getattr(module, name)
            full = f"{module.__name__}.{name}"
            if inspect.isclass(value) or inspect.isfunction(value):
                full = documented.setdefault(id(value), full)
            names[module.__name__][name] = full
    return names


def _kind(full: str) -> str:
    package, _, name = full.rpartition(".")
    value = getattr(importlib.import_module(package), name)
    if isinstance(value, type) and not isinstance(value, GenericAlias):
        return "Exceptions and warnings" if issubclass(value, Exception) else "Classes"
    if isinstance(value, ModuleType):
        return "Modules"
    return "Functions" if inspect.isroutine(value) else "Values"


def _listing(title: str, names: list[str], toctree: bool) -> str:
    options = "   :nosignatures:\n" + ("   :toctree: generated\n" if toctree else "")
    lines = "".join(f"   {name}\n" for name in names)
    return f".. rubric:: {title}\n\n.. autosummary::\n{options}\n{lines}\n"


def _package_page(package: str, names: dict[str, str]) -> str:
    page = f"{package}\n{'=' * len(package)}\n\n.. automodule:: {package}\n   :no-members:\n\n"
    own = [full for name, full in names.items() if full == f"{package}.{name}"]
    others = [full for full in names.values() if full not in own]
    for title in _KINDS:
        if chosen := [full.rpartition(".")[2] for full in own if _kind(full) == title]:
            page += _listing(title, chosen, toctree=True)
    for full in own:
        if _kind(full) == "Values":
            page += f".. py:data:: {full.rpartition('.')[2]}\n\n"
    if others:
        page += _listing("Also exported here", [f"~{full}" for full in others], toctree=False)
    return page


def write_pages(app: Sphinx) -> None:
    """Write ``reference/<package>.rst`` for every public package, and remove pages of no name."""
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    listed = public_names()
    documented = {full for names in listed.values() for full in names.values()}
    for file in folder.glob("generated/*.rst"):
        if file.stem not in documented or _kind(file.stem) == "Values":
            file.unlink()
    for package, names in listed.items():
        page, file = _package_page(package, names), folder / f"{package}.rst"
        if not file.exists() or file.read_text(encoding="utf-8") != page:
            file.write_text(page, encoding="utf-8")


class NameRole(XRefRole):
    """A name in single backticks: a link if it is documented, code otherwise."""

    def process_link(
        self,
        env: BuildEnvironment,
        refnode: nodes.Element,
        has_explicit_title: bool,
        title: str,
        target: str,
    ) -> tuple[str, str]:
        """Return title and target, and note where the name stands."""
        refnode["py:module"] = env.ref_context.get("py:module")
        refnode["py:class"] = env.ref_context.get("py:class")
        refnode["refdomain"], refnode["reftype"], refnode["optional"] = "py", "obj", True
        return title, target.strip("()")


def resolve_short_name(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.Element
) -> Any:
    """Link a name without its package, if only one package has it; else leave it as code."""
    if not node.get("optional"):
        return None
    domain = env.get_domain("py")
    ends = f".{node['reftarget']}"
    fits = [name for name in domain.objects if name.endswith(ends) and name.count(".") <= 2]
    if len(fits) != 1:
        return text
    node["reftarget"] = fits[0]
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", fits[0], node, text)


def skip_foreign_members(
    app: Sphinx, what: str, name: str, value: object, skip: bool, options: object
) -> bool | None:
    """Leave out what classes inherit from other libraries."""
    value = getattr(value, "fget", value)
    if not callable(value):
        return None
    plain = inspect.unwrap(value)
    owner = getattr(plain, "__objclass__", plain)  # methods of classes in C have no module
    module = getattr(owner, "__module__", "pairdp")
    return None if str(module).startswith("pairdp") else True


_CODE = re.compile(r"(`[^`]*`)")
_BAR = re.compile(r"(?<!\\)\|")


def escape_bars(
    app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Escape the bars of norms, which would begin a substitution."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith(">>>"):
            lines[i] = "".join(
                part if part.startswith("`") else _BAR.sub(r"\\|", part)
                for part in _CODE.split(line)
            )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register this with Sphinx."""
    app.add_role("name", NameRole(innernodeclass=nodes.literal))
    app.connect("builder-inited", write_pages, priority=100)  # before autosummary reads them
    app.connect("missing-reference", resolve_short_name)
    app.connect("autodoc-skip-member", skip_foreign_members)
    app.connect("autodoc-process-docstring", escape_bars, priority=900)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
