"""An error about a project's input shows the project's line, and none of ours unless that is asked for."""

from __future__ import annotations

import pytest

from pytest_retrieval import InputError, Qrels, evaluate
from pytest_retrieval.plugin.tracebacks import shorten

BODIES = [
    ('compare(runs["bm25"], runs["bm25"], "recal@2")', "*MeasureError: *recal@2*"),
    ('runs["lettrs"]', "*KeyError: *no retriever is named 'lettrs'; there are bm25*"),
    (
        'compare({"zz": 1.0}, {"zz": 1.0})',
        "*QueryMismatchError: a is about 1 queries that the gold set lacks*",
    ),
    ('compare(runs["bm25"], runs["bm25"], "recall@2", split="dev")', "*InputError: *no splits*"),
    ('evaluate(qrels, runs["bm25"], ["recall"])', "*MeasureError: *"),
    ('assert_recall(runs["bm25"], qrels, k=0, at_least=0.5)', "*Error: *k*"),
]


@pytest.mark.parametrize("body, said", BODIES)
def test_only_the_projects_line_is_shown(project, body, said):
    test = project.write(
        "test_search.py",
        "from pytest_retrieval import assert_recall, evaluate\n\n"
        f"def test_it(runs, qrels, compare):\n    {body}\n",
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f">       {body.replace('[', '[[]')}", f"E  {said}", f"{test.name}:4: *"])
    assert "pytest_retrieval/" not in result.stdout.str()


def test_every_frame_is_shown_where_that_is_asked_for(project):
    project.write("test_search.py", f"def test_it(runs, compare):\n    {BODIES[0][0]}\n")
    assert "pytest_retrieval/" in project.run("--full-trace").stdout.str()


def test_a_traceback_of_ours_alone_is_left():
    with pytest.raises(InputError) as caught:
        evaluate(Qrels({"q": {"d": 1}}), {}, ["recall@1"])
    error = caught.value
    assert error.__traceback__ is not None
    error.__traceback__ = error.__traceback__.tb_next
    before = error.__traceback__
    shorten(error)
    assert error.__traceback__ is before is not None
