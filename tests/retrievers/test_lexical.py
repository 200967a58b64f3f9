"""BM25: bm25s' own scores, in an order that depends on nothing but scores and ids."""

from __future__ import annotations

import random
import re

import bm25s
import numpy as np
import pandas as pd
import pytest

from pytest_retrieval import BM25, InputError

TEXTS = {
    "d1": "red lamp with a red shade",
    "d2": "oak table with four legs",
    "d3": "a red rug",
    "d4": "lamp",
    "d5": "red lamp red lamp red lamp",
    "d6": "oak shelf HX-4420 with a lamp",
    "d7": "Blue lamps, and LAMPS again",
}


def words():
    pool = [f"w{n}" for n in range(40)]
    rng = random.Random(5)
    return {f"d{n:03d}": " ".join(rng.choices(pool, k=rng.randint(3, 25))) for n in range(200)}


@pytest.mark.parametrize("method", ["lucene", "robertson", "atire"])
@pytest.mark.parametrize("query", ["red lamp", "oak", "w1 w2 w3 w1", "w7 w8 nothing", "with a"])
def test_scores_are_those_of_bm25s(method, query):
    texts = TEXTS | words()
    index = bm25s.BM25(k1=1.2, b=0.6, method=method)
    tokenized = bm25s.tokenize(
        list(texts.values()), token_pattern=r"(?u)\b\w+\b", stopwords=[], show_progress=False
    )
    index.index(tokenized, show_progress=False)
    asked = bm25s.tokenize([query], token_pattern=r"(?u)\b\w+\b", stopwords=[], show_progress=False)
    places, scores = index.retrieve(asked, k=len(texts), show_progress=False)
    names = list(texts)
    expected = {names[place]: score for place, score in zip(places[0], scores[0], strict=True) if score > 0}
    found = BM25(texts, k1=1.2, b=0.6, method=method)(query, len(texts))
    assert dict(found) == pytest.approx(expected, rel=1e-6)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_the_order_of_the_catalog_changes_nothing_not_even_a_bit():
    texts = words()
    lines = list(texts.items())
    before = BM25(texts)
    random.Random(3).shuffle(lines)
    after = BM25(dict(lines))
    for query in ("w1", "w2 w3", "w4 w5 w6 w7", "w1 w1 w9"):
        assert before(query, 20) == after(query, 20)
        assert before(query, 500) == after(query, 500)


def test_equal_scores_stand_by_id_also_across_the_cutoff():
    search = BM25(dict.fromkeys(("b", "d", "a", "c", "e"), "red lamp"))
    assert [doc_id for doc_id, _ in search("lamp", 3)] == ["a", "b", "c"]
    assert [doc_id for doc_id, _ in search("lamp", 9)] == ["a", "b", "c", "d", "e"]


def test_documents_without_a_word_of_the_query_are_left_out():
    assert {doc_id for doc_id, _ in BM25(TEXTS)("oak", 100)} == {"d2", "d6"}


@pytest.mark.parametrize("query", ["", "   ", "?!", "zebra", "zebra crossing"])
def test_a_query_without_known_words_finds_nothing(query):
    assert BM25(TEXTS)(query, 10) == []


def test_unknown_words_beside_known_ones_change_nothing():
    search = BM25(TEXTS)
    assert search("oak zebra", 10) == search("oak", 10)


def test_ids_and_scores_are_plain_values():
    ((doc_id, score), *_) = BM25(TEXTS)("oak", 1)
    assert type(doc_id) is str
    assert type(score) is float


FIELDS = {
    "d1": {"title": "oak table", "text": "red", "width": 120},
    "d2": {"title": "rug", "text": "oak coloured", "width": None},
    "d3": {"title": "lamp", "text": float("nan"), "width": 120},
}


def found(search, query):
    return {doc_id for doc_id, _ in search(query, 10)}


def test_fields_choose_what_is_indexed():
    assert found(BM25(FIELDS), "oak") == {"d1", "d2"}
    assert found(BM25(FIELDS, fields=["title"]), "oak") == {"d1"}
    assert found(BM25(FIELDS, fields=["text"]), "oak") == {"d2"}
    assert found(BM25(FIELDS), "120") == {"d1", "d3"}
    assert found(BM25(FIELDS, fields=["title", "text"]), "120") == set()


@pytest.mark.parametrize("word", ["nan", "None", "none"])
def test_empty_fields_are_no_words(word):
    assert found(BM25(FIELDS), word) == set()


def test_a_data_frame_is_what_its_rows_are():
    frame = pd.DataFrame.from_dict(FIELDS, orient="index")
    for query in ("oak", "lamp", "table red"):
        assert dict(BM25(frame, ["title", "text"])(query, 9)) == dict(
            BM25(FIELDS, ["title", "text"])(query, 9)
        )


def test_a_field_that_is_not_there():
    with pytest.raises(InputError, match="the catalog has no field 'colour'; it has title, text, width"):
        BM25(FIELDS, fields=["title", "colour"])
    with pytest.raises(InputError, match="the catalog has no field 'colour'"):
        BM25(pd.DataFrame.from_dict(FIELDS, orient="index"), fields=["colour"])


@pytest.mark.parametrize("catalog", [{}, pd.DataFrame({"text": []})], ids=["mapping", "frame"])
def test_an_empty_catalog(catalog):
    with pytest.raises(InputError, match="the catalog is empty"):
        BM25(catalog)


