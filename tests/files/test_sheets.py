"""Question sheets: rows become queries and judgments, BEIR folders become gold sets with strata."""

from __future__ import annotations

import json

import pytest

from pytest_retrieval.errors import FileError, GoldSetError
from pytest_retrieval.files.sheets import goldset_of_beir, goldset_of_sheet, shape_of

DOCUMENTS = "id,name\nc1,lamp\nc2,rug\nc3,table\n"


@pytest.fixture
def sheet(write):
    """Make a gold set of a sheet's text, over three documents."""

    def made(text, name="sheet.csv", documents=DOCUMENTS, **columns):
        write("docs.csv", documents)
        write(name, text)
        return goldset_of_sheet("docs.csv", name, "shop", columns=columns)

    return made


@pytest.mark.parametrize(
    "query, shape",
    [
        ("HX-4420", "digits"),
        ("a table of 80 cm", "digits"),
        ("chandelier", "one_word"),
        ("a lamp", "several_words"),
        ("", "one_word"),
        ("x²", "digits"),
    ],
)
def test_shapes(query, shape):
    assert shape_of(query) == shape


@pytest.mark.parametrize("cell", ["c1|c2", "c1;c2", " c1 | c2 ", "c1|c2|", '"c1\nc2"', "c1|c1|c2"])
def test_one_cell_names_several_documents(sheet, cell):
    assert sheet(f"query,relevant\nlamp,{cell}\n").qrels["q001"] == {"c1": 1, "c2": 1}


def test_rows_with_one_question_are_one_query(sheet):
    goldset = sheet("query,doc_id\nlamp,c1\nrug,c2\nlamp,c3\n")
    assert dict(goldset.qrels) == {"q001": {"c1": 1, "c3": 1}, "q002": {"c2": 1}}
    assert goldset.provenance == "Questions from sheet.csv."


def test_grades_beyond_one_keep_partial_documents_relevant(sheet):
    goldset = sheet("query,doc_id,rating\nlamp,c1,2\nlamp,c2,1\nlamp,c3,0\n")
    assert goldset.qrels["q001"] == {"c1": 2, "c2": 1, "c3": 0}
    assert goldset.qrels.relevant("q001") == {"c1", "c2"} or set(goldset.qrels.relevant("q001")) == {
        "c1",
        "c2",
    }


def test_the_first_usual_name_counts_whatever_its_case(sheet):
    goldset = sheet("Text,QUESTION,Gold,Category\nno,lamp,c1,easy\n")
    assert goldset.text_of("q001") == "lamp"
    assert goldset.qrels.strata == {"q001": "easy"}


def test_a_question_that_nothing_answers(sheet):
    goldset = sheet("query,relevant,grade\nlamp,c1,1\ncars,,0\nboats,c2,0\n")
    assert goldset.qrels.unanswerable == {"q002", "q003"}


def test_an_answerable_column_is_believed(sheet):
    rows = [
        {"query": "lamp", "relevant": ["c1"]},
        {"query": "cars", "relevant": [], "answerable": False},
    ]
    goldset = sheet("".join(json.dumps(row) + "\n" for row in rows), "sheet.jsonl")
    assert goldset.qrels.unanswerable == {"q002"}


def test_whole_numbers_may_be_ids(sheet):
    goldset = sheet('{"query": "lamp", "relevant": [17]}\n', "sheet.jsonl", documents="id,name\n17,lamp\n")
    assert goldset.qrels["q001"] == {"17": 1}


@pytest.mark.parametrize("grade", ["1.5", "high", "", "inf", "nan"])
def test_a_grade_that_is_no_whole_number(sheet, grade):
    with pytest.raises(
        GoldSetError, match=r"sheet.csv:2: grade '.*' in column 'grade' is not a whole number"
    ):
        sheet(f"query,doc_id,grade\nlamp,c1,{grade}\n")


def test_a_sheet_without_the_columns_that_are_needed(sheet):
    with pytest.raises(
        FileError, match=r"no column holds the query; there are a, b; usual names are query, que"
    ):
        sheet("a,b\n1,2\n")
    with pytest.raises(FileError, match=r"no column holds the relevant; .* --column relevant=<column>"):
        sheet("query,b\n1,2\n")
    with pytest.raises(FileError, match="no column holds the doc_id; there are a"):
        sheet("query,relevant\nlamp,c1\n", documents="a\nc1\n")
    with pytest.raises(FileError, match="there is no column 'x'; there are query, relevant"):
        sheet("query,relevant\nlamp,c1\n", grade="x")


