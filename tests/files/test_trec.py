from __future__ import annotations

import gzip
import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pytest_retrieval.errors import FileError, InputError, RetrievalWarning
from pytest_retrieval.files import quick, trec
from pytest_retrieval.files.trec import load_qrels, load_run, save_run
from pytest_retrieval.model.run import Run

RUN = """\
q2 Q0 kea 1 0.5 bm25
q1 Q0 kea 1 3 bm25
q1 Q0 moa 2 7.25 bm25
q2 Q0 tui 2 0.5 bm25
"""


def problems_of(error: pytest.ExceptionInfo[FileError]) -> list[str]:
    return [str(problem) for problem in error.value.problems]


class TestLoadRun:
    def test_sorts_by_score_then_id_descending_and_ignores_ranks(self, write):
        run = load_run(write("bm25.run", RUN))
        assert list(run) == ["q2", "q1"]  # first appearance
        assert run["q1"] == ("moa", "kea")
        assert run["q2"] == ("tui", "kea")
        assert run.scored("q1") == (("moa", 7.25), ("kea", 3.0))

    @pytest.mark.parametrize("name", ["my.run", "my.run.gz"])
    def test_is_named_after_its_file_unless_told(self, write, name):
        path = write(name, RUN)
        assert load_run(path).name == "my"
        assert load_run(path, name="bm25").name == "bm25"
        assert load_run(str(path))["q1"] == ("moa", "kea")

    @pytest.mark.parametrize(
        "text",
        [
            RUN.replace(" ", "\t"),
            RUN.replace(" ", "  "),
            RUN.replace("\n", "\r\n"),
            RUN.replace("\n", " \n \n"),
            "\ufeff" + RUN,
            RUN.rstrip("\n"),
            RUN.replace(" Q0 ", "\tQ0  "),
            RUN.replace("bm25", "bm25 of last night"),
            RUN.replace("bm25", "bm25 of last night", 1),
            RUN.replace("q1 Q0", "q1\fQ0"),
        ],
        ids=["tabs", "spaces", "crlf", "blank", "bom", "no-end", "mixed", "long-tag", "one-long-tag", "feed"],
    )
    def test_white_space_and_words_after_the_tag_do_not_matter(self, write, text):
        run = load_run(write("bm25.run", text))
        assert {query: run.scored(query) for query in run} == {
            "q2": (("tui", 0.5), ("kea", 0.5)),
            "q1": (("moa", 7.25), ("kea", 3.0)),
        }

    def test_ids_stay_strings(self, write):
        run = load_run(
            write("a.run", "007 Q0 010 1 1 t\n007 Q0 NA 2 0.5 t\n7 Q0 nan 1 1 t\n7 Q0 1e3 2 0 t\n")
        )
        assert dict(run) == {"007": ("010", "NA"), "7": ("nan", "1e3")}

    def test_infinite_scores_are_ordinary(self, write):
        run = load_run(write("a.run", "q Q0 a 1 -inf t\nq Q0 b 2 inf t\nq Q0 c 3 1e400 t\nq Q0 d 4 0 t\n"))
        assert run["q"] == ("c", "b", "d", "a")

    def test_scores_are_exact(self, write):
        scores = np.random.default_rng(3).random(2000) * 10.0 ** np.arange(2000).clip(0, 200)
        text = "".join(f"q Q0 d{row} 1 {score!r} t\n" for row, score in enumerate(scores.tolist()))
        loaded = dict(load_run(write("a.run", text)).scored("q"))
        assert [loaded[f"d{row}"] for row in range(2000)] == scores.tolist()

    def test_a_document_named_twice_stays_twice(self, write):
        run = load_run(write("a.run", "q Q0 a 1 2 t\nq Q0 b 2 1.5 t\nq Q0 a 3 1 t\n"))
        assert run["q"] == ("a", "b", "a")

    def test_every_problem_is_told_at_once_with_its_line(self, write):
        path = write(
            "bad.run",
            b"q1 Q0 kea 1 3.0 t\nq1 Q0 tui 2 t\nq1 Q0 moa 3 nan t\n\nq1 Q0 k\xe9a 4 1 t\n"
            b"q1 Q0 roa 5 high t\nq1 Q0 emu 6 1_0 t\nq1 Q0 my doc 7 2 t\nq1 Q0 emu 6 \xd9\xa3 t\n",
        )
        with pytest.raises(FileError) as error:
            load_run(path)
        assert problems_of(error) == [
            "bad.run:2: 5 columns; expected 6 columns (query, Q0, document, rank, score, tag)",
            "bad.run:3: score 'nan' of document 'moa' in query 'q1' is not a number; allowed are numbers and"
            " infinities",
            "bad.run:5: byte 8 of the line is 0xe9, which is not UTF-8; 1 line holds letters in good"
            " UTF-8, so the file mixes encodings: write the others anew",
            "bad.run:6: score 'high' of document 'roa' in query 'q1' is not a number; allowed are numbers and"
            " infinities",
            "bad.run:7: score '1_0' of document 'emu' in query 'q1' is not a number; allowed are numbers and"
            " infinities",
            "bad.run:8: 7 columns and rank 'doc': does an id hold white space? Columns cannot",
            "bad.run:9: score '٣' of document 'emu' in query 'q1' is not a number; allowed are numbers and"
            " infinities",
        ]
        assert str(error.value).startswith("run bad.run: 7 problems\n  bad.run:2: 5 columns")

    def test_a_single_bad_line_among_many_is_found(self, write):
        lines = [f"q Q0 d{row} {row} {1000 - row} t" for row in range(500)]
        lines[321] = "q Q0 d321 321 t"
        with pytest.raises(FileError, match=r"a\.run:322: 5 columns"):
            load_run(write("a.run", "\n".join(lines)))