def test_nested_attributes_are_found_by_their_values():
    catalog = {
        "d1": {"name": "table", "attributes": {"wood": "oak", "sizes": ["120 cm", {"depth": "80"}]}},
        "d2": {"name": "rug", "attributes": {"wood": None}},
    }
    search = BM25(catalog)
    assert found(search, "oak") == found(search, "120") == found(search, "80") == {"d1"}
    assert found(search, "wood") == set()


def test_words_of_neighbouring_fields_do_not_run_together():
    assert found(BM25({"d1": {"title": "oak", "text": "table"}}), "oaktable") == set()


def test_a_stemmer_meets_other_forms():
    stem = {"lamps": "lamp"}
    search = BM25(TEXTS, stemmer=lambda word: stem.get(word, word))
    assert "d7" in found(search, "lamp")
    assert "d4" in found(search, "lamps")
    assert "d7" not in found(BM25(TEXTS), "lamp")


def test_a_real_stemmer():
    stemmer = pytest.importorskip("Stemmer", reason="needs PyStemmer")
    search = BM25(TEXTS, stemmer=stemmer.Stemmer("english").stemWord)
    assert "d7" in found(search, "lamp")


def test_stop_words_are_left_out_on_both_sides_in_any_case():
    search = BM25(TEXTS, stop_words=["With", "a"])
    assert found(search, "with a") == set()
    assert found(BM25(TEXTS), "with a") == {"d1", "d2", "d3", "d6"}


def test_the_token_pattern_says_what_a_word_is():
    assert found(BM25(TEXTS), "4420") == {"d6"}
    assert found(BM25(TEXTS, token_pattern=r"(?u)[\w-]+"), "4420") == set()
    assert found(BM25(TEXTS, token_pattern=r"(?u)[\w-]+"), "hx-4420") == {"d6"}


def test_case_does_not_matter():
    search = BM25(TEXTS)
    assert search("RED Lamp", 9) == search("red lamp", 9)


def test_only_as_many_as_asked_for():
    search = BM25(words())
    for k in (1, 5, 30):
        whole = search("w1 w2", 500)
        assert search("w1 w2", k) == whole[:k]
        assert len(search("w1 w2", k)) == k


def test_no_warning_and_no_progress_reaches_the_user(capfd, caplog, recwarn):
    with caplog.at_level("DEBUG"):
        BM25(TEXTS)("oak", 3)
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""
    assert [record for record in caplog.records if record.name.startswith("bm25s")] == []
    assert len(recwarn) == 0
    assert np.isfinite(BM25(TEXTS)("oak", 1)[0][1])


CATALOG = {"d1": "oak table", "d2": "red lamp"}


@pytest.mark.parametrize(
    "catalog, message",
    [
        (["oak table"], "the catalog is of type list; allowed are a DataFrame indexed by doc_id"),
        ({"d1": 5}, "document 'd1' of the catalog is 5; allowed is a text, or a mapping"),
        ({"d1": None}, "document 'd1' of the catalog is None"),
        ({1: "oak"}, "the catalog has the id 1 of type int; ids are strings"),
        (pd.DataFrame({"doc_id": ["d1"], "text": ["oak"]}), "the catalog has the id 0 of type int"),
        (pd.DataFrame({"text": ["a", "b"]}, index=["d1", "d1"]), "ids more than once: 'd1'; ids are unique"),
        ({"d1": "", "d2": " – "}, "none of the 2 documents of the catalog has a word in the fields to index"),
        ({"d1": {"price": None}}, "none of the 1 documents of the catalog has a word"),
    ],
    ids=str,
)
def test_catalogs_that_cannot_be_searched(catalog, message):
    with pytest.raises(InputError, match=re.escape(message)):
        BM25(catalog)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"k1": -1}, "k1 is -1; allowed is a number from 0"),
        ({"k1": "1.5"}, "k1 is '1.5'; allowed is a number from 0"),
        ({"b": 1.5}, "b is 1.5; allowed is a number from 0 to 1"),
        ({"b": float("nan")}, "b is nan; allowed is a number from 0 to 1"),
        ({"method": "bm26"}, "method is 'bm26'; allowed are lucene, robertson, atire, bm25l, bm25+"),
        ({"token_pattern": "("}, "token_pattern is '(', which is no regular expression: missing )"),
        ({"token_pattern": None}, "token_pattern is None, which is no regular expression"),
        ({"stemmer": "english"}, "stemmer is 'english'; allowed is a function from a word to its stem"),
        ({"stop_words": "the"}, "stop_words is 'the'; allowed is a list of words"),
        ({"stop_words": 5}, "stop_words is 5; allowed is a list of words"),
        ({"fields": "name"}, "the catalog has no field 'name'; it has text"),
    ],
    ids=str,
)
def test_arguments_that_are_not_allowed(arguments, message):
    with pytest.raises(InputError, match=re.escape(message)):
        BM25({"d1": {"text": "oak table"}}, **arguments)


def test_one_field_may_be_named_alone():
    search = BM25({"d1": {"name": "oak table", "maker": "red"}, "d2": {"name": "red lamp"}}, fields="name")
    assert [doc_id for doc_id, _ in search("red", 5)] == ["d2"]


def test_stop_words_may_come_from_anywhere():
    assert BM25(CATALOG, stop_words=(word for word in ["Oak"]))("oak", 5) == []


@pytest.mark.parametrize(
    "query, k, message",
    [
        (None, 5, "the query is None; a text is needed"),
        ("oak", 0, "k is 0; allowed is a whole"),
        ("oak", 1.5, "k is"),
    ],
)
def test_what_cannot_be_asked(query, k, message):
    with pytest.raises(InputError, match=message):
        BM25(CATALOG)(query, k)
