"""BEIR folders become gold sets of their own, with strata and splits, and nothing is left out unsaid."""

from __future__ import annotations

import pytest

from pytest_retrieval.errors import GoldSetError
from pytest_retrieval.files.beir import goldset_of_beir

HEADER = "query-id\tcorpus-id\tscore\n"


@pytest.fixture
def beir(write):
    """Write a BEIR folder with two splits."""
    write("beir/corpus.jsonl", '{"_id": "c1", "title": "", "text": "lamp"}\n{"_id": "c2", "text": "rug"}\n')
    write(
        "beir/queries.jsonl",
        '{"_id": "a", "text": "lamp"}\n{"_id": "b", "text": "rug 9"}\n{"_id": "c", "text": "never judged"}\n',
    )
    write("beir/qrels/dev.tsv", "query-id\tcorpus-id\tscore\na\tc1\t1\n")
    write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\nb\tc2\t2\nb\tc1\t0\n")
    return "beir"


def test_a_beir_folder(beir):
    goldset = goldset_of_beir(beir, "mine")
    assert goldset.name == "mine"
    assert dict(goldset.qrels) == {"a": {"c1": 1}, "b": {"c2": 2, "c1": 0}}
    assert goldset.qrels.strata == {"a": "one_word", "b": "digits"}
    assert goldset.qrels.splits == {"a": "dev", "b": "test"}
    assert goldset.gate_splits == ("dev",)
    assert goldset.provenance == "The BEIR folder beir."
    assert list(goldset.catalog.index) == ["c1", "c2"]


def test_a_folder_that_is_no_beir_folder(write, tmp_path):
    write("other/readme.md", "x")
    with pytest.raises(GoldSetError) as caught:
        goldset_of_beir("other", "mine")
    assert [problem.message.split(";")[0] for problem in caught.value.problems] == [
        "there is no corpus.jsonl",
        "there is no queries.jsonl",
        "there is no qrels/<split>.tsv",
    ]


def test_a_beir_folder_in_which_nothing_could_be_found(beir, write):
    write("beir/corpus.jsonl", '{"_id": "c1", "text": ""}\n{"_id": "c2"}\n')
    with pytest.raises(GoldSetError, match="no document has a text beside its id"):
        goldset_of_beir(beir, "mine")


def refused(folder="beir", **options):
    with pytest.raises(GoldSetError) as caught:
        goldset_of_beir(folder, "mine", **options)
    return [str(problem) for problem in caught.value.problems]


def test_queries_that_nobody_judged_are_told(beir):
    notes = []
    goldset_of_beir(beir, "mine", notes=notes)
    assert notes[0] == "beir: 1 of 3 queries have no judgments in qrels/ and are left out: c"


def test_three_splits_and_which_of_them_are_gated(beir, write):
    write("beir/qrels/train.tsv", HEADER + "c\tc2\t1\n")
    assert goldset_of_beir(beir, "mine").gate_splits == ("dev", "train")
    assert goldset_of_beir(beir, "mine", gate_splits=["test"]).gate_splits == ("test",)


def test_only_the_test_split_is_gated(beir, tmp_path):
    (tmp_path / "beir/qrels/dev.tsv").unlink()
    assert goldset_of_beir(beir, "mine").gate_splits == ("test",)


def test_a_misspelt_file_of_qrels(beir, write):
    write("beir/qrels/tset.tsv", HEADER + "c\tc2\t1\n")
    assert refused() == [
        "beir: split 'tset' (1 query: c) looks like 'test'; correct it, or, if it is meant, say so: --split"
        ' dev --split test --split tset for pytest-retrieval init, or splits = ["dev", "test", "tset"] in a'
        " goldset.toml"
    ]
    goldset = goldset_of_beir(beir, "mine", splits=["dev", "test", "tset"])
    assert goldset.gate_splits == ("dev", "tset")


def test_a_split_that_has_no_file(beir):
    assert refused(splits=["dev", "test", "train"]) == [
        "beir: splits names 'train', which no query has; the queries have dev, test"
    ]


def test_qrels_of_another_suffix_are_not_left_out_in_silence(beir, write):
    write("beir/qrels/train.csv", "c,c2,1\n")
    write("beir/qrels/README.md", "x")
    assert refused() == [
        "beir/qrels: train.csv would be left out, for only .tsv and .tsv.gz count: rename or remove it"
    ]


def test_qrels_without_their_header(beir, write):
    write("beir/qrels/train.tsv", "c\tc2\t1\n" * 3)
    assert refused() == [
        "beir/qrels/train.tsv:1: has three columns between tabs and no header; BEIR's first line is"
        " 'query-id\\tcorpus-id\\tscore'"
    ]


def test_a_folder_without_its_corpus(beir, tmp_path):
    (tmp_path / "beir/corpus.jsonl").unlink()
    assert refused() == [
        "there is no corpus.jsonl; a BEIR folder holds corpus.jsonl, queries.jsonl and qrels/<split>.tsv"
    ]
