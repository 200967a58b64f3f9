from __future__ import annotations

import csv
import sys

import pandas as pd
import pytest

from pytest_retrieval.errors import FileError, MissingExtraError
from pytest_retrieval.files.tables import Row, read_rows, read_table, table_of_frame

JSON_LINES = '{"id": "a", "n": 1, "tags": ["x"]}\n\n{"id": "b", "n": null, "note": "é\u2028"}\n'


def problems_of(path) -> list[str]:
    with pytest.raises(FileError) as error:
        read_rows(path)
    return [str(problem) for problem in error.value.problems]


class TestJsonLines:
    @pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
    @pytest.mark.parametrize("start", ["", "\ufeff"])
    def test_rows_keep_types_and_lines(self, write, name, start):
        path = write(name, start + JSON_LINES)
        assert read_rows(path) == [
            Row(1, {"id": "a", "n": 1, "tags": ["x"]}),
            Row(3, {"id": "b", "n": None, "note": "é\u2028"}),
        ]
        table = read_table(path)
        assert table.columns == ("id", "n", "tags", "note")
        assert table.typed

    def test_crlf(self, write):
        assert read_rows(write("t.jsonl", '{"a": 1}\r\n{"a": 2}\r\n')) == [Row(1, {"a": 1}), Row(2, {"a": 2})]

    def test_every_problem_is_told_at_once(self, write):
        lines = [
            b'{"a": 1}',
            b'{"a": 1',
            b"[1]",
            b'"a"',
            b"true",
            b"null",
            b"3",
            b'{"a": 1, "b": {"d": 0, "c": 1, "c": 2}}',
            b'{"a": NaN}',
            b'{"a": "\xff"}',
            b'{"a": "\\ud800"}',
            b'{"a": "\\ud83d\\ude00"}',
            b'{"a": ' + b"[" * 100_000,
            b'{"a": 1} {"a": 2}',
        ]
        hint = 'each line is one object such as {"query_id": …}'
        assert problems_of(write("t.jsonl", b"\n".join(lines))) == [
            "t.jsonl:2: is no JSON: Expecting ',' delimiter at column 8",
            f"t.jsonl:3: is a JSON list; {hint}",
            f"t.jsonl:4: is a JSON string; {hint}",
            f"t.jsonl:5: is a JSON boolean; {hint}",
            f"t.jsonl:6: is a JSON null; {hint}",
            f"t.jsonl:7: is a JSON number; {hint}",
            "t.jsonl:8: names a key twice: 'c'",
            "t.jsonl:9: holds NaN, which is no JSON; write null",
            "t.jsonl:10: byte 8 of the line is 0xff, which is not UTF-8; save the file as UTF-8 (in a"
            " spreadsheet, save as 'CSV UTF-8'), or convert it: iconv -f <its encoding> -t UTF-8, where"
            " Windows and old spreadsheets mostly write WINDOWS-1252",
            "t.jsonl:11: holds half of a surrogate pair, which is no text",
            "t.jsonl:13: is JSON nested too deeply",
            "t.jsonl:14: is no JSON: Extra data at column 10",
        ]
        assert [row.line for row in read_table(write("t.jsonl", b"\n".join(lines))).rows] == [1, 12]

    @pytest.mark.parametrize("text", ['{\n "a": 1\n}\n', '[\n {"a": 1},\n {"a": 2}\n]\n', '[{\n"a": 1}]\n'])
    def test_json_over_several_lines_is_one_problem(self, write, text):
        assert problems_of(write("t.jsonl", text)) == [
            "t.jsonl:1: is JSON over several lines; JSON lines hold one object a line, such as jq -c writes"
            " them"
        ]


