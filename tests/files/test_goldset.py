from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_retrieval.errors import GoldSetError, RetrievalWarning
from pytest_retrieval.files.goldset import load_content, load_goldset, read_settings
from pytest_retrieval.model.goldset import Subject

TOML = """\
name = "store"
relevance_level = 2
[subjects.bm25]
measures = ["recall@5", "mrr"]
"""
CATALOG = """\
{"doc_id": "d1", "name": "Blue sofa", "price": 300, "colours": ["blue"]}
{"doc_id": "d2", "name": "Red sofa"}
{"doc_id": "d3", "name": "Lamp", "note": null}
"""
QUERIES = """\
{"query_id": "q1", "query": "blue sofa", "stratum": "several words", "split": "train", \
"slices": ["colour", "short"], "must": true, "lang": "en"}
{"query_id": "q2", "query": "lamp", "stratum": "one word", "split": "train", "slices": "short|plain"}
{"query_id": "q3", "query": "boat", "stratum": "one word", "split": "test", \
"answerable": false, "synthetic": true}
"""
QRELS = """\
q1 0 d1 2
q1 0 d2 1
q2 0 d3 2
q3 0 d3 0
"""


def judged(form: str) -> str:
    """Return the judgments of QRELS, each written in another form."""
    rows = (line.split() for line in QRELS.splitlines())
    return "".join(f"{form.format(query, doc, grade)}\n" for query, _, doc, grade in rows)


@pytest.fixture
def make(write):
    """Write a good gold set into the folder gs, with some files replaced, added, or (None) left out."""

    def folder(files: dict[str, str | bytes | None] | None = None, toml: str = "") -> Path:
        good = {
            "goldset.toml": toml + TOML,
            "catalog.jsonl": CATALOG,
            "queries.jsonl": QUERIES,
            "qrels.trec": QRELS,
        }
        for name, content in {**good, **(files or {})}.items():
            if content is not None:
                write(f"gs/{name}", content)
        return Path("gs")

    return folder


@pytest.fixture
def refused(make):
    """Return the problems for which a gold set is refused, as text."""

    def problems(files: dict[str, str | bytes | None] | None = None, toml: str = "") -> list[str]:
        folder = make(files, toml)
        with pytest.raises(GoldSetError) as error:
            load_goldset(folder)
        assert str(error.value).startswith("gold set 'store' in gs: ")
        return [str(problem) for problem in error.value.problems]

    return problems


def queries(*rows: str) -> dict[str, str | bytes | None]:
    return {"queries.jsonl": "\n".join(rows)}


def query(query_id: str = "q1", /, **values: object) -> str:
    row = {"query_id": query_id, "query": "x", "stratum": "s", "split": "train", **values}
    return json.dumps({name: value for name, value in row.items() if value is not ...})


Q2 = query("q2")
Q3 = query("q3", answerable=False)


