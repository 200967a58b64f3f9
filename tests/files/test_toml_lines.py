"""Where things stand in a text of TOML."""

from __future__ import annotations

import pytest

from pytest_retrieval.files.toml_lines import Places

TEXT = """\
# depth = 9
depth = 10
grades = {none = 0, exact = 1}
splits = [
    "depth = 3",
]

[subjects.bm25]
depth = 5
measures = [
"recall@5"]
[subjects."a b".'c.d']
"x = y" = 1
[[judges]]
name = "n"
"""


@pytest.mark.parametrize(
    "path, line",
    [
        (("depth",), 2),
        (("grades",), 3),
        (("splits",), 4),
        (("subjects",), 8),
        (("subjects", "bm25"), 8),
        (("subjects", "bm25", "depth"), 9),
        (("subjects", "bm25", "measures"), 10),
        (("subjects", "a b"), 12),
        (("subjects", "a b", "c.d", "x = y"), 13),
        (("judges",), 14),
        (("judges", "name"), 15),
        (("subjects", "bm25", "requires"), 8),
        (("subjects", "dense"), 8),
        (("alpha",), None),
        ((), None),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_the_line_of_a_key_a_table_or_what_is_around_it(path, line):
    assert Places(TEXT).line(*path) == line


def test_an_empty_text_and_one_that_is_no_toml():
    assert Places("").line("name") is None
    assert Places('[[[\n= 3\nname = "open\n').line("name") == 3