class TestCells:
    @pytest.mark.parametrize(
        "name, gap", [("t.csv", ","), ("t.csv.gz", ","), ("t.tsv", "\t"), ("t.tsv.gz", "\t")]
    )
    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_rows_are_strings_with_the_line_they_begin_on(self, write, name, gap, end):
        lines = ["id,text", 'a,"one', 'two ""2"""', "", "b,5 in", "c,"]
        path = write(name, "\ufeff" + end.join(lines).replace(",", gap))
        assert read_rows(path) == [
            Row(2, {"id": "a", "text": f'one{end}two "2"'}),
            Row(5, {"id": "b", "text": "5 in"}),
            Row(6, {"id": "c", "text": ""}),
        ]
        assert not read_table(path).typed

    def test_every_problem_is_told_at_once(self, write):
        assert problems_of(write("t.csv", "id,,id, \na,b,c,d\na,b,c\n\na,b,c,d,e\n")) == [
            "t.csv:1: the header names a column twice: 'id'",
            "t.csv:2: the header has no name for column 2, 4, which this row fills; name it or clear it",
            "t.csv:3: has 3 cells where the header has 4",
            "t.csv:5: has 5 cells where the header has 4; put a cell that holds a comma in double quotes",
        ]

    def test_a_tsv_has_no_commas_to_quote(self, write):
        assert problems_of(write("t.tsv", "id\ttext\na\n\ta\tb\n")) == [
            "t.tsv:2: has 1 cell where the header has 2",
            "t.tsv:3: has 3 cells where the header has 2",
        ]

    def test_what_a_spreadsheet_leaves_around_a_table_is_blank(self, write):
        path = write("t.csv", "id,text,,\na,b,,\n,,,\n c ,,, \n , ,,\n,,,\n,\n")
        assert read_rows(path) == [Row(2, {"id": "a", "text": "b"}), Row(4, {"id": " c ", "text": ""})]

    @pytest.mark.parametrize(
        "name, text, right",
        [
            ("t.csv", "id;text\na;b, c\n", "'id;text': separate columns with commas, or with tabs in a .tsv"),
            ("t.csv", "id\ttext\n", r"'id\ttext': separate columns with commas, or with tabs in a .tsv"),
            ("t.tsv", "id,text\na,b\tc\n", "'id,text': separate columns with tabs, or with commas in a .csv"),
        ],
    )
    def test_another_separator_is_one_problem(self, write, name, text, right):
        assert problems_of(write(name, text)) == [f"{name}:1: the only column is {right}"]

    @pytest.mark.parametrize("sign", [",", ";"])
    def test_a_note_to_excel(self, write, sign):
        assert problems_of(write("t.csv", f"sep={sign}\nid,text\na,b\n")) == [
            f"t.csv:1: 'sep={sign if sign == ';' else ''}' is a note to Excel and no header; remove the line"
        ]

    def test_a_quote_that_never_closes(self, write):
        assert problems_of(write("t.csv", 'id,text\na,"b\nc,d\n')) == [
            "t.csv:2: a cell of this row opens a double quote that never closes; a quote in a cell is"
            " written twice"
        ]

    def test_a_quote_within_quotes(self, write):
        assert problems_of(write("t.csv", 'id,text\na,b\n\nc,"5" pipe"\nd,e\n')) == [
            "t.csv:4: cannot be taken apart: ',' expected after '\"'; within double quotes a quote is written"
            " twice"
        ]

    def test_wrong_encoding_is_one_problem(self, write):
        """Three lines are Latin-1; the first bad byte stands in line 3."""
        text = "id,text\na,b\nc,café\né,b\nd,ü\n".encode("latin-1")
        assert problems_of(write("t.csv", text)) == [
            "t.csv:3: byte 6 of the line is 0xe9, which is not UTF-8 (and 2 more lines are not); save the"
            " file as UTF-8 (in a spreadsheet, save as 'CSV UTF-8'), or convert it: iconv -f <its encoding>"
            " -t UTF-8, where Windows and old spreadsheets mostly write WINDOWS-1252",
        ]

    def test_a_chance_line_of_good_utf_8_is_no_second_encoding(self, write):
        """In Latin-1, Ã© are the bytes of é in UTF-8."""
        text = "id,text\na,Ã©\nb,é\nc,é\n".encode("latin-1")
        (message,) = problems_of(write("t.csv", text))
        assert "mixes" not in message
        assert "iconv" in message

    def test_two_encodings_in_one_file(self, write):
        text = "id,text\na,ö\n".encode() + "b,é\n".encode("latin-1")
        assert problems_of(write("t.csv", text)) == [
            "t.csv:3: byte 3 of the line is 0xe9, which is not UTF-8; 1 line holds letters in good UTF-8, so"
            " the file mixes encodings: write the others anew",
        ]

    def test_long_cells(self, write):
        before = csv.field_size_limit()
        rows = read_rows(write("t.csv", f"id,text\na,{'x' * 200_000}\n"))
        assert len(rows[0].values["text"]) == 200_000
        assert csv.field_size_limit() == before