class TestGoodGoldSet:
    def test_everything_is_where_it_belongs(self, make):
        goldset = load_goldset(make())
        assert repr(goldset).startswith("<GoldSet 'store': 3 queries, 3 documents, ")
        assert goldset.folder == "gs"
        qrels = goldset.qrels
        assert dict(qrels) == {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 2}, "q3": {"d3": 0}}
        assert qrels.relevance_level == 2
        assert qrels.strata == {"q1": "several words", "q2": "one word", "q3": "one word"}
        assert qrels.splits == {"q1": "train", "q2": "train", "q3": "test"}
        assert qrels.slices == {"q1": ("colour", "short"), "q2": ("short", "plain"), "q3": ()}
        assert qrels.unanswerable == {"q3"}
        assert goldset.must == {"q1"}
        assert goldset.gate_splits == ("train",)
        assert goldset.gated_queries == ("q1", "q2")
        assert goldset.subjects == {"bm25": Subject("bm25", ("recall@5", "mrr"))}
        assert goldset.text_of("q2") == "lamp"

    def test_frames(self, make):
        goldset = load_goldset(make())
        assert goldset.catalog is not None
        assert goldset.catalog.index.name == "doc_id"
        assert goldset.catalog.to_dict("index") == {
            "d1": {"name": "Blue sofa", "price": 300, "colours": ["blue"], "note": ""},
            "d2": {"name": "Red sofa", "price": None, "colours": None, "note": ""},
            "d3": {"name": "Lamp", "price": None, "colours": None, "note": ""},
        }
        assert goldset.queries.index.name == "query_id"
        assert list(goldset.queries.columns) == [
            "query", "stratum", "split", "slices", "answerable", "synthetic", "must", "lang",
        ]  # fmt: skip
        assert goldset.queries.loc["q1"].to_dict() == {
            "query": "blue sofa",
            "stratum": "several words",
            "split": "train",
            "slices": ("colour", "short"),
            "answerable": True,
            "synthetic": False,
            "must": True,
            "lang": "en",
        }
        assert goldset.queries["answerable"].tolist() == [True, True, False]
        assert goldset.queries["synthetic"].tolist() == [False, False, True]

    def test_settings_reach_the_gold_set(self, make):
        toml = (
            'version = "2"\nprovenance = "p"\nlicence = "l"\nunjudged = "unknown"\ndepth ='
            " 7\ncontext_size = 3\n"
            'min_judged = 0.5\ntolerance = 0.1\nalpha = 0.2\nrecording_drift = 0.3\ngate_also = ["all",'
            ' "slice:short"]\n'
            "grades = {no = 0, partial = 1, exact = 2}\n"
        )
        goldset = load_goldset(make(toml=toml) / "goldset.toml")
        assert (goldset.version, goldset.provenance, goldset.licence) == ("2", "p", "l")
        assert (goldset.unjudged, goldset.depth, goldset.context_size) == ("unknown", 7, 3)
        assert (goldset.min_judged, goldset.tolerance, goldset.alpha) == (0.5, 0.1, 0.2)
        assert (goldset.recording_drift, goldset.gate_also) == (0.3, ("all", "slice:short"))
        assert goldset.grades == {"no": 0, "partial": 1, "exact": 2}

    def test_the_smallest_one(self, make):
        goldset = load_goldset(
            make(
                {
                    "goldset.toml": 'name = "tiny"',
                    "catalog.jsonl": None,
                    "queries.jsonl": None,
                    "queries.csv": "query_id,query\n1,blue sofa\n",
                    "qrels.trec": "1 0 d1 1\n",
                }
            )
        )
        assert goldset.qrels.strata == {"1": "all"}
        assert goldset.qrels.splits is goldset.qrels.slices is goldset.gate_splits is goldset.catalog is None
        assert goldset.qrels.relevance_level == 1
        assert goldset.gated_queries == ("1",)
        assert goldset.queries.loc["1", "split"] is None
        assert goldset.digests.catalog == ""

    def test_settings_and_content_can_be_read_apart(self, make):
        settings = read_settings(make())
        assert load_content(settings).digests == load_goldset("gs").digests

    def test_csv_says_the_same_as_json_lines(self, make):
        folder = make()
        expected = load_goldset(folder)
        for name in ("catalog.jsonl", "queries.jsonl", "qrels.trec"):
            (folder / name).unlink()
        make(
            {
                "catalog.jsonl": None,
                "queries.jsonl": None,
                "qrels.trec": None,
                "catalog.csv.gz": "doc_id,note,price,colours,name\nd3,,,,Lamp\n"
                'd1,,300,"[""blue""]",Blue sofa\n'
                "d2,,,,Red sofa\n",
                "queries.tsv": "query_id\tquery\tslices\tstratum\tsplit\tanswerable\tsynthetic\tmust\n"
                "q3\tboat\t\tone word\ttest\tFALSE\t1\t0\n"
                "q1\tblue sofa\tshort; colour\tseveral words\ttrain\ttrue\t0\tTrue\n"
                "q2\tlamp\tplain | short\tone word\ttrain\t\t\t\n",
                "qrels.csv": "query_id,doc_id,grade,judge\nq2,d3,2,me\nq1,d2,1,me\nq3,d3,0,me\nq1,d1,2,me\n",
            }
        )
        goldset = load_goldset(folder)
        assert goldset.digests == expected.digests
        assert goldset.must == expected.must
        assert goldset.qrels.unanswerable == expected.qrels.unanswerable
        assert goldset.queries["synthetic"].to_dict() == expected.queries["synthetic"].to_dict()

    @pytest.mark.parametrize(
        "name, content",
        [
            ("qrels.trec.gz", QRELS),
            ("qrels.tsv", QRELS),
            ("qrels.tsv", "query-id\tcorpus-id\tscore\n" + judged("{}\t{}\t{}")),
            ("qrels.tsv", "query_id\tdoc_id\tgrade\n" + judged("{}\t{}\t{}")),
            ("qrels.csv", "query-id,corpus-id,score\n" + judged("{},{},{}")),
            ("qrels.jsonl", judged('{{"query_id": "{}", "doc_id": "{}", "grade": {}}}')),
            ("qrels.jsonl.gz", judged('{{"query_id": "{}", "doc_id": "{}", "grade": {}.0}}')),
        ],
    )
    def test_qrels_in_every_form(self, make, name, content):
        goldset = load_goldset(make({"qrels.trec": None, name: content}))
        assert dict(goldset.qrels) == {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 2}, "q3": {"d3": 0}}

    def test_whole_number_ids_become_strings_and_parquet_works(self, make):
        pytest.importorskip("pyarrow")
        import pandas as pd

        folder = make({"catalog.jsonl": None, "queries.jsonl": None, "qrels.trec": "1 0 10 2\n2 0 20 2\n"})
        pd.DataFrame({"doc_id": [10, 20], "name": ["a", None]}).to_parquet(folder / "catalog.parquet")
        pd.DataFrame({"query_id": [1, 2], "query": ["a", "b"], "slices": [["x"], []]}).to_parquet(
            folder / "queries.parquet"
        )
        goldset = load_goldset(folder)
        assert dict(goldset.qrels) == {"1": {"10": 2}, "2": {"20": 2}}
        assert goldset.qrels.slices == {"1": ("x",), "2": ()}
        assert goldset.catalog is not None
        assert goldset.catalog["name"].to_dict() == {"10": "a", "20": ""}

    @pytest.mark.parametrize(
        "name, content",
        [
            ("qrels.trec", "q1 red d1 2\nq1 red d2 2\nq2 0 d3 2\n"),
            ("qrels.csv", "query_id,doc_id,grade,group\nq1,d1,2,red\nq1,d2,2,red\nq2,d3,2,\n"),
        ],
    )
    def test_groups(self, make, name, content):
        goldset = load_goldset(make({"qrels.trec": None, name: content}, toml="groups = true\n"))
        assert goldset.qrels.groups is not None
        expected = "0" if name == "qrels.trec" else "d3"  # a document without a group is one of its own
        assert goldset.qrels.groups.tolist() == ["red", "red", expected]

    def test_groups_are_ignored_unless_asked_for(self, make):
        content = "query_id,doc_id,grade,group\nq1,d1,2,a\nq1,d1,2,b\nq2,d3,2,\n"
        assert load_goldset(make({"qrels.trec": None, "qrels.csv": content})).qrels.groups is None

    def test_columns_of_strata_and_slices_can_be_named(self, make):
        rows = queries(
            query(kind="a", tag="x", device="y"),
            query("q2", kind="b", device=["z", "y"]),
            query("q3", kind="b", answerable=False),
        )
        goldset = load_goldset(make(rows, toml='stratum = "kind"\nslices = ["tag", "device"]\n'))
        assert goldset.qrels.strata == {"q1": "a", "q2": "b", "q3": "b"}
        assert goldset.qrels.slices == {"q1": ("x", "y"), "q2": ("z", "y"), "q3": ()}
        assert goldset.queries["stratum"].tolist() == ["a", "b", "b"]

    def test_gate_splits_may_name_the_test_split(self, make):
        rows = queries(query(split="test"), query("q2", split="test"), Q3)
        assert load_goldset(make(rows, toml='gate_splits = ["test"]\n')).gate_splits == ("test",)

    def test_no_relevant_may_be_undefined(self, make):
        goldset = load_goldset(make({"qrels.trec": "q1 0 d1 2\n"}, toml='no_relevant = "undefined"\n'))
        assert dict(goldset.qrels) == {"q1": {"d1": 2}, "q2": {}, "q3": {}}

    def test_a_document_with_the_id_of_its_query(self, make):
        files = {
            "catalog.jsonl": '{"doc_id": "q1"}\n{"doc_id": "d3"}',
            "qrels.trec": "q1 0 q1 2\nq2 0 d3 2\n",
        }
        assert load_goldset(make(files)).qrels["q1"] == {"q1": 2}


