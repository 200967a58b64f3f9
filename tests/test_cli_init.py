"""The command `init`: what it reads, what it refuses, and that it says everything at once."""

from __future__ import annotations

import json
import tomllib

import pytest
from click.testing import CliRunner

from pytest_retrieval import load_goldset
from pytest_retrieval.cli import main

DOCUMENTS = 'doc_id,text\nc1,damaged items\nc2,free shipping\n"c3","hinge HX-4420"\n'
SHEET = "question,doc_ids\nis it refunded?,c1\nshipping,c2|c3\nHX-4420,c3\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.csv").write_text(DOCUMENTS)
    (tmp_path / "sheet.csv").write_text(SHEET)
    return tmp_path


def init(*arguments, name="shop", catalog="docs.csv", questions="sheet.csv"):
    return CliRunner().invoke(
        main, ["init", name, "--catalog", catalog, "--questions", questions, *arguments]
    )


def made(folder, name="shop"):
    return load_goldset(folder / "goldsets" / name)


def refused(folder, result, *messages):
    """Assert that nothing was written and that every message is there."""
    assert result.exit_code == 1, result.output
    for message in messages:
        assert message in result.output
    assert not (folder / "goldsets").exists()
    assert not (folder / "tests").exists()
    assert "Traceback" not in result.output


def test_a_sheet_becomes_a_gold_set(folder):
    result = init()
    assert result.exit_code == 0, result.output
    goldset = made(folder)
    assert goldset.qrels["q001"] == {"c1": 1}
    assert goldset.qrels["q002"] == {"c2": 1, "c3": 1}
    assert goldset.qrels.strata == {"q001": "several_words", "q002": "one_word", "q003": "digits"}
    assert goldset.catalog.at["c3", "text"] == "hinge HX-4420"
    assert goldset.subjects["bm25"].measures == ("recall@5",)
    assert (folder / "goldsets/.gitattributes").read_text() == "*/pins/*.jsonl linguist-generated=true\n"


def test_one_row_per_question_and_document(folder):
    (folder / "sheet.csv").write_text(
        "qid,query,doc_id,grade,stratum\na,red lamp,c1,2,words\na,red lamp,c2,1,words\nb,rug,c3,0,words\n"
    )
    assert init().exit_code == 0
    goldset = made(folder)
    assert goldset.qrels["a"] == {"c1": 2, "c2": 1}
    assert goldset.qrels["b"] == {"c3": 0}
    assert goldset.qrels.unanswerable == {"b"}
    assert goldset.qrels.relevance_level == 1


