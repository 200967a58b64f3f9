from __future__ import annotations

import hashlib
import json
import time

import pytest

from pytest_retrieval.files.digest import catalog_digest, digests_of, judgments_digest, strata_digest
from pytest_retrieval.files.goldset import load_goldset
from pytest_retrieval.model.goldset import Digests
from pytest_retrieval.model.qrels import Qrels

CATALOG = (
    '{"doc_id": "é", "name": "Caf\\u00e9", "size": {"w": 1, "d": [2, 3.5]}}\n{"doc_id": "Z", "new": true}\n'
)
QUERIES = (
    '{"query_id": "q1", "query": "x", "stratum": "a", "split": "train", "slices": ["s", "t"]}\n'
    '{"query_id": "q2", "query": "y", "stratum": "b", "split": "test"}\n'
)
QRELS = "q1 0 é 1\nq1 0 Z 0\nq2 0 Z 1\n"


@pytest.fixture
def digests(write):
    def load(toml='name = "store"', catalog=CATALOG, queries=QUERIES, qrels=QRELS, ending="") -> Digests:
        write("gs/goldset.toml", toml)
        write(f"gs/catalog.jsonl{ending}", catalog)
        write(f"gs/queries.jsonl{ending}", queries)
        write(f"gs/qrels.trec{ending}", qrels)
        return load_goldset("gs").digests

    return load


def sha(*rows: str) -> str:
    return hashlib.sha256("".join(f"{row}\n" for row in rows).encode()).hexdigest()


def test_the_form_is_the_one_written_down(digests):
    """Compact JSON lines in UTF-8, keys sorted, ordered by id by code point, LF."""
    assert digests() == Digests(
        catalog=sha('["Z",{"new":"true"}]', '["é",{"name":"Café","size":"{\\"d\\":[2,3.5],\\"w\\":1}"}]'),
        judgments=sha(
            '{"grades":{},"relevance_level":1}', '["q1","x",{"Z":[0],"é":[1]}]', '["q2","y",{"Z":[1]}]'
        ),
        strata=sha('["q1","a","train",["s","t"]]', '["q2","b","test",[]]'),
    )


def test_order_white_space_and_empty_fields_do_not_matter(digests):
    def shuffled(lines: str) -> str:
        rows = [json.loads(line) for line in reversed(lines.splitlines())]
        turned = ({"note": None, "more": "", **dict(reversed(list(row.items())))} for row in rows)
        return "\r\n \r\n".join(json.dumps(row, separators=(" ,  ", " : ")) for row in turned)

    expected = digests()
    qrels = "\n".join(reversed(QRELS.replace(" 0 ", "\tQ0  ").splitlines())) + "\nq1 0 Z 0\n# done\n"
    assert digests(catalog=shuffled(CATALOG), qrels=qrels) == expected
    queries = shuffled(QUERIES).replace('["s" ,  "t"]', '"t | s"')
    assert "t | s" in queries
    assert digests(queries=queries) == expected


def test_compression_does_not_matter(digests, write):
    expected = digests()
    for name in ("catalog.jsonl", "queries.jsonl", "qrels.trec"):
        write(f"gs/{name}", "").unlink()
    assert digests(ending=".gz") == expected


@pytest.mark.parametrize(
    "change, what",
    [
        ({"qrels": QRELS.replace("Z 0", "Z 1")}, "judgments"),
        ({"qrels": QRELS.replace("q1 0 Z 0\n", "")}, "judgments"),
        ({"queries": QUERIES.replace('"x"', '"X"')}, "judgments"),
        ({"toml": 'name = "store"\ngrades = {no = 0, yes = 1}'}, "judgments"),
        ({"toml": 'name = "store"\ngroups = true', "qrels": QRELS.replace("q1 0", "q1 g")}, "judgments"),
        ({"catalog": CATALOG.replace("true", "false")}, "catalog"),
        ({"catalog": CATALOG.replace("Caf\\u00e9", "Cafe\\u0301")}, "catalog"),
        ({"catalog": CATALOG + '{"doc_id": "new"}'}, "catalog"),
        ({"queries": QUERIES.replace('"a"', '"b"')}, "strata"),
        ({"queries": QUERIES.replace('"train"', '"dev"')}, "strata"),
        ({"queries": QUERIES.replace('"t"]', '"u"]')}, "strata"),
    ],
)
def test_a_change_changes_exactly_one_of_them(digests, change, what):
    before, after = digests(), digests(**change)
    changed = {
        name for name in ("catalog", "judgments", "strata") if getattr(before, name) != getattr(after, name)
    }
    assert changed == {what}


def test_the_relevance_level_counts():
    texts = {"q": "x"}
    one, two = Qrels({"q": {"d": 2}}), Qrels({"q": {"d": 2}}, relevance_level=2)
    assert judgments_digest(one, texts, {}) != judgments_digest(two, texts, {})
    assert strata_digest(one) == strata_digest(two)


def test_groups_count_by_name():
    texts = {"q": "x"}
    named = [Qrels({"q": {"d": 1}}, groups={"q": {"d": group}}) for group in ("a", "b")]
    assert len({judgments_digest(qrels, texts, {}) for qrels in named}) == 2


def test_without_a_catalog_its_digest_is_empty():
    assert digests_of(Qrels({"q": {"d": 1}}), {"q": "x"}, {}, None).catalog == ""


def test_a_catalog_of_bare_ids():
    assert catalog_digest({"b": {}, "a": {}}) == sha('["a",{}]', '["b",{}]')


def test_missing_numbers_are_left_out():
    assert catalog_digest({"a": {"n": 1.5}, "b": {"n": float("nan")}}) == sha('["a",{"n":"1.5"}]', '["b",{}]')


def test_twenty_thousand_items_take_about_a_second_at_most():
    item = {**{f"field {number}": "some words of text " * 5 for number in range(8)}, "tags": ["a", "b"]}
    start = time.process_time()
    catalog_digest({f"d{number}": item for number in range(20_000)})
    assert time.process_time() - start < 2.0  # 0.3 s where this was written
