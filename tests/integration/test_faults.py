"""Nothing passes silently: whatever keeps a cell from being judged fails, and says what it was."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from .conftest import CONFTEST, GOLD, TOML

WORKERS = pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["serial", "xdist"])


def retriever(body):
    """Return a conftest whose retriever `bm25` has this body."""
    return (
        "import pytest\nfrom pathlib import Path\nHERE = Path(__file__).parent\n\n"
        "def search(query, k):\n"
        "    with (HERE / 'calls').open('a') as calls:\n        calls.write(query + '\\n')\n"
        f"    {body}\n\n"
        "@pytest.fixture(scope='session')\ndef retrievers():\n    return {'bm25': search}\n"
    )


FAULTS = {
    "nothing": ("return []", "returned nothing for each of the 5 queries"),
    "raises": (
        "raise ConnectionError('index is down')",
        "bm25, query 'i1' ('HX-1') raised ConnectionError: index is down",
    ),
    "ends the program": (
        "raise SystemExit('no index')",
        "bm25, query 'i1' ('HX-1') raised SystemExit: no index",
    ),
    "raises late": (
        "yield 'a'; raise ConnectionError('cut off')",
        "bm25, query 'i1' ('HX-1') raised ConnectionError: cut off",
    ),
    "duplicates": ("return ['a', 'b', 'a']", "query 'i1': id 'a' at ranks 1 and 3"),
    "not in the catalog": (
        "return ['a', 'nowhere-1']",
        "1 returned id is not in the catalog of 9 documents: query 'i1' returned 'nowhere-1'",
    ),
    "None": ("return None", "bm25, query 'i1' ('HX-1') returned None; allowed are ids"),
    "a string": ("return 'a'", "bm25, query 'i1' ('HX-1') returned 'a'; allowed are ids"),
    "a set": ("return {'a'}", "bm25, query 'i1' ('HX-1') returned {'a'}; allowed are ids*a set has no order"),
    "whole numbers": ("return [1, 2]", "doc_id 1 in query 'i1' is of type int"),
    "NaN": ("return [('a', float('nan'))]", "query 'i1': scores that are no numbers: a (nan)"),
    "NaN in a mapping": ("return {'a': float('nan')}", "query 'i1': scores that are no numbers: a (nan)"),
    "a score in words": ("return [('a', 'high')]", "query 'i1': scores that are no numbers: a ('high')"),
    "a mixed mapping": (
        "return {'a': 1.0, 'dense': ['b']}",
        "bm25, query 'i1' ('HX-1') returned a mapping that mixes scores and stages: a, dense",
    ),
    "a stage without a ranking": (
        "return {'lexical': ['a'], 'dense': None}",
        "bm25, query 'i1' ('HX-1') returned None as stage 'dense'; allowed are ids",
    ),
    "a stage that is a string": (
        "return {'dense': 'a'}",
        "bm25, query 'i1' ('HX-1') returned 'a' as stage 'dense'; allowed are ids",
    ),
}


@pytest.mark.parametrize("body, message", FAULTS.values(), ids=FAULTS)
def test_a_retriever_at_fault_fails_every_cell_and_is_told_once(pinned, body, message):
    """The pins hold values that a fault must not be compared with, let alone replace."""
    before = (pinned.goldset / "pins.toml").read_bytes()
    pinned.write("conftest.py", retriever(body))
    result = pinned.run("--retrieval-pin=all", "--retrieval-reason=x", "--junitxml=out.xml")
    result.assert_outcomes(failed=4)
    assert result.ret == 1
    escaped = message.replace("[", "[[]")
    result.stdout.fnmatch_lines([f"*{escaped}*"])
    text = result.stdout.str()
    told = [line for line in text.splitlines() if re.search(re.escape(message.split("*")[0]), line)]
    assert len([line for line in told if "same cause as" not in line]) == 1, told
    assert text.count("failed for the same cause as test_search.py::test_pinned[store]") >= 3
    assert "Traceback" not in text
    assert "pytest_retrieval/" not in text
    cases = list(ElementTree.parse(pinned.path / "out.xml").getroot().iter("testcase"))
    assert len(cases) == 4
    assert all(case.find("failure") is not None for case in cases)
    assert (pinned.goldset / "pins.toml").read_bytes() == before


def test_an_exception_is_told_with_its_place_in_the_users_code(pinned):
    """The innermost frames lie in a library; the user's own lines are the ones to look at."""
    pinned.write("client.py", "import json\ndef fetch(text):\n    return json.loads(text)\n")
    pinned.write("conftest.py", "import client\n" + retriever("return client.fetch('{')"))
    pinned.pytester.syspathinsert()
    result = pinned.run()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["*'i1' ('HX-1') raised JSONDecodeError: *"])
    place = next(line for line in result.stdout.lines if line.lstrip().startswith("at "))
    assert re.search(r"client\.py:3 in fetch ← \S+conftest\.py:9 in search$", place)


