"""Units: how an item is cut, and that it ranks by its best piece whichever way ties fall."""

from __future__ import annotations

import random

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_retrieval import BM25, InputError, Run, UnitSearch, pool_units, sentences, units_of

CATALOG = {
    "d1": {"name": "desk", "class": "tables", "description": "Oak top. Two drawers! Fits HX-4420?"},
    "d2": {"name": "rug", "class": "textiles", "description": None},
    "d3": {"name": "lamp", "class": "lights", "description": "For reading"},
}


@pytest.mark.parametrize(
    "text, pieces",
    [
        ("", []),
        ("   \n ", []),
        ("One", ["One"]),
        ("One. Two? Three!", ["One.", "Two?", "Three!"]),
        ("It is 1.5 m wide. Good.", ["It is 1.5 m wide.", "Good."]),
        ("a line\nanother line", ["a line", "another line"]),
    ],
)
def test_sentences(text, pieces):
    assert sentences(text) == pieces


def test_the_five_ways_to_cut_an_item():
    whole = {
        "d1": ["desk tables Oak top. Two drawers! Fits HX-4420?"],
        "d2": ["rug textiles"],
        "d3": ["lamp lights For reading"],
    }
    assert units_of(CATALOG) == whole
    assert units_of(CATALOG, ["name"]) == {"d1": ["desk"], "d2": ["rug"], "d3": ["lamp"]}
    assert units_of(CATALOG, ["description"])["d2"] == []
    bare = units_of(CATALOG, ["description"], split="description")
    assert bare == {"d1": ["Oak top.", "Two drawers!", "Fits HX-4420?"], "d2": [], "d3": ["For reading"]}
    assert units_of(CATALOG, split="description") == {
        "d1": ["desk tables Oak top.", "desk tables Two drawers!", "desk tables Fits HX-4420?"],
        "d2": ["rug textiles"],
        "d3": ["lamp lights For reading"],
    }


def test_a_splitter_of_ones_own_and_a_data_frame():
    frame = pd.DataFrame.from_dict(CATALOG, orient="index")
    cut = units_of(frame, ["name"], split="description", splitter=lambda text: text.split("!"))
    assert cut["d1"] == ["desk Oak top. Two drawers", "desk  Fits HX-4420?"]


def test_a_catalog_of_plain_texts():
    assert units_of({"d1": "Oak. Ash."}, split="text") == {"d1": ["Oak.", "Ash."]}


@pytest.mark.parametrize("more", [{"fields": ["colour"]}, {"split": "colour"}])
def test_a_field_that_is_not_there(more):
    with pytest.raises(InputError, match="the catalog has no field 'colour'"):
        units_of(CATALOG, **more)


# --- pooling -----------------------------------------------------------------------------------------------


def item(unit):
    return unit.partition("#")[0]


UNITS = st.dictionaries(
    st.tuples(st.sampled_from("abcd"), st.integers(1, 4)).map(lambda pair: f"{pair[0]}#{pair[1]}"),
    st.sampled_from([0.1, 0.5, 0.9]),
    max_size=12,
)


@given(st.lists(UNITS, min_size=1, max_size=3))
def test_an_item_scores_as_its_best_unit_and_ties_stand_by_id(rankings):
    run = Run({f"q{n}": ranking for n, ranking in enumerate(rankings)})
    pooled = pool_units(run, item)
    for n, ranking in enumerate(rankings):
        best = {}
        for unit, score in ranking.items():
            best[item(unit)] = max(score, best.get(item(unit), 0.0))
        order = sorted(best, key=lambda doc_id: (-best[doc_id], doc_id))
        assert list(pooled[f"q{n}"]) == order
        assert dict(pooled.scored(f"q{n}")) == best or not best


def test_without_scores_an_item_takes_the_place_of_its_first_unit():
    run = Run({"q": ["b#2", "a#1", "b#1", "c#1", "a#9"]}, "units")
    pooled = pool_units(run, item)
    assert pooled["q"] == ("b", "a", "c")
    assert pooled.scores is None
    assert pooled.name == "units"


def test_a_table_of_owners_must_know_every_unit():
    run = Run({"q": ["u1", "u2"]})
    assert pool_units(run, {"u1": "d", "u2": "d", "u3": "e"})["q"] == ("d",)
    with pytest.raises(InputError, match="units that belong to no item: 'u2'"):
        pool_units(run, {"u1": "d"})


# --- searching ---------------------------------------------------------------------------------------------


def cut_texts():
    rng = random.Random(11)
    words = [f"w{n}" for n in range(12)]
    return {
        f"d{n:02d}": [" ".join(rng.choices(words, k=rng.randint(1, 4))) for _ in range(rng.randint(0, 6))]
        for n in range(60)
    }


@pytest.mark.parametrize("k", [1, 3, 10, 60])
def test_it_finds_what_pooling_all_units_finds(k):
    units = cut_texts()
    flat = {f"{doc}#{n}": text for doc, pieces in units.items() for n, text in enumerate(pieces, 1)}
    everything, search = BM25(flat), UnitSearch(units)
    for query in ("w1", "w2 w3", "w4 w5 w6", "w7 w7", "zebra", ""):
        expected = pool_units(Run({"q": everything(query, len(flat))}), item).scored("q")[:k]
        assert search(query, k) == list(expected)


def test_an_item_that_ties_far_down_still_comes_first_by_its_id():
    units = {f"z{n}": ["oak"] * 9 for n in range(20)} | {"a": ["oak"]}
    assert [doc_id for doc_id, _ in UnitSearch(units)("oak", 2)] == ["a", "z0"]


def test_the_index_is_the_users():
    made = []

    def index(texts):
        made.append(texts)
        return lambda query, k: [(unit, float(len(text))) for unit, text in sorted(texts.items())][:k]

    search = UnitSearch({"d1": ["a", "abc"], "d2": ["ab"]}, index)
    assert made == [{"d1#1": "a", "d1#2": "abc", "d2#1": "ab"}]
    assert search("x", 5) == [("d1", 3.0), ("d2", 2.0)]


def test_an_index_without_scores_is_refused():
    search = UnitSearch({"d1": ["a"]}, lambda texts: lambda query, k: list(texts))
    with pytest.raises(InputError, match="ids without scores"):
        search("a", 1)


def test_nothing_to_index():
    with pytest.raises(InputError, match="there is no unit to index"):
        UnitSearch({"d1": []})
