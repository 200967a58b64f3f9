from __future__ import annotations

import itertools

import pandas as pd
import pytest

from pytest_retrieval.errors import GoldSetError, InputError, SettingsError
from pytest_retrieval.files.goldset import goldset_from_frames, load_goldset


@pytest.fixture
def queries() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "query_id": [1, 2],
            "query": ["blue sofa", "lamp"],
            "stratum": ["several words", "one word"],
            "must": [True, False],
            "slices": [["colour"], None],
        }
    )


@pytest.fixture
def qrels() -> pd.DataFrame:
    return pd.DataFrame({"query_id": [1, 1, 2], "doc_id": ["d1", "d2", "d2"], "grade": [2, 1, 2]})


@pytest.fixture
def catalog() -> pd.DataFrame:
    return pd.DataFrame(
        {"name": ["Sofa", None], "price": [1.5, None]}, index=pd.Index(["d1", "d2"], name="doc_id")
    )


def test_the_same_as_from_files(queries, qrels, catalog, write):
    made = goldset_from_frames("store", queries, qrels, catalog, relevance_level=2, depth=7)
    assert dict(made.qrels) == {"1": {"d1": 2, "d2": 1}, "2": {"d2": 2}}
    assert (made.name, made.folder, made.depth, made.must) == ("store", "", 7, {"1"})
    assert made.qrels.slices == {"1": ("colour",), "2": ()}
    assert made.catalog is not None
    assert made.catalog.to_dict("index") == {
        "d1": {"name": "Sofa", "price": 1.5},
        "d2": {"name": "", "price": None},
    }
    write("gs/goldset.toml", 'name = "store"\nrelevance_level = 2\n')
    write("gs/catalog.csv", "doc_id,name,price\nd2,,\nd1,Sofa,1.5\n")
    write(
        "gs/queries.csv",
        "query_id,query,stratum,slices\n1,blue sofa,several words,colour\n2,lamp,one word,\n",
    )
    write("gs/qrels.trec", "1 0 d1 2\n1 0 d2 1\n2 0 d2 2\n")
    assert load_goldset("gs").digests == made.digests


def test_arguments_are_left_as_they_were(queries, qrels, catalog):
    before = [frame.copy(deep=True) for frame in (queries, qrels, catalog)]
    goldset = goldset_from_frames("store", queries.set_index("query_id"), qrels, catalog, relevance_level=2)
    assert list(goldset.qrels) == ["1", "2"]
    for frame, copy in zip((queries, qrels, catalog), before, strict=True):
        pd.testing.assert_frame_equal(frame, copy)


def test_problems_name_frame_and_position(queries, qrels, catalog):
    queries["stratum"] = ["", "one word"]
    qrels["grade"] = [2, 0.5, 2]
    qrels["doc_id"] = ["d1", "d2", "d9"]
    with pytest.raises(GoldSetError) as error:
        goldset_from_frames("store", queries, qrels, catalog, relevance_level=2, gate_also=["slice:x"])
    assert str(error.value).splitlines() == [
        "gold set 'store': 4 problems",
        "  queries.iloc:0: stratum is empty; every query needs a stratum, or none has one",
        "  gold set 'store': gate_also names 'slice:x', but no query is in that slice; the slices are colour",
        "  qrels.iloc:1: grade 0.5 of document 'd2' in query '1' is not a whole number; allowed are"
        " integers such as"
        " 0, 1, 2",
        "  qrels.iloc:2: document 'd9', judged for query '2', is not in the catalog: the gold set is"
        " stale. Remove the"
        " judgment or bring the document back",
    ]


def test_groups(queries, qrels):
    qrels["group"] = ["a", "a", None]
    goldset = goldset_from_frames("store", queries, qrels, relevance_level=2, groups=True)
    assert goldset.qrels.groups is not None
    assert goldset.qrels.groups.tolist() == ["a", "a", "d2"]


def test_empty_frames(queries, qrels):
    with pytest.raises(GoldSetError) as error:
        goldset_from_frames("store", queries[:0], qrels[:0], pd.DataFrame())
    assert [str(problem) for problem in error.value.problems] == [
        "catalog.iloc: holds no row",
        "queries.iloc: holds no row",
        "qrels.iloc: holds no row",
    ]


def test_unknown_settings(queries, qrels):
    with pytest.raises(SettingsError, match=r"gold set 'store': unknown key 'level'; allowed are name, "):
        goldset_from_frames("store", queries, qrels, level=2)


def chunks(*cuts):
    """Cut a document of 30 characters into chunks."""
    bounds = [0, *cuts, 30]
    return pd.DataFrame(
        [
            {"doc_id": f"c{start}", "text": "words", "document": "d", "start": start, "end": end}
            for start, end in itertools.pairwise(bounds)
        ]
    )


def test_spans_in_place_of_judgments(queries):
    spans = pd.DataFrame(
        {"query_id": [1, 2], "document": ["d", "d"], "start": [8, 20], "end": [14, 22], "grade": [2, 2]}
    )
    made = goldset_from_frames("store", queries, None, chunks(10), spans=spans, relevance_level=2)
    assert dict(made.qrels) == {"1": {"c0": 2, "c10": 2}, "2": {"c10": 2}}
    recut = goldset_from_frames("store", queries, None, chunks(15, 25), spans=spans, relevance_level=2)
    assert dict(recut.qrels) == {"1": {"c0": 2}, "2": {"c15": 2}}
    assert made.digests.judgments == recut.digests.judgments


@pytest.mark.parametrize(
    "spans, catalog, said",
    [
        ({"start": [14]}, chunks(10), r"spans.iloc:0: start is 14 and end is 14"),
        ({"document": ["e"]}, chunks(10), r"spans.iloc:0: document 'e', of a gold span of query '1', has no"),
        ({}, None, r"catalog: gold spans need a catalog whose chunks say their document, start and end"),
        ({}, chunks(10).drop(columns="start"), r"catalog.iloc: chunk 'c0': start is None"),
    ],
)
def test_spans_that_cannot_be_used(queries, spans, catalog, said):
    frame = pd.DataFrame({"query_id": [1], "document": ["d"], "start": [8], "end": [14]} | spans)
    with pytest.raises(GoldSetError, match=said):
        goldset_from_frames("store", queries[:1], None, catalog, spans=frame)


def test_judgments_and_spans_are_one_or_the_other(queries, qrels, catalog):
    with pytest.raises(InputError, match="give qrels, or None and spans"):
        goldset_from_frames("store", queries, qrels, catalog, spans=qrels)
    with pytest.raises(InputError, match="give qrels, or None and spans"):
        goldset_from_frames("store", queries, None, catalog)