@WORKERS
def test_a_raising_retriever_is_called_once(pinned, workers):
    """Once per session: not for every cell, and not in every worker."""
    (pinned.path / "calls").unlink()
    pinned.write("conftest.py", retriever("raise OSError('no index')"))
    result = pinned.run_apart(*workers) if workers else pinned.run()
    result.assert_outcomes(failed=4)
    assert pinned.lines("calls") == ["HX-1"]


def test_ids_from_another_catalog_are_a_fault_even_where_nothing_was_lost(pinned):
    """Scores hold: the strange ids stand below the cutoff."""
    pinned.rank(i1=["a", "b", "c", "stranger"])
    result = pinned.run()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["*query 'i1' returned 'stranger'. Index this catalog, or return*"])


def test_a_run_without_results_for_gated_queries_is_a_fault_whatever_it_found_elsewhere(project):
    splits = {query: {"split": "train"} for query in GOLD} | {"w3": {"split": "test"}}
    project.write_goldset(more=splits)
    project.rank(i1=[], i2=[], w1=[], w2=[])
    result = project.run()
    result.stdout.fnmatch_lines(["*returned nothing for each of the 4 queries*"])
    assert result.ret == 1


def test_a_gold_id_that_is_gone_from_the_catalog(pinned):
    pinned.write_goldset(documents="abdefxyz")
    result = pinned.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*qrels.trec:4: *'c'*"])
    assert "passed" not in result.stdout.lines[-1]


@WORKERS
@pytest.mark.parametrize(
    "name, text, message",
    [
        ("goldset.toml", "name = \n", "*store/goldset.toml*"),
        ("pins.toml", "[bm25\n", "*store/pins.toml: not readable as TOML: *mend the line*"),
        ("pins.toml", "<<<<<<< HEAD\n[bm25]\n=======\n", "*store/pins.toml: *marks of a merge conflict*"),
        ("goldset.toml", b"name = '\xff'\n", "*store/goldset.toml*"),
        ("pins.toml", b"# \xff\n", "*store/pins.toml: not readable as TOML: *"),
    ],
    ids=["goldset", "pins", "conflict", "goldset in latin-1", "pins in latin-1"],
)
def test_corrupt_toml_ends_the_session(pinned, name, text, message, workers):
    path = pinned.goldset / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    result = pinned.run_apart(*workers)
    assert result.ret == 4
    result.stderr.fnmatch_lines([message])
    assert "Traceback" not in result.stderr.str() + result.stdout.str()
    assert "passed" not in result.stdout.str()


def test_a_fault_in_one_gold_set_fails_its_items_and_no_others(pinned):
    pinned.write_goldset("goldsets/other", toml=TOML.replace('"store"', '"other"'))
    pinned.write(
        "test_search.py",
        "import pytest\n@pytest.mark.goldset('store', 'other')\ndef test_pinned(gate):\n    gate.check()\n"
        "def test_else():\n    pass\n",
    )
    path = pinned.path / "goldsets/other/qrels.trec"
    path.write_text(path.read_text() + "w9 0 a 2\ni1 0 nowhere 2\ni1 0 b two\n")
    result = pinned.run()
    assert result.ret == 1
    result.assert_outcomes(passed=5, errors=1)
    result.stdout.fnmatch_lines_random(["*qrels.trec:9: *", "*qrels.trec:10: *", "*qrels.trec:11: *"])