class TestUnreadable:
    @pytest.mark.parametrize("load", [load_run, load_qrels])
    @pytest.mark.parametrize(
        "name, content, message",
        [
            ("a.run", "", "a.run: the file is empty"),
            ("a.run", " \n\n", "a.run: the file is empty"),
            (
                "a.run",
                RUN.encode("utf-16"),
                "a.run: is UTF-16; convert it: iconv -f UTF-16 -t UTF-8, or, in a spreadsheet, save as 'CSV"
                " UTF-8'",
            ),
            ("none.run", None, "none.run: no such file"),
            (".", None, ".: cannot be read: Is a directory"),
        ],
        ids=["empty", "blank", "utf-16", "missing", "folder"],
    )
    def test_is_told_for_the_whole_file(self, write, load, name, content, message):
        if content is not None:
            write(name, content)
        else:
            write("other", "")
        with pytest.raises(FileError) as error:
            load(name)
        assert problems_of(error) == [message]

    @pytest.mark.parametrize(
        "damage, message",
        [
            (lambda packed: packed[:-20], "a.run.gz: the gzip file is cut short; fetch or write it again"),
            (lambda packed: RUN.encode(), "a.run.gz: ends in .gz but is not gzip; rename it or compress it"),
            (lambda packed: packed[:-8] + bytes(8), "a.run.gz: the gzip file is damaged: CRC check failed"),
            (lambda packed: packed[:10] + b"\xff" * 40, "a.run.gz: the gzip file is damaged: Error -3"),
        ],
        ids=["cut", "plain", "checksum", "noise"],
    )
    def test_gzip(self, write, damage, message):
        path = write("a.run.gz", RUN)
        path.write_bytes(damage(path.read_bytes()))
        with pytest.raises(FileError) as error:
            load_run(path)
        assert problems_of(error)[0].startswith(message)

    def test_gzip_is_known_by_its_bytes(self, write):
        path = write("a.run", gzip.compress(RUN.encode()))
        assert len(load_run(path)) == 2