def test_json_lines_with_lists_and_more_columns(folder):
    rows = [
        {"query": "red lamp", "relevant": ["c1", "c2"], "split": "train", "must": True, "slices": ["x"]},
        {"query": "rug", "relevant": [], "split": "train"},
        {"query": "sofa", "relevant": None, "split": "test"},
    ]
    (folder / "sheet.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = init(questions="sheet.jsonl")
    assert result.exit_code == 0, result.output
    goldset = made(folder)
    assert goldset.qrels["q001"] == {"c1": 1, "c2": 1}
    assert goldset.qrels.unanswerable == {"q002", "q003"}
    assert goldset.qrels.splits == {"q001": "train", "q002": "train", "q003": "test"}
    assert goldset.must == {"q001"}
    assert goldset.qrels.slices["q001"] == ("x",)


def test_columns_of_other_names(folder):
    (folder / "docs.csv").write_text(DOCUMENTS.replace("doc_id", "Artikel"))
    (folder / "sheet.csv").write_text("Frage,Treffer,Art\nrefund,c1,easy\n")
    refused(folder, init(), "no column holds the doc_id; there are Artikel, text", "--column doc_id=<column>")
    result = init(
        "--column", "doc_id=Artikel", "--column", "query=Frage", "--column", "relevant=Treffer",
        "--column", "stratum=Art",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert made(folder).qrels.strata == {"q001": "easy"}
    assert list(made(folder).catalog.index) == ["c1", "c2", "c3"]


@pytest.mark.parametrize("column", ["query", "text=question", "query="])
def test_a_column_option_that_cannot_be_read(folder, column):
    result = init("--column", column)
    assert result.exit_code == 2
    assert f"--column {column}: write WHAT=COLUMN, where WHAT is query, query_id, relevant" in result.output


def test_a_column_option_given_twice(folder):
    result = init("--column", "query=question", "--column", "query=doc_ids")
    assert result.exit_code == 2
    assert "--column query is given as 'question' and as 'doc_ids'; keep one" in result.output
    assert init("--column", "query=question", "--column", "query=question").exit_code == 0


def test_a_column_that_is_not_there(folder):
    refused(
        folder, init("--column", "query=Frage"), "there is no column 'Frage'; there are question, doc_ids"
    )


def test_every_problem_at_once_with_its_line(folder):
    (folder / "docs.csv").write_text("doc_id,text\nc1,a\n,b\nc1,c\n")
    (folder / "sheet.csv").write_text(
        "qid,question,doc_ids,grade,type\n"
        "q1,red lamp,c1,1,words\n"
        "q2,,c1,1,words\n"
        "q3,rug,c9,1,words\n"
        "q4,sofa,c1,high,words\n"
        "q1,blue lamp,c1,2,words\n"
        "q5,table,c1,1,\n"
        ",chair,c1,1,words\n"
    )
    refused(
        folder,
        init(),
        "9 problems",
        "docs.csv:3: the id in column 'doc_id' is empty",
        "docs.csv:4: id 'c1' is taken by line 2; ids are unique",
        "sheet.csv:3: the question in column 'question' is empty",
        "sheet.csv:4: document 'c9' is not in the catalog of 1 documents",
        "sheet.csv:5: grade 'high' in column 'grade' is not a whole number",
        "sheet.csv:6: query 'blue lamp' of 'q1' is 'red lamp' on line 2; a query has one",
        "sheet.csv:6: document 'c1' has grade 2 here and 1 for the same query further up",
        "sheet.csv:7: the stratum in column 'type' is empty",
        "sheet.csv:8: the query_id in column 'qid' is empty",
    )


def test_a_row_without_its_stratum_is_named_and_not_called_none(folder):
    rows = [{"query": "a", "relevant": ["c1"], "stratum": "x"}, {"query": "b", "relevant": ["c1"]}]
    (folder / "sheet.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    refused(folder, init(questions="sheet.jsonl"), "sheet.jsonl:2: the stratum in column 'stratum' is empty")


def test_ids_that_a_trec_file_cannot_hold(folder):
    (folder / "docs.csv").write_text("doc_id,text\nc 1,a\nc2,b\n")
    (folder / "sheet.csv").write_text("qid,question,doc_ids\nq 1,red lamp,c 1\n")
    refused(folder, init(), "id 'q 1' has white space in it", "id 'c 1' has white space in it", "2 problems")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["init", "shop"], "give --catalog and --questions, or --beir alone"),
        (["init", "shop", "--catalog", "docs.csv"], "give --catalog and --questions, or --beir alone"),
        (
            ["init", "shop", "--catalog", "docs.csv", "--questions", "sheet.csv", "--beir", "."],
            "give --catalog and --questions, or --beir alone",
        ),
        (["init", "shop", "--catalog", "nowhere.csv", "--questions", "sheet.csv"], "does not exist"),
        (["init"], "Missing argument 'NAME'"),
    ],
)
def test_arguments_that_do_not_go_together(folder, arguments, message):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_an_unknown_measure_and_a_suffix_that_cannot_be_read(folder):
    refused(folder, init("--measure", "recal@5"), "recal")
    (folder / "sheet.xlsx").write_bytes(b"PK")
    refused(folder, init(questions="sheet.xlsx"), "sheet.xlsx")


def test_a_sheet_without_questions_makes_no_gold_set(folder):
    (folder / "sheet.csv").write_text("question,doc_ids\n")
    result = init()
    assert result.exit_code == 1
    assert not (folder / "goldsets").exists()


def test_a_beir_folder_that_is_none(folder):
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "a"}\n')
    refused(
        folder, CliRunner().invoke(main, ["init", "shop", "--beir", "."]), "there is no qrels/<split>.tsv"
    )
    (folder / "queries.jsonl").unlink()
    refused(
        folder, CliRunner().invoke(main, ["init", "shop", "--beir", "."]), "no queries.jsonl; a BEIR folder"
    )


