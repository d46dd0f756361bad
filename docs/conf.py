"""Configuration of the documentation site; ``make docs`` builds it, without the network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS / "_ext"))

from pairdp import __version__

project = "pairdp"
author = "The pairdp developers"
copyright = author  # noqa: A001
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "public_reference",
    "repository_links",
]
exclude_patterns = ["_build", "_templates", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
nitpicky = True
nitpick_ignore_regex = [("py:class", r"pairdp\..*Settings")]  # types of properties; not public
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # numpydoc docstrings state the types, in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
default_role = "name"
highlight_language = "text"
add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

_GALLERIES = ["tutorials", "gallery"]
sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples" / name) for name in _GALLERIES],
    "gallery_dirs": _GALLERIES,
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "_backreferences",
    "doc_module": ("pairdp",),
    "remove_config_comments": True,
    "download_all_examples": False,
    "min_reported_time": 1000,
    "show_memory": False,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
}

html_theme = "pydata_sphinx_theme"
html_title = f"pairdp {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "logo": {"text": "pairdp"},
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc", "sg_download_links"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "first_model": [], "search": []}  # without pages below them

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small examples are slower in more threads
