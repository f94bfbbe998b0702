"""Sphinx configuration. Build: python -m sphinx -W --keep-going docs docs/_build/html"""

import sys
from pathlib import Path

from docutils import nodes
from sphinx_gallery.directives import imgsgnode

import counterpoise

sys.path.insert(0, str(Path(__file__).parent))

from evidence_tables import EvidenceTable
from executed import Executed
from figure_style import GUIDE_STYLE
from name_tables import NameTable

project = "counterpoise"
author = "The counterpoise developers"
copyright = "the counterpoise developers"
version = release = counterpoise.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # the pages need no network: MathJax lies beside them
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.json", "gallery/*.zip"]
nitpicky = True
default_role = "code"

# --- API ---------------------------------------------------------------------------------------
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the autosummary template lists them
numpydoc_class_members_toctree = False


def skip_foreign(app, what, name, obj, skip, options):
    """Leave out members that classes inherit from other libraries."""
    return skip or not str(getattr(obj, "__module__", "")).startswith("counterpoise")


def scroll_figures(app, doctree):
    """Put the figures of tutorials into boxes that scroll on a narrow screen."""
    for node in list(doctree.findall(imgsgnode)):
        box = nodes.container(classes=["scroll-figure"])
        node.replace_self(box)
        box += node


def setup(app):
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("doctree-read", scroll_figures)
    app.add_directive("evidence-table", EvidenceTable)
    app.add_directive("executed", Executed)
    app.add_directive("name-table", NameTable)


# --- Figures -----------------------------------------------------------------------------------
plot_rcparams = GUIDE_STYLE
plot_apply_rcparams = True
plot_formats = ["svg"]
plot_html_show_formats = False
plot_html_show_source_link = False
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "image_srcset": ["2x"],
    "reset_modules": ("matplotlib", "figure_style.apply"),
    "ignore_repr_types": r"matplotlib",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
}

# --- HTML --------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "counterpoise"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "start/index": []},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {
    page: []
    for page in ("index", "start/*", "gallery/*", "coming_from", "changelog", "contributing")
}
