"""One cause that reddens many cells is told once, in whichever process, and JUnit has every result."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

BROKEN = """
import pytest

@pytest.fixture(scope="session")
def retrievers(catalog):
    def search(query, k):
        raise ConnectionError("index at port 9200 is down")
    return {"bm25": search}
"""


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "xdist"])
def test_a_failed_index_is_told_once_for_three_hundred_cells(project, workers):
    strata = {f"q{n:03d}": (f"text {n}", f"kind {n:03d}") for n in range(100)}
    toml = TOML_OF_THREE
    project.write_goldset(toml=toml, queries=strata, gold={q: {"a": 2} for q in strata})
    project.write("conftest.py", BROKEN)
    result = project.run_apart("--junitxml=out.xml", "-q", *workers)
    assert result.ret == 1
    text = result.stdout.str()
    assert text.count("in search") == 1
    assert text.count("failed for the same cause as test_search.py::test_pinned[store") == 300
    suite = ElementTree.parse(project.path / "out.xml").getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("301", "301", "0")


TOML_OF_THREE = """
name = "store"
relevance_level = 2

[subjects.bm25]
measures = ["recall@2", "mrr@2", "success@2"]
"""