class TestLoadQrels:
    def test_trec(self, write):
        text = "q2 0 kea 1\nq1 0 moa 2\nq2 0 tui -1\n"
        qrels = load_qrels(write("qrels.txt", text))
        assert list(qrels) == ["q2", "q1"]
        assert {query: qrels[query] for query in qrels} == {"q2": {"kea": 1, "tui": -1}, "q1": {"moa": 2}}
        assert qrels.relevance_level == 1
        assert qrels.groups is None

    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_beir_is_known_by_its_header(self, write, end):
        lines = ["query-id\tcorpus-id\tscore", "q 1\tkea\t1", "q 1\ttui\t0", ""]
        qrels = load_qrels(write("test.tsv", end.join(lines)))
        assert dict(qrels) == {"q 1": {"kea": 1, "tui": 0}}

    def test_comments(self, write):
        text = "# made by hand\nq1 0 kea#1 1\n#q9 0 kea 5\nq1 0 tui 0\n"
        assert dict(load_qrels(write("qrels.txt", text))) == {"q1": {"kea#1": 1, "tui": 0}}

    def test_only_comments_hold_no_judgment(self, write):
        with pytest.raises(FileError, match=r"qrels\.txt: the file holds no judgment"):
            load_qrels(write("qrels.txt", "# nothing\n"))

    def test_column_2_names_groups_only_if_told(self, write):
        path = write("qrels.txt", "q1 red kea 1\nq1 red tui 1\nq1 blue moa 1\n")
        assert load_qrels(path).groups is None
        groups = load_qrels(path, groups=True).groups
        assert groups is not None
        assert groups.tolist() == ["red", "red", "blue"]

    def test_the_same_judgment_twice_is_one(self, write):
        qrels = load_qrels(write("qrels.txt", "q1 0 kea 1\nq1 0 tui 0\nq1 0 kea 1\n"))
        assert dict(qrels) == {"q1": {"kea": 1, "tui": 0}}
        assert len(qrels.doc_ids) == 2

    @pytest.mark.parametrize("text", ["q 0 kea 1.0\n", "q 0 kea 1\n", "q\t0\tkea\t+1\n"])
    def test_whole_numbers(self, write, text):
        assert dict(load_qrels(write("qrels.txt", text))) == {"q": {"kea": 1}}

    def test_every_problem_is_told_at_once_with_its_line(self, write):
        text = (
            "q1 0 kea 1\nq1 0 tui\nq1 0 moa 0.5\nq1 0 roa yes\nq1 0 kea 2\nq1 0 emu nan\nq1 0 a b 1\n"
            "q1 0 emu 1e300\n"
        )
        with pytest.raises(FileError) as error:
            load_qrels(write("qrels.txt", text))
        integers = "is not a whole number; allowed are integers such as 0, 1, 2"
        assert problems_of(error) == [
            "qrels.txt:2: 3 columns; expected 4 columns (query, group, document, grade)",
            f"qrels.txt:3: grade '0.5' of document 'moa' in query 'q1' {integers}",
            f"qrels.txt:4: grade 'yes' of document 'roa' in query 'q1' {integers}",
            "qrels.txt:5: document 'kea' of query 'q1' has grade 2 here and grade 1 in line 1; keep one",
            f"qrels.txt:6: grade 'nan' of document 'emu' in query 'q1' {integers}",
            "qrels.txt:7: 5 columns; expected 4 columns (query, group, document, grade)",
            f"qrels.txt:8: grade '1e300' of document 'emu' in query 'q1' {integers}",
        ]

    def test_beir_problems(self, write):
        text = "query-id\tcorpus-id\tscore\nq1\tkea\t1\nq1\t\t1\nq1\ttui\nq1\tmoa\t1.5\n"
        with pytest.raises(FileError) as error:
            load_qrels(write("test.tsv", text))
        assert [problem.line for problem in error.value.problems] == [3, 4, 5]
        assert "2 columns; expected 3 columns (query-id, corpus-id, score)" in str(error.value)

    def test_a_document_in_two_groups(self, write):
        path = write("qrels.txt", "q1 red kea 1\nq1 blue kea 1\n")
        with pytest.raises(FileError) as error:
            load_qrels(path, groups=True)
        assert problems_of(error) == [
            "qrels.txt:2: document 'kea' of query 'q1' is in group 'blue' here and in group 'red' in line"
            " 1; a"
            " document belongs to one group"
        ]
        assert len(load_qrels(path)) == 1

    def test_queries_without_a_relevant_document_are_named_with_the_level(self, write):
        lines = [f"q{number} 0 kea 1" for number in range(12)] + ["best 0 kea 2"]
        with pytest.warns(RetrievalWarning) as warned:
            load_qrels(write("qrels.txt", "\n".join(lines)), relevance_level=2)
        assert str(warned[0].message) == (
            "qrels.txt: 12 of 13 queries have no relevant document at relevance_level 2, are undefined"
            " for most"
            " measures and stay out of their means: q0, q1, q2, q3, q4, q5, q6, q7, q8, q9 and 2 more"
        )
        assert warned[0].filename == __file__

    def test_level_is_checked(self, write):
        with pytest.raises(InputError, match="relevance_level is 0"):
            load_qrels(write("qrels.txt", "q 0 kea 1\n"), 0)