class TestParquet:
    def test_rows_keep_types(self, write):
        pytest.importorskip("pyarrow")
        write("x", "x")
        pd.DataFrame({"id": [1, 2], "text": ["a", None], "tags": [["x"], []]}).to_parquet("t.parquet")
        assert read_rows("t.parquet") == [
            Row(1, {"id": 1, "text": "a", "tags": ["x"]}),
            Row(2, {"id": 2, "text": None, "tags": []}),
        ]

    def test_damaged(self, write):
        pytest.importorskip("pyarrow")
        problems = problems_of(write("t.parquet", "id,text\n"))
        assert len(problems) == 1
        assert problems[0].startswith("t.parquet: is no readable Parquet file: ")

    def test_missing(self, write):
        pytest.importorskip("pyarrow")
        write("x", "x")
        assert problems_of("t.parquet") == ["t.parquet: no such file"]

    def test_without_pyarrow_the_extra_is_named(self, write, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(MissingExtraError, match=r"t\.parquet.*pip install 'pytest-retrieval\[parquet\]'"):
            read_rows(write("t.parquet", "x"))


@pytest.mark.parametrize(
    "name, suffix, more",
    [
        ("t.xlsx", ".xlsx", "; in a spreadsheet, save as 'CSV UTF-8'"),
        ("t", "", ""),
        ("t.gz", ".gz", ""),
        ("t.txt.gz", ".txt.gz", ""),
    ],
)
def test_other_suffixes_are_refused(write, name, suffix, more):
    assert problems_of(write(name, "x")) == [
        f"{name}: has the suffix {suffix!r}; allowed are .jsonl, .jsonl.gz, .csv, .csv.gz, .tsv, .tsv.gz,"
        f" .parquet{more}"
    ]


def test_missing_file(write):
    write("x", "x")
    assert problems_of("t.csv") == ["t.csv: no such file"]


def test_paths_outside_the_working_directory_are_shown_whole(tmp_path, write):
    path = write("inside/t.jsonl", "[]").absolute()
    assert problems_of(path)[0].startswith("inside/t.jsonl:1: ")
    outside = tmp_path.parent / f"{tmp_path.name}-outside.jsonl"
    outside.write_text("[]")
    assert problems_of(outside)[0].startswith(f"{outside}:1: ")


class TestFrames:
    def test_missing_values_are_none_and_scalars_python_s(self):
        frame = pd.DataFrame(
            {
                "id": ["a", None],
                "n": pd.array([1, pd.NA], dtype="Int64"),
                "x": [float("nan"), 1.5],
                "t": [pd.NaT, pd.Timestamp("2024-01-01")],
                "tags": [["x"], ()],
            }
        )
        rows = table_of_frame(frame, "f").rows
        assert rows[0] == Row(0, {"id": "a", "n": 1, "x": None, "t": None, "tags": ["x"]})
        assert rows[1] == Row(
            1, {"id": None, "n": None, "x": 1.5, "t": pd.Timestamp("2024-01-01"), "tags": ()}
        )
        assert type(rows[0].values["n"]) is int

    def test_arrays_in_cells_are_lists(self):
        import numpy as np

        cells = np.empty(1, dtype=object)
        cells[0] = np.array([1, 2])
        assert table_of_frame(pd.DataFrame({"a": cells}), "f").rows[0].values == {"a": [1, 2]}

    def test_a_named_index_is_a_column(self):
        frame = pd.DataFrame({"n": [1]}, index=pd.Index(["a"], name="id"))
        assert table_of_frame(frame, "f").rows == (Row(0, {"id": "a", "n": 1}),)
        assert table_of_frame(frame.rename_axis(None), "f").rows == (Row(0, {"n": 1}),)
