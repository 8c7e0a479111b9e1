"""The documentation site: `make docs` builds it, offline, and fails on the first warning.

Markdown stays Markdown (MyST). Pages that the site makes itself go to folders that git ignores: the gallery's
(`_gallery`) and the public names' (`_api`).
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "site"))

import figures_of_scripts  # noqa: E402

from topicture import __version__  # noqa: E402

project = "Topicture"
copyright = "the Topicture authors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "proofs",
    "formulas",
]
exclude_patterns = ["_build", "site", "gallery", "README.md", "decisions/README.md"]
nitpicky = False
smartquotes = False

# --- Markdown ------------------------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "dollarmath", "attrs_inline"]
myst_heading_anchors = 4
suppress_warnings = [
    "config.cache",  # the gallery's scraper is a function, which can't be kept between builds
    "ref.python",  # a word such as "steps" in a docstring is the name of several things
]

# --- Gallery -------------------------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "_gallery",
    "filename_pattern": r"plot_",
    "image_scrapers": (figures_of_scripts.scrape,),
    "reset_modules": (),
    "download_all_examples": False,
    "remove_config_comments": True,
    "min_reported_time": 0,
    "show_memory": False,
    "show_signature": False,
    "nested_sections": True,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "backreferences_dir": "_gallery/backreferences",
    "doc_module": ("topicture",),
    "subsection_order": figures_of_scripts.Sections(),
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (400, 280),
    "write_computation_times": False,
}

# --- Public names --------------------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_default_options = {"members": True}
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
templates_path = ["site/templates"]


def setup(app):
    """Docstrings are plain text with such things as |x| and x_, which reStructuredText takes for something else."""
    app.connect("autodoc-process-docstring", lambda app, what, name, obj, options, lines: _escape(lines))
    app.connect("autodoc-skip-member", _is_scikit_learns)
    app.connect("source-read", _within_the_site)


def _is_scikit_learns(app, what, name, obj, skip, options):
    """Methods that scikit-learn adds, whose docstrings lead to pages of its own."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def _within_the_site(app, name, source):
    """The README is the first page of the repository; on the site that is the tour."""
    source[0] = re.sub(r"\]\(\.\./README\.md[^)]*\)", "](tour.md)", source[0])


def _escape(lines):
    for number, line in enumerate(lines):
        if "``" not in line and not line.lstrip().startswith(".."):
            lines[number] = re.sub(r"(?<=\w)_(?=[ ,+)])|\|", lambda sign: f"\\{sign[0]}", line)


# --- Look ----------------------------------------------------------------------------------------------------------

html_theme = "furo"
html_title = "Topicture"
html_static_path = ["site/static"]
html_css_files = ["topicture.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00588b", "color-brand-content": "#00588b"},
    "dark_css_variables": {"color-brand-primary": "#7cc4f2", "color-brand-content": "#7cc4f2"},
    "navigation_with_keys": True,
}
html_math_renderer = "mathml"
pygments_style = "friendly"
pygments_dark_style = "github-dark"