class TestFiles:
    def test_two_candidates(self, refused):
        problems = refused(
            {"queries.csv": "query_id,query\nq1,x\n", "qrels.jsonl": "{}", "corpus.jsonl": CATALOG}
        )
        assert problems == [
            "gs: there are queries.jsonl and queries.csv; keep one, for only one can count",
            "gs: there are catalog.jsonl and corpus.jsonl; keep one, for only one can count",
            "gs: there are qrels.trec and qrels.jsonl; keep one, for only one can count",
        ]

    def test_qrels_as_file_and_folder(self, refused):
        assert "gs: there are qrels.trec and qrels; keep one, for only one can count" in refused(
            {"qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\n"}
        )

    def test_missing_files(self, refused):
        suffixes = [".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet"]
        assert refused({"queries.jsonl": None, "qrels.trec": None}) == [
            f"gs: there is no file of queries; allowed are {', '.join('queries' + end for end in suffixes)}",
            "gs: there is no file of qrels; allowed are "
            + ", ".join("qrels" + end for end in [".trec", ".trec.gz", *suffixes]),
        ]

    def test_missing_qrels_alone(self, refused):
        assert [problem.partition(";")[0] for problem in refused({"qrels.trec": None})] == [
            "gs: there is no file of qrels"
        ]

    def test_a_catalog_with_another_suffix_is_not_overlooked(self, refused):
        assert refused({"catalog.jsonl": None, "catalog.xml": "<a/>"})[0].startswith(
            "gs: catalog.xml cannot be read as catalog; allowed are catalog.jsonl, "
        )

    def test_problems_of_every_file_at_once(self, refused):
        problems = refused(
            {
                "catalog.jsonl": CATALOG + "[]\n",
                "queries.jsonl": QUERIES + "{\n",
                "qrels.trec": QRELS + "q1 0 d3 yes\n",
            },
            toml='gate_splits = ["dev"]\n',
        )
        places = [problem.partition(": ")[0] for problem in problems]
        assert places == [
            "gs/catalog.jsonl:4",
            "gs/queries.jsonl:1",
            "gs/queries.jsonl:4",
            "gs/goldset.toml:1",
            "gs/qrels.trec:5",
        ]

    def test_lost_lines_raise_no_false_alarms(self, refused):
        """A document or query whose line cannot be read is not reported as unknown as well."""
        assert refused(
            {
                "catalog.jsonl": CATALOG.replace('{"doc_id": "d3"', '{"doc_id": d3'),
                "queries.jsonl": QUERIES.replace('{"query_id": "q2"', '{"query_id": q2'),
            }
        ) == [
            "gs/catalog.jsonl:3: is no JSON: Expecting value at column 12",
            "gs/queries.jsonl:2: is no JSON: Expecting value at column 14",
        ]

    @pytest.mark.parametrize("name", ["catalog.jsonl", "queries.jsonl", "qrels.trec"])
    def test_empty_and_damaged_files(self, refused, name):
        assert refused({name: "\n"}) == [f"gs/{name}: the file is empty"]

    @pytest.mark.parametrize(
        "name, text", [("catalog.jsonl", CATALOG), ("queries.jsonl", QUERIES), ("qrels.trec", QRELS)]
    )
    def test_truncated_gzip_and_wrong_encoding(self, make, name, text):
        folder = make({name: None, f"{name}.gz": text})
        packed = folder / f"{name}.gz"
        packed.write_bytes(packed.read_bytes()[:-9])
        with pytest.raises(GoldSetError) as error:
            load_goldset(folder)
        assert [str(problem) for problem in error.value.problems] == [
            f"gs/{name}.gz: the gzip file is cut short; fetch or write it again"
        ]
        packed.unlink()
        (folder / name).write_bytes(text.encode() + b"\xff\n")
        with pytest.raises(
            GoldSetError, match=rf"gs/{name}:\d: byte 1 of the line is 0xff, which is not UTF-8"
        ):
            load_goldset(folder)

    @pytest.mark.parametrize("name", ["catalog.jsonl", "queries.jsonl", "qrels.trec"])
    def test_a_pointer_of_git_lfs_is_no_file(self, refused, name):
        """What a checkout without LFS leaves in the place of each file."""
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
        assert refused({name: pointer}) == [
            f"gs/{name}: is a Git LFS pointer, not the file: fetch it with git lfs pull, or check out with"
            " lfs: true"
        ]

    def test_a_header_without_rows(self, refused):
        assert (
            refused({"queries.jsonl": None, "queries.csv": "query_id,query\n"})[0]
            == "gs/queries.csv: holds no row"
        )

    def test_qrels_of_comments_alone(self, refused):
        assert refused({"qrels.trec": "# none\n"}) == ["gs/qrels.trec: the file holds no judgment"]


