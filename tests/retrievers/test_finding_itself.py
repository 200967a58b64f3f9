"""Self-retrieval: what an index lost is found out without judgments, leg by leg."""

from __future__ import annotations

import pytest

from pytest_retrieval import BM25, InputError, Qrels, RequestLog, diagnose, self_retrieval
from pytest_retrieval.assertions import assert_self_retrieval

CATALOG = {
    f"p{n:02}": {
        "sku": f"HX-{4400 + 7 * n}",
        "text": f"chair number {word} made of beech wood in our workshop",
    }
    for n, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
    )
}
CATALOG["twin"] = {"sku": "TW-1", "text": CATALOG["p00"]["text"]}


def index(catalog):
    return BM25(catalog, token_pattern=r"[\w-]+")


def test_every_document_finds_itself():
    sweep = self_retrieval(index(CATALOG), CATALOG, identifier="sku", k=1)
    assert sweep.lost() == ()
    assert sweep.indexed == set(CATALOG)
    assert sweep.to_frame().to_dict() == {"ranking": {"literal": 1.0, "identifier": 1.0}}
    assert_self_retrieval(sweep)


def test_the_literal_string_is_one_that_only_it_holds():
    sweep = self_retrieval(index(CATALOG), CATALOG, fields="text", k=1)
    assert sweep.without == ("p00", "twin")  # the same text twice sets neither apart
    for probe in sweep.probes.values():
        holders = [doc_id for doc_id, item in CATALOG.items() if probe.text in item["text"]]
        assert holders == [probe.doc_id]


def test_documents_that_were_not_indexed_are_named_and_answer_a_diagnosis():
    part = {doc_id: item for doc_id, item in CATALOG.items() if doc_id not in ("p03", "p07")}
    sweep = self_retrieval(index(part), CATALOG, identifier="sku")
    assert {probe.doc_id for probe in sweep.lost()} == {"p03", "p07"}
    assert {probe.kind for probe in sweep.lost(kind="identifier")} == {"identifier"}
    with pytest.raises(AssertionError, match=r"ranking, identifier: 0\.846; lost: p03 \('HX-4421'\)"):
        assert_self_retrieval(sweep)
    assert_self_retrieval(sweep, at_least=0.8)
    qrels = Qrels({"q": ["p03"], "r": ["p04"]})
    log = RequestLog({"q": {"fused": []}, "r": {"fused": []}}, qrels, catalog=CATALOG, indexed=sweep.indexed)
    assert diagnose("q", log).verdict == "ingestion"
    assert diagnose("r", log).verdict == "query or filter"


def test_a_leg_that_lost_the_identifiers_is_named():
    whole = index(CATALOG)
    words = BM25({doc_id: item["text"] for doc_id, item in CATALOG.items()})

    def search(query, k):
        lexical, dense = whole(query, k), words(query, k)
        return {"lexical": lexical, "dense": dense, "fused": lexical or dense}

    sweep = self_retrieval(search, CATALOG, identifier="sku")
    frame = sweep.to_frame()
    assert frame.loc["identifier"].to_dict() == {"ranking": 1.0, "lexical": 1.0, "dense": 0.0, "fused": 1.0}
    with pytest.raises(AssertionError, match=r"dense, identifier: 0\.000"):
        assert_self_retrieval(sweep)


def test_the_doc_id_may_be_the_identifier():
    found = {doc_id: f"{doc_id} {item['text']}" for doc_id, item in CATALOG.items()}
    assert self_retrieval(BM25(found), found, identifier="doc_id", k=1).lost(kind="identifier") == ()


@pytest.mark.parametrize(
    "catalog, options, told",
    [
        (CATALOG, {"identifier": "ean"}, "has no field 'ean'"),
        (CATALOG, {"k": 0}, "k is 0"),
        ({"a": "same", "b": "same"}, {}, "no document of the catalog has a string of its own"),
    ],
)
def test_what_cannot_be_asked(catalog, options, told):
    with pytest.raises(InputError, match=told):
        self_retrieval(lambda query, k: [], catalog, **options)