class TestSaveRun:
    def test_scores_that_fall_are_kept_and_others_derived(self, write):
        write("x", "x")
        run = Run(
            {
                "q1": [("b", 0.1), ("a", -2.5)],
                "q2": [("a", 1.0), ("b", 1.0)],
                "q3": ["a", "b", "c"],
                "q4": [],
            },
            name="my system",
        )
        save_run(run, "out/mine.run")
        assert Path("out/mine.run").read_text() == (
            "q1 Q0 b 1 0.1 my_system\nq1 Q0 a 2 -2.5 my_system\n"
            "q2 Q0 a 1 2.0 my_system\nq2 Q0 b 2 1.0 my_system\n"
            "q3 Q0 a 1 3.0 my_system\nq3 Q0 b 2 2.0 my_system\nq3 Q0 c 3 1.0 my_system\n"
        )
        assert [path.name for path in Path("out").iterdir()] == ["mine.run"]

    def test_without_scores_and_name(self, write):
        write("x", "x")
        save_run(Run({"q": ["b", "a"]}), "a.run.gz")
        assert gzip.decompress(Path("a.run.gz").read_bytes()) == b"q Q0 b 1 2.0 run\nq Q0 a 2 1.0 run\n"

    @pytest.mark.parametrize("bad", ["a b", "a\tb", "a\u00a0b", "a\n", "\0", "\ufeffa", "\ud800"])
    @pytest.mark.parametrize("as_query", [True, False])
    def test_ids_with_white_space_are_refused(self, write, bad, as_query):
        path = write("a.run", "old")
        run = Run({bad: ["a"]}) if as_query else Run({"q": [bad]})
        with pytest.raises(InputError, match="separates its columns by white space") as error:
            save_run(run, path)
        assert repr(bad) in str(error.value)
        assert path.read_text() == "old"

    def test_nothing_to_write(self, write):
        write("x", "x")
        with pytest.raises(InputError, match=r"a\.run: the run holds no document"):
            save_run(Run({"q": []}), "a.run")
        assert not Path("a.run").exists()

    @given(
        st.dictionaries(
            st.text(min_size=1, max_size=4),
            st.lists(
                st.tuples(
                    st.text(min_size=1, max_size=4),
                    st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0]),
                ),
                min_size=1,
                max_size=6,
                unique_by=lambda pair: pair[0],
            ),
            min_size=1,
            max_size=4,
        )
    )
    @example({"q": [("a", math.inf), ("b", -math.inf)]})
    @example({"#q": [("#", 1.0), ('"', 1.0)]})
    def test_rankings_survive(self, rankings):
        run = Run(rankings)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.run")
            try:
                save_run(run, path)
            except InputError:
                assume(False)
            assert dict(load_run(path)) == dict(run)