class TestIds:
    def test_twice(self, refused):
        problems = refused({"catalog.jsonl": CATALOG + '{"doc_id": "d1"}', "queries.jsonl": QUERIES + Q2})
        assert problems == [
            "gs/catalog.jsonl:4: doc_id 'd1' is taken by line 1; ids are unique",
            "gs/queries.jsonl:4: query_id 'q2' is taken by line 2; ids are unique",
        ]

    @pytest.mark.parametrize(
        "value, said",
        [
            ('""', "doc_id is empty; every row needs one"),
            ('" "', "doc_id is empty; every row needs one"),
            ("null", "doc_id is empty; every row needs one"),
            ('" d4"', "doc_id ' d4' has white space at its ends; remove it"),
            ("4.5", "doc_id is 4.5; ids are strings, or whole numbers in every row"),
            ("true", "doc_id is True; ids are strings, or whole numbers in every row"),
            ('["d4"]', "doc_id is ['d4']; ids are strings, or whole numbers in every row"),
            ("4", "doc_id 4 is a number while line 1 has a string; write every id as a string"),
        ],
    )
    def test_that_are_none(self, refused, value, said):
        assert refused({"catalog.jsonl": f'{CATALOG}{{"doc_id": {value}}}\n'}) == [
            f"gs/catalog.jsonl:4: {said}"
        ]

    def test_one_string_among_numbers(self, refused):
        lines = ['{"doc_id": 1}', '{"doc_id": 2}', '{"doc_id": "d1"}', '{"doc_id": 3}']
        assert refused({"catalog.jsonl": "\n".join(lines)})[0] == (
            "gs/catalog.jsonl:3: doc_id 'd1' is a string while line 1 has a number; write every id as a"
            " string"
        )

    def test_a_row_without_one(self, refused):
        assert refused({"queries.jsonl": QUERIES + '{"query": "x", "stratum": "s", "split": "train"}'}) == [
            "gs/queries.jsonl:4: query_id is empty; every row needs one"
        ]

    def test_in_tables_of_qrels(self, refused):
        content = (
            '{"query_id": "q1", "doc_id": "d1", "grade": 2}\n{"query_id": "q1", "doc_id": 2, "grade": 2}\n'
            '{"query_id": "", "doc_id": "d1", "grade": 2}\n'
        )
        assert refused({"qrels.trec": None, "qrels.jsonl": content})[:2] == [
            "gs/qrels.jsonl:2: doc_id 2 is a number while line 1 has a string; write every id as a string",
            "gs/qrels.jsonl:3: query_id is empty; every row needs one",
        ]