def test_a_gold_set_whose_declared_measure_is_unknown(pinned):
    pinned.write_goldset(toml=TOML.replace("recall@2", "recal@2"))
    result = pinned.run()
    assert result.ret in (1, 4)
    (result.stdout if result.ret == 1 else result.stderr).fnmatch_lines(["*recal@2*"])
    assert "passed" not in result.stdout.lines[-1]


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def value_edited(folder):
    edit(folder / "pins.toml", "value = 0.5\n", "value = 0.4\n")


def n_edited(folder):
    edit(folder / "pins.toml", "n = 3\n", "n = 2\n")


def score_edited(folder):
    edit(folder / "pins/bm25.jsonl", '"recall@2":0.5', '"recall@2":1.0')


def line_removed(folder):
    path = folder / "pins/bm25.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


def evidence_missing(folder):
    (folder / "pins/bm25.jsonl").unlink()


def line_twice(folder):
    path = folder / "pins/bm25.jsonl"
    path.write_text(path.read_text() + path.read_text().splitlines()[-1] + "\n")


def conflict_in_evidence(folder):
    path = folder / "pins/bm25.jsonl"
    first, rest = path.read_text().split("\n", 1)
    path.write_text(f"<<<<<<< HEAD\n{first}\n=======\n{first}\n>>>>>>> main\n{rest}")


def no_json(folder):
    edit(folder / "pins/bm25.jsonl", '"query_id":"w1"', '"query_id":w1')


def no_number(folder):
    edit(folder / "pins.toml", "value = 0.5\n", 'value = "0.5"\n')


def best_edited(folder):
    edit(folder / "pins.toml", "best = 0.5\n", "best = 7.0\n")


def grade_edited(folder):
    edit(folder / "pins/bm25.jsonl", '"grades":{"f":2}', '"grades":{"f":1}')


def returned_edited(folder):
    edit(folder / "pins/bm25.jsonl", '["x","f"],"returned":2', '["x","f"],"returned":1')


def unknown_key(folder):
    edit(folder / "pins.toml", "value = 0.5\n", "value = 0.5\ntolerence = 0.1\n")


@pytest.mark.parametrize(
    "change, message",
    [
        (value_edited, "*pins and evidence disagree*bm25 · recall@2 · words: pinned 0.4 over 3 queries*"),
        (n_edited, "*pins and evidence disagree*bm25 · recall@2 · words: pinned 0.5 over 2 queries*"),
        (score_edited, "*pins and evidence disagree*the evidence says *"),
        (line_removed, "*pins and evidence disagree*bm25 · recall@2 · words*"),
        (evidence_missing, "*store/pins/bm25.jsonl: *disagree*pins 'bm25', and this file is missing*"),
        (line_twice, "*store/pins/bm25.jsonl:6: query 'w3' has evidence twice (a merge?)*"),
        (conflict_in_evidence, "*store/pins/bm25.jsonl:1: a mark of a merge conflict*"),
        (
            no_json,
            "*store/pins/bm25.jsonl:3: no line of evidence: it is no JSON: Expecting value at column *",
        ),
        (
            no_number,
            "*store/pins.toml:*: [[]bm25.words.\"recall@2\"[]]: value is '0.5'; allowed is a number*",
        ),
        (unknown_key, "*store/pins.toml:*: *key 'tolerence' is not known; known are *tolerance*"),
        (best_edited, "*store/pins.toml:*: best is 7.0, and recall@2 lies between 0 and 1; only tolerance *"),
        (
            returned_edited,
            "*pins and evidence disagree: query 'w3': the ranking has 2 documents and returned *",
        ),
    ],
    ids=lambda value: value.__name__.replace("_", " ") if callable(value) else "",
)
def test_pins_that_disagree_with_their_evidence(pinned, change, message):
    change(pinned.goldset)
    result = pinned.run()
    result.assert_outcomes(failed=4)
    assert result.ret == 1
    result.stdout.fnmatch_lines([message])
    text = result.stdout.str()
    assert text.count("failed for the same cause as test_search.py::test_pinned[store]") >= 3
    assert "During handling" not in text
    assert not [line for line in text.splitlines() if "same cause" in line and line.endswith("1 problem")]


