"""`pytest-retrieval init`: from what a team has to a gate that pins, passes and fails."""

from __future__ import annotations

import json
import sys

import pytest

CATALOG = [
    ("c1", "Refund of damaged items", "A damaged item is refunded within 14 days."),
    ("c2", "Shipping costs", "Shipping is free above 50 euros."),
    ("c3", "Hinge HX-4420", "A hinge for doors of up to 40 kilograms."),
    ("c4", "Gift cards", "A gift card is valid for three years."),
    ("c5", "Warranty", "The warranty on furniture is five years."),
]
QUESTIONS = [
    ("is a damaged item refunded?", "c1", "words"),
    ("shipping", "c2", "short"),
    ("HX-4420", "c3", "identifier"),
    ("gift card valid", "c4;c5", "words"),
    ("do you sell cars", "", "nothing"),
]


def csv_of(path, header, rows):
    quoted = [",".join(f'"{cell}"' for cell in row) for row in [header, *rows]]
    path.write_text("\n".join(quoted) + "\n", encoding="utf-8")


def jsonl_of(path, header, rows):
    path.write_text("".join(json.dumps(dict(zip(header, row, strict=True))) + "\n" for row in rows))


@pytest.fixture
def init(pytester, monkeypatch):
    """Run the command in an empty project, in a process of its own."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PYTHONPATH", ":".join(path for path in sys.path if path))

    def run(*arguments):
        return pytester.run(
            sys.executable, "-c", "from pytest_retrieval.cli import main; main()", "init", *arguments
        )

    return run


def passes_and_fails(pytester, items):
    """Pin, hold, and turn red once one document can no longer be found."""
    plain = ("-p", "no:hypothesispytest", "-p", "no:cacheprovider")
    assert pytester.runpytest(*plain).ret == 1
    pytester.runpytest(*plain, "--retrieval-pin=new").assert_outcomes(passed=items)
    pytester.runpytest(*plain).assert_outcomes(passed=items)
    path = next(pytester.path.glob("goldsets/*/catalog.jsonl"))
    path.write_text(path.read_text().replace("HX-4420", "hinge").replace("hx-4420", "hinge"))
    result = pytester.runpytest(*plain)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["* is regressed"])


@pytest.mark.parametrize("write, suffix", [(csv_of, "csv"), (jsonl_of, "jsonl")], ids=["csv", "jsonl"])
def test_a_catalog_and_a_question_sheet(pytester, init, write, suffix):
    write(pytester.path / f"docs.{suffix}", ("doc_id", "title", "text"), CATALOG)
    write(pytester.path / f"sheet.{suffix}", ("question", "doc_ids", "type"), QUESTIONS)
    result = init("shop", "--catalog", f"docs.{suffix}", "--questions", f"sheet.{suffix}")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "wrote goldsets/shop/goldset.toml",
            "wrote tests/test_shop.py",
            "wrote conftest.py",
            "wrote goldsets/.gitattributes",
            "sheet.* 1 question of 5 with a blank cell in column 'doc_ids' taken for unanswerable *: q005 *",
            "5 queries in 4 strata: identifier (1), nothing (1), short (1), words (2)",
            "*pytest --retrieval-pin=new *",
        ]
    )
    assert 'measures = ["recall@5"]' in (pytester.path / "goldsets/shop/goldset.toml").read_text()
    passes_and_fails(pytester, 5)


def test_a_beir_folder_as_others_publish_it(pytester, init):
    """As mtRAG's retrieval tasks are: _id, a title that may be empty, split files with a header, graded."""
    folder = pytester.mkdir("beir")
    (folder / "qrels").mkdir()
    rows = [(doc_id, title, text) for doc_id, title, text in CATALOG]
    jsonl_of(folder / "corpus.jsonl", ("_id", "title", "text"), rows)
    jsonl_of(
        folder / "queries.jsonl", ("_id", "text"), [(f"q<::>{n}", row[0]) for n, row in enumerate(QUESTIONS)]
    )
    (folder / "qrels/dev.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq<::>0\tc1\t1\nq<::>1\tc2\t1\nq<::>2\tc3\t1\nq<::>3\tc4\t1\nq<::>3\tc5\t1\n"
    )
    result = init("beir-set", "--beir", "beir", "--measure", "ndcg@5")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "wrote tests/test_beir_set.py",
            "beir: 1 of 5 queries have no judgments in qrels/ and are left out: q<::>4",
            "4 queries in 3 strata: digits (1), one_word (1), several_words (2)",
            "1 split: dev (4, gated)",
        ]
    )
    assert 'measures = ["ndcg@5"]' in (pytester.path / "goldsets/beir-set/goldset.toml").read_text()
    passes_and_fails(pytester, 5)


def test_nothing_that_exists_is_overwritten(pytester, init):
    csv_of(pytester.path / "docs.csv", ("doc_id", "title", "text"), CATALOG)
    csv_of(pytester.path / "sheet.csv", ("question", "doc_ids"), [row[:2] for row in QUESTIONS])
    arguments = ("shop", "--catalog", "docs.csv", "--questions", "sheet.csv")
    assert init(*arguments).ret == 0
    (pytester.path / "goldsets/shop/queries.jsonl").unlink()
    before = {path: path.read_bytes() for path in pytester.path.rglob("*.*") if path.is_file()}
    result = init(*arguments)
    assert result.ret == 1
    result.stderr.fnmatch_lines(
        ["*nothing was written, for these exist already: goldsets/shop/goldset.toml, *tests/test_shop.py*"]
    )
    assert {path: path.read_bytes() for path in pytester.path.rglob("*.*") if path.is_file()} == before
    assert not (pytester.path / "goldsets/shop/queries.jsonl").exists()


def test_a_conftest_that_exists_is_left_alone_and_told(pytester, init):
    csv_of(pytester.path / "docs.csv", ("doc_id", "title", "text"), CATALOG)
    csv_of(pytester.path / "sheet.csv", ("question", "doc_ids"), [row[:2] for row in QUESTIONS])
    (pytester.path / "conftest.py").write_text("# ours\n")
    result = init("shop", "--catalog", "docs.csv", "--questions", "sheet.csv")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["conftest.py exists; it needs the fixture `retrievers`:", "*BM25(catalog)*"])
    assert (pytester.path / "conftest.py").read_text() == "# ours\n"


def test_a_second_gold_set_beside_the_first(pytester, init):
    csv_of(pytester.path / "docs.csv", ("doc_id", "title", "text"), CATALOG)
    csv_of(pytester.path / "sheet.csv", ("question", "doc_ids"), [row[:2] for row in QUESTIONS])
    for name in ("shop", "other"):
        assert init(name, "--catalog", "docs.csv", "--questions", "sheet.csv").ret == 0
    result = pytester.runpytest_subprocess("-p", "no:hypothesispytest", "--retrieval-pin=new")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["other: pinned *", "shop: pinned *"])