def test_columns_may_be_named(sheet):
    goldset = sheet("Frage,Ziel,n\nlamp,c1,2\n", query="Frage", relevant="Ziel", grade="n", query_id="n")
    assert dict(goldset.qrels) == {"2": {"c1": 2}}


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
        "there is no queries.jsonl",
        "there is no qrels/<split>.tsv",
    ]


@pytest.mark.parametrize(
    "text, message",
    [
        ("query,relevant\nlamp,\nrug,\n", "sheet.csv: no question has a document that answers it"),
        ("query,relevant,grade\nlamp,c1,0\n", "sheet.csv: no question has a document that answers it"),
        (
            "query,relevant,type\nlamp,c1,a\nrug,c2,All\n",
            "sheet.csv:3: stratum is 'All'; 'all' and names that",
        ),
        ("query,relevant,type\nlamp,c1,slice:x\n", "sheet.csv:2: stratum is 'slice:x'; 'all' and"),
        (
            "query,relevant,type\nlamp,c1,a b\nrug,c2,A-B\n",
            "sheet.csv:3: strata 'a b' and 'A-B' make the same test",
        ),
        (
            "query,relevant,type\nlamp,c1,a\nrug,c2,!?\n",
            "sheet.csv:3: stratum '!?' makes no test id, for it has no",
        ),
        (
            "query,relevant,grade\nlamp,c1,1e30\n",
            "sheet.csv:2: grade '1e30' in column 'grade' is not a whole",
        ),
        ("qid,query,relevant\nq 1,lamp,c1\nq 1,lamp,c2\n", "sheet.csv:2: id 'q 1' has white space in it"),
        (
            "query,relevant,split\nrug,c2,train\nlamp,c1,\n",
            "sheet.csv:3: query 'q002'|sheet.csv:3: split is empty",
        ),
        ("query,relevant,must\nlamp,c1,maybe\n", "sheet.csv:2: must is 'maybe'; allowed are true and false"),
        (
            "query,relevant,answerable\nlamp,c1,true\nrug,,true\n",
            "sheet.csv:3: query 'q002' has no document of",
        ),
        ("query,relevant\n", "sheet.csv: there is no row below the header"),
        (
            "query;relevant\nlamp;c1\n",
            "sheet.csv:1: the only column is 'query;relevant': separate columns with",
        ),
    ],
)
def test_what_is_wrong_with_a_sheet_is_told_with_its_line(sheet, text, message):
    """The gold set is made of DataFrames, whose rows nobody has seen."""
    with pytest.raises(FileError) as caught:
        sheet(text)
    assert any(one in str(caught.value) for one in message.split("|"))
    assert "iloc" not in str(caught.value)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("documents", ["id\nc1\n", "id,name,size\nc1,,\nc2, ,\n"])
def test_a_catalog_in_which_nothing_could_be_found(sheet, documents):
    with pytest.raises(GoldSetError, match=r"docs.csv: no document has a text beside its id"):
        sheet("query,relevant\nlamp,c1\n", documents=documents)


def test_an_id_may_hold_what_separates_ids(sheet):
    documents = "id,name\na|b,lamp\nc;d,rug\ne,sofa\n"
    goldset = sheet("query,relevant\nlamp,a|b\nrug,c;d\nboth,e|e\n", documents=documents)
    assert dict(goldset.qrels) == {"q001": {"a|b": 1}, "q002": {"c;d": 1}, "q003": {"e": 1}}


def test_flags_of_a_csv_file(sheet):
    goldset = sheet("query,relevant,must,synthetic\nlamp,c1,true,FALSE\nrug,c2,,\n")
    assert goldset.must == {"q001"}


def test_a_beir_folder_in_which_nothing_could_be_found(beir, write):
    write("beir/corpus.jsonl", '{"_id": "c1", "text": ""}\n{"_id": "c2"}\n')
    with pytest.raises(GoldSetError, match="no document has a text beside its id"):
        goldset_of_beir(beir, "mine")
