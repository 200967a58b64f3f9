from __future__ import annotations

from pathlib import Path

import pytest

from pytest_retrieval.errors import GoldSetError, RetrievalWarning, SettingsError
from pytest_retrieval.files.goldset import load_goldset, read_settings

CORPUS = '{"_id": "d1", "title": "Kea", "text": "A parrot."}\n{"_id": "d2", "title": "", "text": "A lamp."}\n'
QUERIES = '{"_id": "1", "text": "parrot", "metadata": {}}\n{"_id": "2", "text": "lamp", "metadata": {}}\n'
HEADER = "query-id\tcorpus-id\tscore\n"


@pytest.fixture
def beir(write):
    def folder(**qrels: str) -> Path:
        write("birds/corpus.jsonl", CORPUS)
        write("birds/queries.jsonl", QUERIES)
        for split, rows in qrels.items():
            write(f"birds/qrels/{split}.tsv", HEADER + rows)
        return Path("birds")

    return folder


def test_as_it_is(beir):
    goldset = load_goldset(beir(train="1\td1\t1\n", test="2\td2\t1\n2\td1\t0\n"))
    assert goldset.name == "birds"
    assert goldset.qrels.relevance_level == 1
    assert dict(goldset.qrels) == {"1": {"d1": 1}, "2": {"d2": 1, "d1": 0}}
    assert goldset.qrels.splits == {"1": "train", "2": "test"}
    assert goldset.gate_splits == ("train",)
    assert goldset.text_of("1") == "parrot"
    assert goldset.catalog is not None
    assert goldset.catalog.loc["d1"].to_dict() == {"title": "Kea", "text": "A parrot."}
    assert read_settings("birds").as_is


def test_a_lone_test_split_is_gated(beir):
    assert load_goldset(beir(test="1\td1\t1\n2\td2\t1\n")).gate_splits == ("test",)


def test_queries_that_nobody_judged_are_left_out_by_name(beir):
    with pytest.warns(RetrievalWarning) as warned:
        goldset = load_goldset(beir(dev="1\td1\t1\n"))
    assert list(goldset.qrels) == list(goldset.queries.index) == ["1"]
    assert warned[0].filename == __file__
    assert [str(warning.message) for warning in warned] == [
        "birds: 1 of 2 queries have no judgments in qrels/ and are left out: 2"
    ]


def test_conventions_are_told(beir):
    with pytest.warns(RetrievalWarning) as warned:
        goldset = load_goldset(beir(test="1\td1\t3\n2\td2\t0\n"))
    assert [str(warning.message) for warning in warned] == [
        "birds: grades go up to 3 and relevance_level is 1; write a goldset.toml to set another",
        "birds: 1 of 2 queries have no relevant document at relevance_level 1 and stay out of most means: 2",
    ]
    assert {warning.filename for warning in warned} == {__file__}
    assert dict(goldset.qrels)["2"] == {"d2": 0}


def test_with_a_goldset_toml(beir, write):
    folder = beir(train="1\td1\t3\n", test="2\td2\t2\n")
    write("birds/goldset.toml", 'name = "parrots"\nrelevance_level = 2\n')
    goldset = load_goldset(folder)
    assert goldset.name == "parrots"
    assert goldset.qrels.relevance_level == 2
    assert goldset.qrels.splits == {"1": "train", "2": "test"}


def test_a_goldset_toml_takes_its_rules_with_it(beir, write):
    folder = beir(test="1\td1\t3\n2\td2\t0\n")
    write("birds/goldset.toml", 'name = "parrots"\n')
    with pytest.raises(GoldSetError) as error:
        load_goldset(folder)
    assert [str(problem).partition(";")[0] for problem in error.value.problems] == [
        "birds/goldset.toml: the only split is 'test', which is not gated unless asked for, so nothing"
        " would be gated",
        "birds/goldset.toml: grades go up to 3 but relevance_level is not stated",
    ]


def test_problems(beir):
    folder = beir(train="1\td1\t1\n1\td9\t1\n", test="1\td2\t1\n2\td2\t0.5\n1\td1\t0\n3\td1\t1\n")
    with pytest.raises(GoldSetError) as error:
        load_goldset(folder)
    assert [str(problem) for problem in error.value.problems] == [
        "birds/qrels/test.tsv:3: grade '0.5' of document 'd2' in query '2' is not a whole number; allowed are"
        " integers such as 0, 1, 2",
        "birds/qrels/test.tsv:5: query '3' is judged (1 documents) but not in birds/queries.jsonl",
        "birds/qrels/train.tsv:2: query '1' is judged in split 'test' too; a query has one split",
        "birds/qrels/train.tsv:2: document 'd1' of query '1' has grade 1 here and grade 0 in"
        " birds/qrels/test.tsv:4; keep one",
        "birds/qrels/train.tsv:3: document 'd9', judged for query '1', is not in the catalog: the gold"
        " set is stale."
        " Remove the judgment or bring the document back",
    ]


def test_a_folder_that_is_neither(write):
    write("birds/queries.jsonl", QUERIES)
    with pytest.raises(SettingsError, match=r"birds/goldset\.toml: no such file"):
        load_goldset("birds")
    write("birds/corpus.jsonl", CORPUS)
    with pytest.raises(SettingsError, match=r"birds/goldset\.toml: no such file"):
        load_goldset("birds")


def test_packed(write):
    write("birds/corpus.jsonl.gz", CORPUS)
    write("birds/queries.jsonl.gz", QUERIES)
    write("birds/qrels/test.tsv.gz", HEADER + "1\td1\t1\n2\td2\t1\n")
    assert len(load_goldset("birds").qrels) == 2