class TestColumns:
    def test_needed_ones(self, refused):
        problems = refused(
            {
                "catalog.jsonl": '{"id": "d1", "name": "x"}',
                "queries.jsonl": '{"qid": "q1", "query": "x"}',
                "qrels.trec": None,
                "qrels.csv": "query_id,document,grade\nq1,d1,2\n",
            }
        )
        assert problems == [
            "gs/catalog.jsonl: has no column 'doc_id'; it has id, name",
            "gs/queries.jsonl: has no column 'query_id'; it has qid, query",
            "gs/qrels.csv: has no column 'doc_id'; it has query_id, document, grade",
        ]

    def test_query_text(self, refused):
        renamed = [row.replace('"query"', '"question"') for row in (Q2, Q3)]
        assert refused(queries('{"query_id": "q1", "question": "x"}', *renamed)) == [
            "gs/queries.jsonl: has no column 'query'; it has query_id, question, stratum, split, answerable",
            "gs/queries.jsonl:1: stratum is empty; every query needs a stratum, or none has one",
            "gs/queries.jsonl:1: split is empty; every query needs one, or none has one",
        ]

    @pytest.mark.parametrize("text, shown", [("", "empty"), ("  ", "'  '"), (None, "empty"), (3, "3")])
    def test_empty_query_text(self, refused, text, shown):
        assert refused(queries(query(query=text), Q2, Q3)) == [
            f"gs/queries.jsonl:1: query is {shown}; every query needs a text"
        ]

    def test_groups_need_their_column(self, refused):
        content = "query_id,doc_id,grade\nq1,d1,2\n"
        assert refused({"qrels.trec": None, "qrels.csv": content}, toml="groups = true\n") == [
            "gs/qrels.csv: has no column 'group'; it has query_id, doc_id, grade"
        ]

    @pytest.mark.parametrize(
        "column, meant",
        [
            ("strata", "stratum"),
            ("Stratum", "stratum"),
            ("splits", "split"),
            ("slice", "slices"),
            ("unanswerable", "answerable"),
            ("MUST", "must"),
            ("synthetics", "synthetic"),
        ],
    )
    def test_near_misses(self, refused, column, meant):
        rows = [query(**{meant: ..., column: "x"}), query("q2", **{meant: ...}), query("q3", **{meant: ...})]
        assert f"gs/queries.jsonl: column {column!r}: did you mean {meant!r}? Rename it to keep it" in (
            refused(queries(*rows))
        )

    def test_near_misses_elsewhere(self, refused):
        problems = refused(
            {
                "catalog.jsonl": CATALOG.replace("doc_id", "docid"),
                "qrels.trec": None,
                "qrels.csv": "query_id,doc_id,grade,grp,groups\nq1,d1,2,a,b\n",
            }
        )
        assert "gs/catalog.jsonl: column 'docid': did you mean 'doc_id'? Rename it to keep it" in problems
        assert "gs/qrels.csv: column 'groups': did you mean 'group'? Rename it to keep it" in problems

    def test_other_columns_are_kept(self, make):
        rows = queries(query(answer="42", strata="x", query_type=7), Q2, Q3)
        frame = load_goldset(make(rows)).queries
        assert frame.loc["q1", ["answer", "strata", "query_type"]].tolist() == ["42", "x", 7]
        assert frame["answer"].tolist() == ["42", "", ""]
        assert frame["query_type"].tolist() == [7, None, None]

    def test_named_columns_that_are_not_there(self, refused):
        problems = refused(toml='stratum = "kind"\nslices = ["tags", "slices"]\n')
        has = "it has query_id, query, stratum, split, slices, must, lang, answerable, synthetic"
        assert problems == [
            "gs/goldset.toml:1: stratum names the column 'kind', which gs/queries.jsonl does not have;"
            f" {has}",
            f"gs/goldset.toml:2: slices names the column 'tags', which gs/queries.jsonl does not have; {has}",
        ]


