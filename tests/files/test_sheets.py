"""Question sheets: rows become queries and judgments, or are refused with their line."""

from __future__ import annotations

import json

import pytest

from pytest_retrieval.errors import FileError, GoldSetError
from pytest_retrieval.files.sheets import goldset_of_sheet, shape_of

DOCUMENTS = "id,name\nc1,lamp\nc2,rug\nc3,table\n"


@pytest.fixture
def sheet(write):
    """Make a gold set of a sheet's text, over three documents."""

    def made(text, name="sheet.csv", documents=DOCUMENTS, splits=(), gate_splits=(), notes=None, **columns):
        write("docs.csv", documents)
        write(name, text)
        return goldset_of_sheet(
            "docs.csv", name, "shop", columns=columns, splits=splits, gate_splits=gate_splits, notes=notes
        )

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
    notes = []
    goldset = sheet("query,doc_id\nlamp,c1\nrug,c2\nlamp,c3\n", notes=notes)
    assert dict(goldset.qrels) == {"q001": {"c1": 1, "c3": 1}, "q002": {"c2": 1}}
    assert notes == [
        "sheet.csv: 1 question stands in several rows, whose documents are joined: q001 “lamp” (2 rows)"
    ]
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
        FileError,
        match=r"no column holds the query; there are a, b; the first line is read as the header; usual",
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
        (
            "query,relevant,must\nlamp,c1,maybe\n",
            "sheet.csv:2: must is 'maybe'; allowed are true, false, 1 and 0",
        ),
        (
            "query,relevant,answerable\nlamp,c1,true\nrug,,true\n",
            "sheet.csv:3: q002 “rug” is answerable and has no document in column 'relevant'",
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


def faults(sheet, text, name="sheet.csv", **more):
    """Return the problems of a sheet, each as line and message."""
    with pytest.raises(FileError) as caught:
        sheet(text, name, **more)
    assert {problem.file for problem in caught.value.problems} <= {name, "docs.csv"}
    return [(problem.line, problem.message) for problem in caught.value.problems]


HUNDRED = "".join(f"question {number},c1\n" for number in range(100))


class TestBlankCells:
    def test_a_few_among_some_are_unanswerable_and_told(self, sheet):
        notes = []
        goldset = sheet("query,relevant\nlamp,c1\ncars,\nboats,|\n", notes=notes)
        assert goldset.qrels.unanswerable == {"q002", "q003"}
        assert notes == [
            "sheet.csv: 2 questions of 3 with a blank cell in column 'relevant' taken for unanswerable (say"
            " which documents answer them where that is wrong): q002 “cars” (line 3), q003 “boats” (line 4)"
        ]

    @pytest.mark.parametrize("blank, refused", [(1, True), (2, True), (3, False)])
    def test_the_odd_one_among_many_was_forgotten(self, sheet, blank, refused):
        """Two of 102 are below two in a hundred, three of 103 are above."""
        text = "query,relevant\n" + "".join(f"blank {n},\n" for n in range(blank)) + HUNDRED
        if not refused:
            assert len(sheet(text).qrels.unanswerable) == blank
            return
        found = faults(sheet, text)
        assert [line for line, _ in found] == list(range(2, 2 + blank))
        assert found[0][1] == (
            f"q001 “blank 0” has no document in column 'relevant', which {blank} of {100 + blank} questions"
            " lack; name one, or say false in a column 'answerable' if nothing answers it"
        )

    def test_a_stratum_of_its_own_is_meant(self, sheet):
        rows = "".join(f"question {number},c1,plain\n" for number in range(100))
        goldset = sheet(f"query,relevant,type\ncars,,no match\n{rows}")
        assert goldset.qrels.unanswerable == {"q001"}
        assert faults(sheet, f"query,relevant,type\ncars,,plain\n{rows}")[0][0] == 2

    def test_a_column_that_says_so_is_believed(self, sheet):
        rows = "".join(f"question {number},c1,\n" for number in range(100))
        notes = []
        goldset = sheet(f"query,relevant,answerable\ncars,,FALSE\n{rows}", notes=notes)
        assert goldset.qrels.unanswerable == {"q001"}
        assert notes == []

    def test_contradictions(self, sheet):
        text = "query,relevant,answerable\na,c1,true\nb,,true\nc,c1|c2,0\nd,,\ne,,false\nf,c2,\n"
        assert faults(sheet, text) == [
            (3, "q002 “b” is answerable and has no document in column 'relevant' that answers it; name one,"
                " or write false"),
            (4, "q003 “c” is not answerable but has documents in column 'relevant': c1, c2; clear one of"
                " them"),
            (5, "q004 “d” has no document in column 'relevant' and nothing in column 'answerable', which"
                " others fill; name a document, or write false"),
        ]  # fmt: skip

    def test_judged_and_nothing_relevant_is_told_apart(self, sheet):
        notes = []
        sheet("query,relevant,grade\nlamp,c1,1\ncars,c2,0\n", notes=notes)
        assert notes == [
            "sheet.csv: 1 question of 2 with documents of grade 0 only taken for unanswerable (say which"
            " documents answer them where that is wrong): q002 “cars” (line 3)"
        ]


class TestSplits:
    def test_a_slip_is_refused_once_with_its_first_line(self, sheet):
        text = "query,relevant,split\na,c1,train\nb,c1,train\nc,c2,tset\nd,c3,tset\ne,c3,Train\n"
        every = "correct it, or, if it is meant, name every split: --split Train --split train --split tset"
        assert faults(sheet, text) == [
            (4, f"split 'tset' (2 queries: q003, q004) looks like 'test'; {every}"),
            (6, f"split 'Train' (1 query: q005) looks like 'train'; {every}"),
        ]  # fmt: skip

    def test_one_that_is_meant_is_named(self, sheet):
        text = "query,relevant,split\na,c1,train\nb,c1,tset\n"
        goldset = sheet(text, splits=["train", "tset"])
        assert goldset.qrels.splits == {"q001": "train", "q002": "tset"}
        assert goldset.gate_splits == ("train", "tset")
        assert sheet(text, splits=["train", "tset"], gate_splits=["train"]).gate_splits == ("train",)

    def test_others_than_those_named_are_refused(self, sheet):
        text = "query,relevant,split\na,c1,train\nb,c1,tset\n"
        assert faults(sheet, text, splits=["train", "test"]) == [
            (3, "split 'tset' is not among the splits named; allowed are train, test"),
        ]
        assert faults(sheet, text, splits=["train", "tset", "dev"]) == [
            (None, "splits names 'dev', which no query has; the queries have train, tset"),
        ]

    def test_only_the_test_split(self, sheet):
        text = "query,relevant,split\na,c1,test\nb,c2,test\n"
        ((line, message),) = faults(sheet, text)
        assert line is None
        assert message.endswith("add --gate-split test if that is meant")
        assert sheet(text, gate_splits=["test"]).gate_splits == ("test",)

    def test_options_without_a_column(self, sheet):
        assert faults(sheet, "query,relevant\na,c1\n", splits=["a"], gate_splits=["a"]) == [
            (None, "--split is given, but there is no column 'split'"),
            (None, "--gate-split is given, but there is no column 'split'"),
        ]

    def test_white_space_and_case_of_the_header(self, sheet):
        goldset = sheet(" Query , Relevant, Split\na,c1, train\nb,c1,test \n")
        assert goldset.qrels.splits == {"q001": "train", "q002": "test"}


def test_rows_of_one_question_agree_on_everything(sheet):
    text = (
        "query,doc_id,split,must\na,c1,,\na,c2,test,true\na,c3,train,\nb,c1,train,\nb,c2,,TRUE\nb,c3,,false\n"
    )
    assert faults(sheet, text) == [
        (4, "split 'train' of q001 “a” is 'test' further up; a query has one"),
        (7, "must False of q002 “b” is True further up; a query has one"),
    ]
    goldset = sheet("query,doc_id,split,must\na,c1,,\na,c2,train,true\n")
    assert goldset.qrels.splits == {"q001": "train"}
    assert goldset.must == {"q001"}


def test_columns_of_one_name_but_for_case_and_white_space(sheet):
    assert faults(sheet, "question,doc_ids,Question, question\na,c1,b,c\n") == [
        (None, f"columns 'question' and {other!r} differ in case or white space alone; rename or remove one")
        for other in ("Question", " question")
    ]


def test_the_level_that_was_chosen_is_told(sheet):
    notes = []
    sheet("query,doc_id,rating\nlamp,c1,2\nlamp,c2,1\n", notes=notes)
    assert notes[1:] == ["grades go up to 2, and documents are relevant from grade 1 on: relevance_level"]


def test_columns_that_nothing_is_read_from_are_told(sheet):
    notes = []
    sheet("query,author,doc_ids,doc_id\na,me,c1,c2\n", notes=notes)
    assert notes == ["sheet.csv: nothing is read from 'author', 'doc_id'"]


@pytest.mark.parametrize(
    "column, meant",
    [("splt", "split"), ("Splits", "split"), ("answerabel", "answerable"), ("grades", "grade")],
)
def test_a_column_that_looks_like_a_slip(sheet, column, meant):
    assert faults(sheet, f"query,relevant,{column}\na,c1,1\n") == [
        (None, f"column {column!r}: did you mean {meant!r}? Rename it to keep it")
    ]


@pytest.mark.parametrize(
    "row, message",
    [
        ('{"query": {"text": "x"}, "relevant": "c1"}', "the question in column 'query' is {'text': 'x'}; a"),
        ('{"query": ["x"], "relevant": "c1"}', "the question in column 'query' is ['x']; a string is"),
        ('{"query": 5, "relevant": "c1"}', "the question in column 'query' is 5; a string is allowed"),
        ('{"query": "x", "relevant": {"c1": 2}}', "column 'relevant' holds {'c1': 2}; allowed are ids and"),
        ('{"query": "x", "relevant": [{"id": "c1"}]}', "column 'relevant' holds {'id': 'c1'}; allowed are"),
        ('{"query": "x", "relevant": ["c1", null]}', "column 'relevant' holds None; allowed are ids and"),
        ('{"query": "x", "relevant": [["c1"]]}', "column 'relevant' holds ['c1']; allowed are ids and lists"),
        ('{"query": "x", "relevant": true}', "column 'relevant' holds True; allowed are ids and lists"),
        ('{"query": "x", "relevant": "c1", "type": [1]}', "the stratum in column 'type' is [1]; a string is"),
        ('{"query": "x", "relevant": "c1", "qid": 1.5}', "the query_id in column 'qid' is 1.5; a string is"),
    ],
)  # fmt: skip
def test_what_is_nested_is_not_taken_for_text(sheet, row, message):
    ((line, said),) = faults(sheet, row + "\n", "sheet.jsonl")
    assert line == 1
    assert said.startswith(message)


def test_documents_that_cannot_be_read_are_not_called_blank_too(sheet):
    rows = "".join(f'{{"query": "question {n}", "relevant": "c1"}}\n' for n in range(100))
    ((line, message),) = faults(sheet, rows + '{"query": "x", "relevant": {"c1": 2}}\n', "sheet.jsonl")
    assert (line, message[:17]) == (101, "column 'relevant'")


def test_ids_as_a_spreadsheet_left_them(sheet):
    documents = "id,name\n00123,lamp\nc1,rug\nc2,sofa\n"
    assert faults(sheet, 'query,relevant\na,123\nb,"c1, c2"\nc,C1\nd,n/a\n', documents=documents) == [
        (2, "document '123' is not in the catalog of 3 documents; the catalog has '00123'; spreadsheets drop"
            " leading zeros"),
        (3, "document 'c1, c2' is not in the catalog of 3 documents; several ids in one cell stand between"
            " '|' or ';'"),
        (4, "document 'C1' is not in the catalog of 3 documents; the catalog has 'c1'"),
        (5, "document 'n/a' is not in the catalog of 3 documents; leave the cell empty if nothing answers the"
            " question"),
    ]  # fmt: skip


def test_ids_of_a_catalog_are_strings_or_whole_numbers(sheet, write):
    write("docs.jsonl", '{"id": 1, "name": "a"}\n{"id": {"n": 1}, "name": "b"}\n{"id": 2.5, "name": "c"}\n')
    write("sheet.csv", "query,relevant\na,1\n")
    with pytest.raises(GoldSetError) as caught:
        goldset_of_sheet("docs.jsonl", "sheet.csv", "shop")
    assert [str(problem) for problem in caught.value.problems] == [
        "docs.jsonl:2: the id in column 'id' is {'n': 1}; ids are strings, or whole numbers",
        "docs.jsonl:3: the id in column 'id' is 2.5; ids are strings, or whole numbers",
    ]


def test_a_second_column_of_ids_does_not_take_the_place_of_the_one_named(sheet):
    documents = "sku,doc_id,name\nc1,x1,lamp\n"
    ((_, message),) = faults(sheet, "query,relevant\na,c1\n", documents=documents, doc_id="sku")
    assert message == "has a column 'doc_id' beside 'sku', which holds the id; rename or remove it"


def test_one_file_given_twice(write):
    write("docs.csv", DOCUMENTS)
    with pytest.raises(FileError, match=r"docs.csv: is given as catalog and as question sheet"):
        goldset_of_sheet("docs.csv", "./docs.csv", "shop")


def test_the_problems_of_both_files_are_told_at_once(sheet):
    assert faults(sheet, "query,relevant\na,c1,x\n", documents="id,id\n1,2\n") == [
        (1, "the header names a column twice: 'id'"),
        (2, "has 3 cells where the header has 2; put a cell that holds a comma in double quotes"),
    ]
