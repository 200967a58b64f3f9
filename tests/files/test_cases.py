"""Small inputs from public bug reports; each test names its case."""

from __future__ import annotations

import math

import pytest

from pytest_retrieval.errors import FileError, GoldSetError, QueryMismatchError, RetrievalWarning
from pytest_retrieval.files.goldset import load_goldset
from pytest_retrieval.files.trec import load_qrels, load_run
from pytest_retrieval.measures.table import evaluate


def test_cover_02_query_ids_that_do_not_meet(write):
    qrels = load_qrels(write("qrels", "q1 0 a 1\nq2 0 a 1\n"))
    run = load_run(write("run", "q1 Q0 a 1 1 t\nq02 Q0 a 1 1 t\n"))
    with pytest.raises(QueryMismatchError) as error:
        evaluate(qrels, run, ["recall@1"])
    assert "q02" in str(error.value)
    assert "q2" in str(error.value).replace("q02", "")


def test_norel_01_a_query_without_a_relevant_document(write):
    path = write("qrels", "q1 0 a 1\nq2 0 b 0\n")
    run = load_run(write("run", "q1 Q0 a 1 1 t\nq2 Q0 b 1 1 t\n"))
    with pytest.warns(RetrievalWarning, match=r"1 of 2 queries have no relevant document .*: q2$"):
        qrels = load_qrels(path)
    table = evaluate(qrels, run, ["recall@1"])
    assert table["recall@1"]["q1"] == 1.0
    assert math.isnan(table["recall@1"]["q2"])
    assert table.mean()["recall@1"] == 1.0
    assert table.undefined == {"recall@1": ("q2",)}


def test_norel_01_in_a_gold_set_is_an_error_unless_allowed(write):
    write("gs/goldset.toml", 'name = "store"')
    write("gs/queries.csv", "query_id,query\nq1,x\nq2,y\n")
    write("gs/qrels.trec", "q1 0 a 1\n")
    with pytest.raises(GoldSetError, match=r"queries\.csv:3: query 'q2' has no document of grade 1 or above"):
        load_goldset("gs")
    write("gs/goldset.toml", 'name = "store"\nno_relevant = "undefined"')
    run = load_run(write("run", "q1 Q0 a 1 1 t\nq2 Q0 b 1 1 t\n"))
    table = evaluate(load_goldset("gs").qrels, run, ["recall@1"])
    assert table.undefined == {"recall@1": ("q2",)}


def test_dup_03_a_gold_id_named_twice_is_one_item(write):
    qrels = load_qrels(write("qrels", "q 0 a 1\nq 0 a 1\n"))
    table = evaluate(qrels, load_run(write("run", "q Q0 a 1 1 t\n")), ["recall@1", "ndcg@1", "ap@1"])
    assert len(qrels["q"]) == 1
    assert dict(table.mean()) == {"recall@1": 1.0, "ndcg@1": 1.0, "ap@1": 1.0}


def test_id_03_a_grade_is_a_whole_number(write):
    with pytest.raises(FileError, match=r"qrels:1: grade '0\.5' of document 'a'"):
        load_qrels(write("qrels", "q 0 a 0.5\nq 0 b 2.0\nq 0 c 1\n"))
    assert load_qrels(write("qrels", "q 0 b 2.0\nq 0 c 1\n"))["q"] == {"b": 2, "c": 1}


def test_gold_01_a_gold_id_that_left_the_catalog(write):
    write("gs/goldset.toml", 'name = "store"')
    write("gs/catalog.csv", "doc_id\nnew1\nnew2\n")
    write("gs/queries.csv", "query_id,query\nq1,x\nq2,y\n")
    write("gs/qrels.trec", "q1 0 old1 1\nq2 0 new2 1\n")
    with pytest.raises(GoldSetError) as error:
        load_goldset("gs")
    (problem,) = error.value.problems
    assert "'old1'" in problem.message
    assert "'q1'" in problem.message
    assert "the gold set is stale" in problem.message