class TestStrataSlicesSplits:
    @pytest.mark.parametrize(
        "value, said",
        [
            (..., "stratum is empty; every query needs a stratum, or none has one"),
            ("", "stratum is empty; every query needs a stratum, or none has one"),
            (" ", "stratum is empty; every query needs a stratum, or none has one"),
            (3, "stratum is 3; a stratum is a string without white space at its ends"),
            ("s ", "stratum is 's '; a stratum is a string without white space at its ends"),
            ("all", "stratum is 'all'; 'all' and names that begin with 'slice:' are reserved"),
            ("All", "stratum is 'All'; 'all' and names that begin with 'slice:' are reserved"),
            ("slice:x", "stratum is 'slice:x'; 'all' and names that begin with 'slice:' are reserved"),
        ],
    )
    def test_strata(self, refused, value, said):
        assert refused(queries(query(stratum=value), Q2, Q3)) == [f"gs/queries.jsonl:1: {said}"]

    @pytest.mark.parametrize(
        "value, said",
        [
            (3, "slices holds 3; a slice is a string without white space at its ends"),
            ([""], "slices holds ''; a slice is a string without white space at its ends"),
            (["a", "b "], "slices holds 'b '; a slice is a string without white space at its ends"),
            ("a|all", "slices holds 'all'; 'all' and names that begin with 'slice:' are reserved"),
            (["slice:a"], "slices holds 'slice:a'; 'all' and names that begin with 'slice:' are reserved"),
        ],
    )
    def test_slices(self, refused, value, said):
        assert refused(queries(query(), query("q2", slices=value), Q3)) == [f"gs/queries.jsonl:2: {said}"]

    @pytest.mark.parametrize(
        "value, said",
        [
            (..., "split is empty; every query needs one, or none has one; allowed are train, test"),
            ("", "split is empty; every query needs one, or none has one; allowed are train, test"),
            (1, "split is 1; a split is a string without white space at its ends; allowed are train, test"),
            ("dev", "split 'dev' is not among the splits of goldset.toml; allowed are train, test"),
        ],
    )
    def test_splits(self, refused, value, said):
        rows = queries(query(split=value), Q2, Q3)
        assert refused(rows, toml='splits = ["train", "test"]\n') == [f"gs/queries.jsonl:1: {said}"]

    def test_splits_without_a_column(self, refused):
        rows = queries(query(split=...), query("q2", split=...), query("q3", split=..., answerable=False))
        assert refused(rows, toml='\nsplits = ["train"]\ngate_splits = ["train"]\n') == [
            "gs/goldset.toml:2: splits is set, but gs/queries.jsonl has no column 'split'",
            "gs/goldset.toml:3: gate_splits is set, but gs/queries.jsonl has no column 'split'",
        ]

    def test_gate_splits_that_no_query_has(self, refused):
        assert refused(toml='gate_splits = ["train", "dev"]\n') == [
            "gs/goldset.toml:1: gate_splits names 'dev', which no query has; the queries have test, train"
        ]

    def test_splits_that_no_query_has(self, refused):
        assert refused(toml='splits = ["train", "test", "dev"]\n') == [
            "gs/goldset.toml:1: splits names 'dev', which no query has; the queries have test, train"
        ]

    def test_a_split_whose_name_looks_like_a_slip(self, refused, make):
        rows = queries(query(split="train"), query("q2", split="Train"), Q3)
        assert refused(rows) == [
            "gs/queries.jsonl:2: split 'Train' (1 query: q2) looks like 'train'; correct it, or, if it is"
            ' meant, list every split: splits = ["Train", "train"]'
        ]
        named = make(rows, toml='splits = ["Train", "train"]\n')
        assert load_goldset(named).gate_splits == ("Train", "train")

    def test_only_the_test_split(self, refused):
        rows = queries(
            query(split="test"), query("q2", split="test"), query("q3", split="test", answerable=False)
        )
        assert refused(rows) == [
            "gs/goldset.toml: the only split is 'test', which is not gated unless asked for, so nothing"
            " would be"
            " gated; set gate_splits = ['test'] if that is meant"
        ]

    def test_gate_also_without_such_a_slice(self, refused):
        assert refused(toml='gate_also = ["all", "slice:short", "slice:long"]\n') == [
            "gs/goldset.toml:1: gate_also names 'slice:long', but no query is in that slice; the slices"
            " are colour,"
            " plain, short"
        ]
        rows = queries(query(), Q2, Q3)
        assert refused(rows, toml='gate_also = ["slice:long"]\n') == [
            "gs/goldset.toml:1: gate_also names 'slice:long', but no query is in that slice; the slices"
            " are none"
        ]

    def test_must_queries_are_answerable_and_gated(self, refused):
        rows = queries(
            query(must=True), query("q2", must=True, split="test"), query("q3", must=True, answerable=False)
        )
        assert refused(rows) == [
            "gs/queries.jsonl:2: query 'q2' is a must-query in the split 'test', which is not gated;"
            " gate_splits are"
            " train",
            "gs/queries.jsonl:3: query 'q3' is a must-query but not answerable, so it has no score to keep",
        ]

    @pytest.mark.parametrize("column", ["answerable", "synthetic", "must"])
    @pytest.mark.parametrize("value", ["true", 1, "yes", []])
    def test_flags_of_json(self, refused, column, value):
        assert refused(queries(query(**{column: value}), Q2, Q3)) == [
            f"gs/queries.jsonl:1: {column} is {value!r}; allowed are true and false"
        ]

    def test_flags_of_csv(self, refused):
        content = "query_id,query,must,synthetic\nq1,x,yes,true\nq2,x,1,2\nq3,x,0,\n"
        problems = refused(
            {"queries.jsonl": None, "queries.csv": content}, toml='no_relevant = "undefined"\n'
        )
        assert problems == [
            "gs/queries.csv:2: must is 'yes'; allowed are true, false, 1 and 0",
            "gs/queries.csv:3: synthetic is '2'; allowed are true, false, 1 and 0",
        ]


