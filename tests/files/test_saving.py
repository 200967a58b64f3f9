"""Writing a gold set: read again it is the same, and nothing is ever overwritten."""

from __future__ import annotations

import json
import warnings

import pandas as pd
import pytest

from pytest_retrieval.errors import GoldSetError, SettingsError
from pytest_retrieval.files.goldset import goldset_from_frames, load_goldset
from pytest_retrieval.files.saving import problems_of_ids, texts_of_goldset, write_new
from pytest_retrieval.files.settings import read_settings

QUERIES = pd.DataFrame(
    [
        {
            "query_id": "q1",
            "query": "red lamp",
            "stratum": "words",
            "split": "train",
            "slices": ["a", "b"],
            "must": True,
        },
        {"query_id": "q2", "query": "rüg", "stratum": "words", "split": "test", "slices": []},
        {"query_id": "q3", "query": "cars", "stratum": "none", "split": "train", "answerable": False},
    ]
)
QRELS = pd.DataFrame(
    [("q1", "c2", 2), ("q1", "c1", 1), ("q2", "c1", 2), ("q3", "c2", 0)],
    columns=["query_id", "doc_id", "grade"],
)
CATALOG = pd.DataFrame(
    [
        {"doc_id": "c1", "text": "a", "price": 3.5},
        {"doc_id": "c2", "text": None, "price": None, "tags": ["x"]},
    ]
)


def goldset(**settings):
    queries = settings.pop("queries", QUERIES)
    return goldset_from_frames(
        "store", queries, settings.pop("qrels", QRELS), settings.pop("catalog", CATALOG),
        **{"relevance_level": 2, "slices": "slices", **settings},
    )  # fmt: skip


def written(folder, value):
    texts = texts_of_goldset(value, {"bm25": ["recall@5"]})
    write_new({folder / name: text for name, text in texts.items()}, folder)
    return load_goldset(folder)


def test_what_is_written_is_read_again(tmp_path):
    before = goldset(unjudged="unknown", licence="MIT", provenance="ours", version="3", depth=50)
    after = written(tmp_path, before)
    assert after.digests == before.digests
    assert {query: after.qrels[query] for query in after.qrels} == {q: before.qrels[q] for q in before.qrels}
    assert after.qrels.strata == before.qrels.strata
    assert after.qrels.splits == before.qrels.splits
    assert after.qrels.unanswerable == before.qrels.unanswerable
    assert after.must == before.must
    assert (after.unjudged, after.licence, after.provenance, after.version) == ("unknown", "MIT", "ours", "3")
    assert (after.depth, after.qrels.relevance_level) == (50, 2)
    assert after.subjects["bm25"].measures == ("recall@5",)
    assert after.gate_also == ("all",)


def test_flags_at_their_default_and_empty_fields_are_not_written(tmp_path):
    texts = texts_of_goldset(goldset(), {})
    lines = [json.loads(line) for line in texts["queries.jsonl"].splitlines()]
    assert lines[0]["must"] is True
    assert "must" not in lines[1]
    assert "slices" not in lines[1]
    assert lines[2]["answerable"] is False
    assert "ü" in texts["queries.jsonl"]
    documents = [json.loads(line) for line in texts["catalog.jsonl"].splitlines()]
    assert documents == [
        {"doc_id": "c1", "text": "a", "price": 3.5},
        {"doc_id": "c2", "tags": ["x"]},
    ]


def test_what_an_item_lacks_is_not_written(tmp_path):
    """The frame of a catalog holds "" for it; a column that is empty for all items stays one."""
    catalog = pd.DataFrame(
        {"doc_id": ["c1", "c2", "c3"], "a": ["x", "", None], "b": [None, [], 0], "c": ["", "", ""]}
    )
    text = texts_of_goldset(goldset(catalog=catalog), {})["catalog.jsonl"]
    assert [json.loads(line) for line in text.splitlines()] == [
        {"doc_id": "c1", "a": "x", "c": ""},
        {"doc_id": "c2", "b": []},
        {"doc_id": "c3", "b": 0},
    ]


def test_without_catalog_none_is_written(tmp_path):
    assert "catalog.jsonl" not in texts_of_goldset(goldset(catalog=None), {})


def test_a_query_without_relevant_documents_says_so_in_the_settings(tmp_path):
    qrels = QRELS[QRELS["query_id"] != "q2"]
    value = goldset(qrels=qrels, no_relevant="undefined")
    assert 'no_relevant = "undefined"' in texts_of_goldset(value, {})["goldset.toml"]
    assert written(tmp_path, value).qrels["q2"] == {}


def test_one_stratum_needs_no_cell_over_all(tmp_path):
    value = goldset(queries=QUERIES.assign(stratum="words"), gate_splits=["train", "test"])
    after = written(tmp_path, value)
    assert after.gate_also == ()
    assert after.gate_splits == ("train", "test")


def test_what_nobody_said_is_asked_for(tmp_path):
    text = texts_of_goldset(goldset(), {})["goldset.toml"]
    assert "Say who asked these questions" in text
    assert "Say under which terms" in text


def test_all_or_nothing(tmp_path):
    (tmp_path / "b").write_text("ours")
    with pytest.raises(SettingsError, match=r"nothing was written, for these exist already: .*/b$"):
        write_new({tmp_path / "a": "x", tmp_path / "b": "y"}, tmp_path / "shop")
    assert not (tmp_path / "a").exists()
    assert (tmp_path / "b").read_text() == "ours"


def test_what_lies_in_the_folder_is_not_taken_into_the_gold_set(tmp_path):
    """A queries.csv or old pins would be read as part of it."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/.DS_Store").write_text("x")
    write_new({tmp_path / "shop/a": "x"}, tmp_path / "shop")
    (tmp_path / "shop/a").rename(tmp_path / "shop/pins.toml")
    with pytest.raises(SettingsError, match=r"these exist already: .*/shop/pins.toml$"):
        write_new({tmp_path / "shop/a": "x"}, tmp_path / "shop")
    assert not (tmp_path / "shop/a").exists()


def test_a_file_in_the_way_of_a_folder(tmp_path):
    (tmp_path / "tests").write_text("no folder")
    with pytest.raises(SettingsError, match=r"tests.*: cannot be written: "):
        write_new({tmp_path / "shop/a": "x", tmp_path / "tests/b": "y"}, tmp_path / "shop")
    assert not (tmp_path / "shop/a").exists()


def test_the_splits_that_are_there_are_the_splits_allowed(tmp_path):
    """So a question that is added later cannot be in a misspelt one."""
    written(tmp_path, goldset())
    assert read_settings(tmp_path).splits == ("test", "train")
    line = '{"query_id": "q9", "query": "x", "stratum": "words", "split": "tset", "answerable": false}\n'
    with (tmp_path / "queries.jsonl").open("a") as file:
        file.write(line)
    with pytest.raises(
        GoldSetError, match=r"split 'tset' is not among the splits of goldset.toml; allowed are"
    ):
        load_goldset(tmp_path)


def test_ids_with_white_space():
    queries = QUERIES.replace("q1", "q 1")
    qrels = QRELS.replace({"q1": "q 1", "c2": "c\t2"})
    catalog = CATALOG.replace("c2", "c\t2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problems = problems_of_ids(goldset(queries=queries, qrels=qrels, catalog=catalog))
    assert [problem.message.split(" has ")[0] for problem in problems] == ["id 'q 1'", "id 'c\\t2'"]
    assert problems_of_ids(goldset()) == []