def test_the_measure_is_written_in_its_canonical_spelling(folder):
    assert init("--measure", "nDCG@10").exit_code == 0
    toml = tomllib.loads((folder / "goldsets/shop/goldset.toml").read_text())
    assert toml["subjects"]["bm25"]["measures"] == ["ndcg@10"]


def test_into_another_folder(folder):
    result = init("--into", "project")
    assert result.exit_code == 0
    assert (folder / "project/conftest.py").exists()
    assert not (folder / "conftest.py").exists()


@pytest.mark.parametrize("name", ["a/b", "../up", "", "A shop", ".hidden", "-x", 'quo"te'])
def test_a_name_that_cannot_name_a_folder(folder, name):
    result = CliRunner().invoke(
        main, ["init", "--catalog", "docs.csv", "--questions", "sheet.csv", "--", name]
    )
    assert result.exit_code == 2
    assert "a gold set cannot be named" in result.output
    assert not (folder / "goldsets").exists()


def test_a_name_with_signs_names_a_test_file_that_can_be_imported(folder):
    assert init(name="shop-2.1").exit_code == 0
    assert (folder / "tests/test_shop_2_1.py").exists()
    assert made(folder, "shop-2.1").name == "shop-2.1"


def test_splits_are_told_with_their_sizes(folder):
    (folder / "sheet.csv").write_text("question,doc_ids,split\na,c1,train\nb,c2,train\nc,c3,test\n")
    result = init()
    assert result.exit_code == 0, result.output
    assert "2 splits: test (1, not gated), train (2, gated)" in result.output.splitlines()
    toml = tomllib.loads((folder / "goldsets/shop/goldset.toml").read_text())
    assert toml["splits"] == ["test", "train"]
    assert toml["gate_splits"] == ["train"]


def test_a_misspelt_split_is_refused_until_it_is_named(folder):
    (folder / "sheet.csv").write_text("question,doc_ids,split\na,c1,train\nb,c2,train\nc,c3,tset\n")
    refused(folder, init(), "1 problem\n  sheet.csv:4: split 'tset' (1 query: q003) looks like 'test'")
    result = init("--split", "train", "--split", "tset", "--gate-split", "train")
    assert result.exit_code == 0, result.output
    assert "2 splits: train (2, gated), tset (1, not gated)" in result.output.splitlines()
    assert made(folder).gate_splits == ("train",)


def test_a_sheet_without_splits_says_nothing_of_them(folder):
    assert " split" not in init().output


def test_what_was_understood_and_not_said_is_told(folder):
    (folder / "sheet.csv").write_text("question,doc_ids,author\na,c1,me\nb,,me\n")
    lines = init().output.splitlines()
    assert "sheet.csv: nothing is read from 'author'" in lines
    assert (
        "sheet.csv: 1 question of 2 with a blank cell in column 'doc_ids' taken for unanswerable (say which"
        " documents answer them where that is wrong): q002 “b” (line 3)" in lines
    )


def test_a_file_in_another_encoding_is_one_error(folder):
    text = "doc_id,text\n" + "".join(f"c{number},café\n" for number in range(100))
    (folder / "docs.csv").write_bytes(text.encode("latin-1"))
    result = init()
    refused(folder, result, "docs.csv: 1 problem\n  docs.csv:2: byte 7 of the line is 0xe9", "99 more lines")
    assert len(result.output.splitlines()) == 2


@pytest.mark.parametrize("name", ["goldsets", "tests"])
def test_a_file_where_a_folder_has_to_be(folder, name):
    (folder / name).write_text("a file\n")
    result = init()
    assert result.exit_code == 1
    assert name in result.output
    assert "cannot be written: " in result.output
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == sorted(
        ["docs.csv", "sheet.csv", name]
    )


def test_a_folder_that_holds_something_already(folder):
    (folder / "goldsets/shop").mkdir(parents=True)
    (folder / "goldsets/shop/queries.csv").write_text("query_id,query\n")
    result = init()
    assert result.exit_code == 1
    assert "nothing was written, for these exist already: goldsets/shop/queries.csv" in result.output
    assert not (folder / "tests").exists()


def test_columns_of_a_beir_folder_are_known(folder):
    result = CliRunner().invoke(main, ["init", "shop", "--beir", ".", "--column", "query=text"])
    assert result.exit_code == 2
    assert "--column is for a question sheet" in result.output