class TestJudgments:
    def test_grades(self, refused):
        lines = ["q1 0 d1 2", "q1 0 d2 0.5", "q2 0 d3 2", "q2 0 d1 3", "q1 0 d1 0"]
        toml = "grades = {no = 0, partial = 1, exact = 2}\n"
        assert refused({"qrels.trec": "\n".join(lines)}, toml=toml) == [
            "gs/qrels.trec:2: grade '0.5' of document 'd2' in query 'q1' is not a whole number; allowed"
            " are integers"
            " such as 0, 1, 2",
            "gs/qrels.trec:4: grade 3 of document 'd1' in query 'q2' is not among the grades of"
            " gs/goldset.toml;"
            " allowed are 0 (no), 1 (partial), 2 (exact)",
            "gs/qrels.trec:5: document 'd1' of query 'q1' has grade 0 here and grade 2 in line 1; keep one",
        ]

    @pytest.mark.parametrize("grade", ["null", "true", '""', "0.5", '"x"'])
    def test_grades_of_json(self, refused, grade):
        content = f'{{"query_id": "q1", "doc_id": "d1", "grade": {grade}}}\n'
        problems = refused({"qrels.trec": None, "qrels.jsonl": content})
        assert problems[0].startswith(
            f"gs/qrels.jsonl:1: grade {json.loads(grade)!r} of document 'd1' in query 'q1'"
        )

    def test_lines_of_a_table_that_are_none(self, refused):
        content = '{"query_id": "q1", "doc_id": "d1", "grade": 2}\n{"query_id": "q2"\n'
        assert refused({"qrels.trec": None, "qrels.jsonl": content}) == [
            "gs/qrels.jsonl:2: is no JSON: Expecting ',' delimiter at column 18"
        ]

    def test_unknown_queries(self, refused):
        lines = ["q1 0 d1 2", "q2 0 d3 2", "q02 0 d1 2", "q02 0 d2 2"]
        assert refused({"qrels.trec": "\n".join(lines)}) == [
            "gs/qrels.trec:3: query 'q02' is judged (2 documents) but not in gs/queries.jsonl"
        ]

    def test_stale_ids(self, refused):
        assert refused({"qrels.trec": QRELS + "q2 0 old 0\n"}) == [
            "gs/qrels.trec:5: document 'old', judged for query 'q2', is not in the catalog: the gold set"
            " is stale."
            " Remove the judgment or bring the document back"
        ]

    def test_an_id_of_another_composition_of_unicode_is_no_stale_one(self, refused):
        """Both show as é: one was typed on a Mac."""
        catalog = CATALOG + '{"doc_id": "Cafe\u0301", "text": "x"}\n'
        found = refused({"catalog.jsonl": catalog, "qrels.trec": QRELS + "q2 0 Café 0\n"})
        assert len(found) == 1
        assert r"; 'Cafe\u0301' looks the same and is another composition of Unicode" in found[0]

    def test_without_a_catalog_every_id_is_good(self, make):
        assert (
            "old"
            in load_goldset(make({"catalog.jsonl": None, "qrels.trec": QRELS + "q2 0 old 0\n"})).qrels["q2"]
        )

    @pytest.mark.parametrize(
        "toml, highest",
        [('name = "store"\n', 2), ('name = "store"\ngrades = {no = 0, partial = 1, exact = 5}\n', 5)],
    )
    def test_the_level_has_to_be_stated(self, refused, toml, highest):
        qrels = QRELS if highest == 2 else QRELS.replace(" 2\n", " 1\n")
        assert refused({"goldset.toml": toml, "qrels.trec": qrels}) == [
            f"gs/goldset.toml: grades go up to {highest} but relevance_level is not stated; say from which"
            " grade on a"
            " document counts as relevant, such as relevance_level = 1"
        ]

    def test_a_level_above_every_grade(self, refused):
        assert refused({"qrels.trec": QRELS.replace(" 2\n", " 1\n")}) == [
            "gs/goldset.toml:2: relevance_level 2 is above every grade; the highest is 1"
        ]

    def test_who_has_an_answer(self, refused):
        assert refused({"qrels.trec": "q1 0 d1 2\nq2 0 d3 1\nq3 0 d3 2\n"}) == [
            "gs/queries.jsonl:2: query 'q2' has no document of grade 2 or above; judge one, set its"
            " answerable to"
            ' false, or allow it with no_relevant = "undefined"',
            "gs/queries.jsonl:3: query 'q3' is not answerable but has relevant documents: d3",
        ]

    def test_an_unanswerable_query_with_an_answer_is_refused_also_where_undefined_is_allowed(self, refused):
        assert refused({"qrels.trec": QRELS + "q3 0 d1 2\n"}, toml='no_relevant = "undefined"\n') == [
            "gs/queries.jsonl:3: query 'q3' is not answerable but has relevant documents: d1"
        ]

    def test_a_document_in_two_groups(self, refused):
        content = "q1 a d1 2\nq1 b d1 2\nq2 0 d3 2\n"
        assert refused({"qrels.trec": content}, toml="groups = true\n") == [
            "gs/qrels.trec:2: document 'd1' of query 'q1' is in group 'b' here and in group 'a' in line"
            " 1; a document"
            " belongs to one group"
        ]

    @pytest.mark.parametrize("filler", ["0", "Q0"])
    def test_groups_that_nobody_named(self, refused, filler):
        content = QRELS.replace(" 0 d", f" {filler} d")
        assert refused({"qrels.trec": content}, toml="groups = true\n") == [
            f"gs/qrels.trec: groups is true, but every document is in group {filler!r};"
            " name the groups in column 2"
        ]


def test_no_warning_from_an_ordinary_gold_set(make, recwarn):
    load_goldset(make())
    assert not [warning for warning in recwarn if issubclass(warning.category, RetrievalWarning)]
