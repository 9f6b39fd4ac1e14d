"""Sphinx: the site of the documentation (`make docs`).

The folder of sources is that of the project, so that every page is read where it lies
and links hold here as they do in the repository. Nothing is loaded from a network.
"""

import sys
from pathlib import Path

import matplotlib

sys.path.insert(0, str(Path(__file__).parent))

project = "leastaction"
author = copyright = "The leastaction authors"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "numpydoc",
    "pages",
]
root_doc = "README"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/**",
    "config/README.md",
    "results/README.md",
    "benchmarks/results.md",
    "src/leastaction/*/README.md",
    "src/leastaction_papers/**/README.md",
]
exclude_patterns = [".*", "build", "site", "logs", "tests", "results/*/**"]

html_theme = "furo"
html_title = "leastaction"
html_copy_source = False
html_show_sphinx = False
html_css_files = ["site.css"]
html_static_path = [
    "static",
    str(Path(matplotlib.get_data_path(), "fonts/ttf/STIXGeneral.ttf")),
]
html_math_renderer = "mathml"
highlight_language = "none"
default_role = "literal"
pygments_style = "friendly"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
# Notebooks carry their outputs; tests/docs/test_typed.py runs them and compares.
nb_execution_mode = "off"
nb_render_markdown_format = "myst"

add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autosummary_generate = False
numpydoc_show_class_members = False
python_maximum_signature_line_length = 72
toc_object_entries = False