def test_grades_of_the_evidence_that_nobody_ever_gave(pinned):
    grade_edited(pinned.goldset)
    result = pinned.run()
    result.assert_outcomes(failed=2, passed=2)
    result.stdout.fnmatch_lines(
        ["*pins and evidence disagree: the grades of w3 are not those of the judgments, which are the same *"]
    )


def test_a_catalog_that_a_fixture_changes_is_still_the_one_that_was_read(pinned):
    """Were the two one object, ids that no catalog lists would pass as known."""
    pinned.write(
        "conftest.py",
        (pinned.path / "conftest.py")
        .read_text()
        .replace(
            '    return {"bm25": search}',
            '    catalog.drop(index="a", inplace=True)\n    catalog.loc["stranger"] = "more"\n'
            '    return {"bm25": search}',
        ),
    )
    pinned.run().assert_outcomes(passed=4)
    pinned.rank(i1=["a", "stranger"])
    result = pinned.run()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        ["*1 returned id is not in the catalog of 9 documents: *returned 'stranger'*"]
    )


def test_no_subject_is_declared(project):
    project.write_goldset(toml=TOML[: TOML.index("[subjects")])
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["store: nothing is gated: goldset.toml declares no subject *"])


def test_a_declared_subject_that_no_retriever_stands_for(pinned):
    pinned.write_goldset(toml=TOML + '[subjects.dense]\nmeasures = ["recall@2"]\n')
    result = pinned.run()
    result.assert_outcomes(failed=4, passed=3)
    result.stdout.fnmatch_lines(
        ["*dense is declared in goldset.toml, and the fixture `retrievers` has no such name; it has bm25*"]
    )


def test_no_fixture_says_what_is_under_test(pinned):
    pinned.write("conftest.py", "")
    result = pinned.run()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        ["*no fixture `retrievers` says what is under test. Define it in conftest.py:", "*BM25(catalog)*"]
    )
    assert result.stdout.str().count("name -> callable(query, k)") == 1


FIXTURES = {
    "raises": (
        "def retrievers(catalog):\n    raise RuntimeError('no such index: x')",
        "the fixture `retrievers` could not be made: RuntimeError: no such index: x",
    ),
    "raises KeyError": (
        "def retrievers(catalog):\n    import os\n    return os.environ['NO_SUCH_KEY_HERE']",
        "the fixture `retrievers` could not be made: KeyError: 'NO_SUCH_KEY_HERE'",
    ),
    "needs one that raises": (
        "def client():\n    raise RuntimeError('no such index: x')\n"
        "@pytest.fixture(scope='session')\ndef retrievers(client):\n    return {}",
        "the fixture `retrievers` could not be made: RuntimeError: no such index: x",
    ),
    "returns None": (
        "def retrievers(catalog):\n    pass",
        "the fixture `retrievers` returned NoneType; a mapping name → retriever is needed",
    ),
    "returns a retriever": (
        "def retrievers(catalog):\n    return print",
        "the fixture `retrievers` returned builtin_function_or_method; a mapping name → retriever is needed",
    ),
    "holds no retriever": (
        "def retrievers(catalog):\n    return {'bm25': 'lucene'}",
        "bm25 is 'lucene'; a retriever is callable(query, k), an object with search(query, k), or*",
    ),
    "holds a factory that raises": (
        "def retrievers():\n    def make():\n        raise OSError('no disk')\n    return {'bm25': make}",
        "the factory of bm25 raised OSError: no disk",
    ),
    "runs raises": (
        "def runs(goldset):\n    raise RuntimeError('no file')",
        "the fixture `runs` could not be made: RuntimeError: no file",
    ),
    "runs is no mapping": (
        "def runs(goldset):\n    return []",
        "the fixture `runs` returned list; a mapping name → Run is needed",
    ),
    "runs lacks the subject": (
        "def runs(goldset):\n    return {'dense': 1}",
        "bm25 is declared in goldset.toml, and the fixture `runs` has no such name; it has dense",
    ),
    "runs holds something else": (
        "def runs(goldset):\n    return {'bm25': {'i1': ['a']}}",
        "the fixture `runs` holds dict as 'bm25'; a Run is needed: *load_run(path)",
    ),
}