WORDS = st.sampled_from(
    [
        "q",
        "d",
        "1",
        "0.5",
        "nan",
        "inf",
        "-1e9",
        "1_0",
        "NA",
        '"',
        "'",
        "#x",
        "é",
        "\ufeff",
        "\xa0",
        "0x1",
        "1,5",
    ]
)
GAPS = st.sampled_from([" ", " ", " ", "\t", "  ", " \t", "\x0b", "\x1c", ""])
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n", " \n", "\n ", "\r", "\0\n"])
FILES = st.lists(
    st.tuples(st.lists(st.tuples(WORDS, GAPS), min_size=3, max_size=8), ENDS), min_size=1, max_size=4
).map(lambda lines: "".join("".join(map("".join, line)).rstrip(" ") + end for line, end in lines).encode())
TIDY_RUNS = st.lists(
    st.tuples(*[WORDS] * 3, st.just("1"), st.sampled_from(["1", "-0.5", "inf", "nan", "1e400", "x"]), WORDS),
    min_size=1,
    max_size=4,
).map(lambda rows: "".join(f"{' '.join(row)}\n" for row in rows).encode())


class TestQuickAgreesWithCareful:
    """The quick pass may refuse a file, but where it answers it answers as the careful pass does."""

    @given(FILES | TIDY_RUNS)
    @example(b"q Q0 d 1 2 t x\nq Q0 d 1 2 t\n")
    @example(b"q Q0 d 1 2 t x\nq Q0 d 1 2 t x\n")
    @example(b"q Q0 d 1 2 3 x\nq Q0 d 1 2 3 x\n")
    @example(b"q Q0 d 1 2\nq Q0 d 1 2 t\n")
    @example(b"q Q0 d 1 2 t\n \nq Q0 d 1 2 t\n")
    def test_runs(self, data):
        quickly = trec._fast_run(data)
        if quickly is None:
            return
        carefully = trec._careful_run(data, "a.run")
        for quick_column, careful_column in zip(quickly, carefully, strict=True):
            assert quick_column.tolist() == careful_column.tolist()

    @given(
        st.booleans(),
        st.lists(
            st.tuples(WORDS, WORDS, WORDS, st.sampled_from(["0", "1", "-1", "2.0", "0.5", "x", "inf", ""])),
            min_size=1,
            max_size=4,
        ),
        st.sampled_from([" ", "\t", "  "]),
    )
    @example(False, [("q", "0", "d", str(2**53))], " ")
    def test_qrels(self, beir, rows, gap):
        if beir:
            gap = "\t"
            rows = [("query-id", "corpus-id", "score"), *((row[0], row[2], row[3]) for row in rows)]
        data = "".join(f"{gap.join(row)}\n" for row in rows).encode()
        quickly = trec._fast_qrels(data, 1)
        if quickly is None:
            return
        carefully = trec._careful_qrels(data, "a", 1, False)
        assert list(quickly) == list(carefully)
        assert dict(quickly) == dict(carefully)

    def test_a_header_alone_is_left_to_the_careful_pass(self):
        assert trec._fast_qrels(b"query-id\tcorpus-id\tscore", 1) is None
        assert trec._fast_qrels(b"query-id\tcorpus-id\tscore\n\n", 1) is None

    def test_the_ordinary_file_is_read_quickly(self):
        assert trec._fast_run(RUN.encode()) is not None
        assert trec._fast_run(RUN.replace(" ", "\t").encode()) is not None
        assert trec._fast_run(RUN.replace(" Q0", "\tQ0").encode()) is not None
        assert trec._fast_qrels(b"q 0 kea 1\n", 1) is not None
        assert trec._fast_qrels(b"query-id\tcorpus-id\tscore\nq\tkea\t1\n", 1) is not None

    def test_pandas_2_is_told_to_read_numbers_exactly(self, monkeypatch):
        import pandas as pd

        seen = {}

        def read_csv(*_, **options):
            seen.update(options)
            raise ValueError

        monkeypatch.setattr(pd, "read_csv", read_csv)
        monkeypatch.setattr(pd, "__version__", "2.3.0")
        assert quick.quick_frame(b"q 0 kea 1\n", ["a", "b", "c", "d"], "d", (" ",)) is None
        assert seen["float_precision"] == "round_trip"
