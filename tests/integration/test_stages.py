"""A pipeline of legs, fusion, re-ranking and assembly is broken in each place; the failure says in which."""

from __future__ import annotations

import pytest

CONFTEST = '''
import json
from pathlib import Path

import pytest

from pytest_retrieval import BM25, Hybrid, Reranked, Semantic

BROKEN = Path(__file__).parent / "broken.txt"


def letters(texts):
    """Dense and blind to codes: how often each letter of the alphabet occurs."""
    return [[text.lower().count(chr(97 + n)) + 0.001 for n in range(26)] for text in texts]


def shared(pairs):
    return [len(set(query.lower().split()) & set(text.lower().split())) for query, text in pairs]


@pytest.fixture(scope="session")
def retrievers(catalog):
    broken = BROKEN.read_text()
    lexical = BM25(catalog, token_pattern=r"[\\w-]+")
    legs = {"lexical": lexical, "dense": Semantic(catalog, model=letters)}
    if broken == "lexical leg":
        legs["lexical"] = lambda query, k: []
    scorer = (lambda pairs: [-score for score in shared(pairs)]) if broken == "re-ranker" else shared
    pipeline = Reranked(Hybrid(legs), scorer, 3, catalog=catalog)

    def search(query, k):
        stages = pipeline(query, k)
        held = 0 if broken == "assembly" else 2
        return stages | {"context": stages["reranked"][:held] or [("p00", 0.0)]}

    return {"pipeline": search}
'''
TOML = """
name = "shop"
context_size = 2

[subjects.pipeline]
measures = ["recall@2"]
"""
CODES = {f"p{n:02d}": f"spare part code HX-{4400 + 7 * n} for a chair" for n in range(30)}


@pytest.fixture
def shop(project):
    folder = project.path / "goldsets" / "store"
    queries = [
        f'{{"query_id": "i{n}", "query": "HX-{4400 + 7 * n}", "stratum": "identifier"}}' for n in (3, 8, 21)
    ]
    files = {
        folder / "goldset.toml": TOML,
        folder / "queries.jsonl": "\n".join(queries) + "\n",
        folder / "qrels.trec": "".join(f"i{n} 0 p{n:02d} 1\n" for n in (3, 8, 21)),
        folder / "catalog.jsonl": "".join(
            f'{{"doc_id": "{doc_id}", "text": "{text}"}}\n' for doc_id, text in CODES.items()
        ),
        project.path / "conftest.py": CONFTEST,
        project.path / "broken.txt": "",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    project.pin().assert_outcomes(passed=2)
    return project


@pytest.mark.parametrize(
    "broken, told",
    [
        ("lexical leg", "lost by lexical leg (lexical 1 → –, "),
        ("re-ranker", ", lost by reranked (lexical 1, dense "),
        ("assembly", "found at depth 1, lost by assembly (lexical 1, dense "),
    ],
)
def test_the_failure_says_where(shop, broken, told):
    (shop.path / "broken.txt").write_text(broken, encoding="utf-8")
    result = shop.run()
    result.assert_outcomes(passed=1, failed=1)
    text = result.stdout.str()
    assert text.count(told) == 3
    loser = told.partition("lost by ")[2].partition(" (")[0]
    assert f"lost by: {loser} 3" in text
    if broken == "re-ranker":
        assert text.count("found at depth ") == 3


def test_a_red_that_re_pinning_accepted_starts_from_the_new_stages(shop):
    (shop.path / "broken.txt").write_text("assembly", encoding="utf-8")
    shop.run("--retrieval-pin=all", "--retrieval-reason", "smaller prompt").assert_outcomes(passed=2)
    shop.run().assert_outcomes(passed=2)
    line = (shop.path / "goldsets" / "store" / "pins" / "pipeline.jsonl").read_text(encoding="utf-8")
    assert '"stages":{"lexical":{"p03":1}' in line
    assert '"context":{}' in line


def test_the_summary_holds_both_depths_of_every_stage(shop):
    """Recall of the candidates beside recall of the prompt; by hand: all three found."""
    (shop.path / "broken.txt").write_text("assembly", encoding="utf-8")
    shop.run().stdout.fnmatch_lines(
        [
            "shop · pipeline · stages: recall@2, then recall@100",
            "stratum *lexical *dense *fused *reranked *context",
            "identifier *1.000  1.000 *1.000  1.000 *1.000  1.000 *0.000  0.000",
            "all *0.000  0.000",
        ]
    )


def test_a_stage_says_what_it_searched_with_and_how_long_it_took(shop):
    conftest = (
        (shop.path / "conftest.py")
        .read_text(encoding="utf-8")
        .replace(
            'return stages | {"context"',
            'stages["lexical"] = {"ranking": stages["lexical"], "query": query.lower(), "latency": 0.25}\n'
            '        return stages | {"context"',
        )
    )
    (shop.path / "conftest.py").write_text(conftest, encoding="utf-8")
    shop.write(
        "test_search.py",
        """
def test_pinned(gate):
    gate.check()


def test_stages(runs):
    lexical = runs["pipeline"].stages["lexical"]
    assert lexical.queries == {"i3": "hx-4421", "i8": "hx-4456", "i21": "hx-4547"}
    assert set(lexical.latency.values()) == {0.25}
    assert runs["pipeline"].stages["dense"].queries == {}
""",
    )
    result = shop.run()
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["mean latency: lexical 0.25 s"])
    result = shop.run("-n2")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["mean latency: lexical 0.25 s"])
