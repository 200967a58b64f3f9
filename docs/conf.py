"""How Sphinx builds the documentation; nothing here asks the network."""

from pytest_retrieval import __version__

project = "pytest-retrieval"
author = "The pytest-retrieval authors"
copyright = f"the {project} authors"  # noqa: A001  Sphinx's name
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"{project} {release}"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
nitpicky = False
