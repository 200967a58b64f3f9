"""The plugin: beside the assertion helpers, the only room that imports pytest.

PYTEST_DONT_REWRITE: pytest opens this at every start, and there is no assertion in it to explain.
"""