@pytest.mark.parametrize("body, message", FIXTURES.values(), ids=FIXTURES)
def test_a_fixture_of_the_project_at_fault_is_told_once(pinned, body, message):
    pinned.write("conftest.py", f"import pytest\n\n@pytest.fixture(scope='session')\n{body}\n")
    result = pinned.run()
    result.assert_outcomes(failed=4)
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*{message}*"])
    text = result.stdout.str()
    assert "Traceback" not in text
    assert text.count("failed for the same cause as test_search.py::test_pinned[store]") >= 3
    assert len(result.stdout.lines) < 70
    if "raise" in body:
        assert re.search(r"at \S+conftest\.py:\d+ in ", text)


def test_a_test_that_takes_the_gate_and_never_asks_it(pinned):
    pinned.write("test_search.py", "def test_pinned(gate):\n    assert gate\n")
    result = pinned.run()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["*takes `gate` and never calls gate.check(): nothing was judged*"])


UNITTEST = """
import unittest
import pytest

class TestSearch(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def given(self, %s):
        self.given = %s

    def test_it(self):
        assert len(self.given) == 9
"""


def test_a_gate_in_a_unittest_says_why_it_cannot_be(pinned):
    pinned.write("test_other.py", UNITTEST % ("gate", "gate"))
    result = pinned.run("test_other.py")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["`gate` makes one item for each cell, *: not for a unittest.TestCase, *"])
    assert "Traceback" not in result.stdout.str()


def test_a_catalog_in_a_unittest_is_that_of_the_only_gold_set(pinned):
    pinned.write("test_other.py", UNITTEST % ("catalog", "catalog"))
    pinned.run("test_other.py").assert_outcomes(passed=1)
    pinned.write_goldset("goldsets/other", toml=TOML.replace('"store"', '"other"'), documents="abcdefxyzq")
    result = pinned.run("test_other.py")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*there are 2 gold sets (other, store): say which*"])
    marked = (UNITTEST % ("catalog", "catalog")).replace(
        "class Test", "@pytest.mark.goldset('store')\nclass Test"
    )
    pinned.write("test_other.py", marked)
    pinned.run("test_other.py").assert_outcomes(passed=1)


def test_an_async_retriever_that_ends_the_program_is_told(pinned):
    """asyncio would end the loop of all retrievers with it, and the session would wait for ever."""
    pinned.write(
        "conftest.py",
        "import pytest\nasync def search(query, k):\n    raise SystemExit(3)\n"
        "@pytest.fixture(scope='session')\ndef retrievers():\n    return {'bm25': search}\n",
    )
    result = pinned.run()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["*bm25, query 'i1' ('HX-1') raised SystemExit: 3*"])


def test_a_test_that_fails_of_itself_says_its_own_failure(pinned):
    pinned.write("test_search.py", "def test_pinned(gate):\n    assert not 'mine'\n")
    text = pinned.run().stdout.str()
    assert "never calls gate.check()" not in text
    assert "assert not 'mine'" in text


def test_a_pinned_cell_without_pairs_is_an_error(pinned):
    pinned.write_goldset(
        queries={q: (f"{q} anew", "identifier" if q[0] == "i" else "words") for q in GOLD}, toml=TOML
    )
    pinned.rank(**{f"{q} anew": ["a", "c"] for q in GOLD})
    result = pinned.run()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        ["*pinned, but none of its queries was pinned as it is today, so nothing can be compared"]
    )


def test_a_stratum_that_is_gone_has_vanished(pinned):
    pinned.write_goldset(
        queries={"i1": ("HX-1", "identifier"), "i2": ("HX-2", "identifier")},
        gold={"i1": GOLD["i1"], "i2": GOLD["i2"]},
    )
    result = pinned.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*bm25 · recall@2 · words is vanished*"])


def test_a_subject_that_is_declared_no_longer_has_vanished(pinned):
    pinned.write_goldset(toml=TOML.replace("bm25", "dense"))
    pinned.write("conftest.py", CONFTEST.replace('"bm25"', '"dense"'))
    result = pinned.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines_random(
        ["*bm25 · recall@2 · words is vanished*", "*subject bm25 is no longer declared in goldset.toml*"]
    )
