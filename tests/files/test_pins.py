"""Pins on disk: what is written is read again, and what cannot be trusted is refused with its place."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace

import pytest

from pytest_retrieval.errors import PinError, RetrievalError, SettingsError
from pytest_retrieval.files.pins import load_pins, read_pins_toml, save_pins
from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.pin import Evidence, Pin, Pins
from pytest_retrieval.model.run import Reply

CELL = Cell("bm25", "recall@5", "exact identifier")
OWNER = "test.py::test"


def line(query_id, score=1.0, **changed):
    return replace(
        Evidence(
            query_id=query_id,
            stratum="exact identifier",
            query="0" * 16,
            ranking=("d-1", "ä"),
            returned=2,
            grades={"d-1": 2},
            scores={"recall@5": score},
        ),
        **changed,
    )


def pins(**changed):
    pin = Pin(value=0.75, n=2, best=0.8, judgments="abc", catalog="def", owner=OWNER)
    lines = {"q2": line("q2", 0.5), "q1": line("q1", slices=("x",), ranks={"d-9": 50}, returned=60)}
    return Pins({CELL: replace(pin, **changed)}, {"bm25": lines})


@pytest.mark.parametrize(
    "changed",
    [{}, {"reason": 'why "so"\nand so'}, {"tolerance": 0.02, "rule": "established"}, {"tolerance": 0.0}],
)
def test_what_is_saved_is_loaded(tmp_path, changed):
    save_pins(tmp_path, pins(**{k: v for k, v in changed.items() if k == "reason"}))
    if "tolerance" in changed:
        added = "".join(f"{key} = {json.dumps(value)}\n" for key, value in changed.items())
        path = tmp_path / "pins.toml"
        path.write_text(path.read_text() + added)
    found = load_pins(tmp_path)
    assert found.cells == pins(**changed).cells
    assert {q: e.plain() for q, e in found.evidence["bm25"].items()} == {
        q: e.plain() for q, e in pins().evidence["bm25"].items()
    }


def test_replies_of_a_recording_are_kept(tmp_path):
    replies = (Reply(("d-1",), ("d-1", "d-1", "d-7"), {"calls": 12.0}, picks=True), Reply((), ()))
    lines = {"q1": line("q1", 12.0, replies=replies, scores={"calls": 12.0})}
    cell = Cell("agent", "calls", "exact identifier")
    save_pins(tmp_path, Pins({cell: Pin(value=12.0, n=1, best=11.0, owner=OWNER)}, {"agent": lines}))
    assert load_pins(tmp_path).evidence["agent"] == lines


@pytest.mark.parametrize(
    "reply",
    [{"shown": []}, {"shown": "a", "cited": []}, {"shown": [], "cited": [], "numbers": {"calls": "x"}}, 5],
)
def test_replies_that_are_none(tmp_path, reply):
    save_pins(
        tmp_path, Pins({CELL: Pin(value=1.0, n=1, best=1.0, owner=OWNER)}, {"bm25": {"q1": line("q1")}})
    )
    (tmp_path / "pins/bm25.jsonl").write_text(saved_line(replies=[reply]) + "\n")
    with pytest.raises(PinError, match=r"bm25.jsonl:1: no line of evidence: replies is"):
        load_pins(tmp_path)


def test_a_folder_without_pins(tmp_path):
    assert load_pins(tmp_path) == Pins()
    assert read_pins_toml(tmp_path) == {}


def test_evidence_is_one_line_per_query_sorted_and_readable(tmp_path):
    save_pins(tmp_path, pins())
    text = (tmp_path / "pins/bm25.jsonl").read_bytes().decode()
    assert [json.loads(line)["query_id"] for line in text.splitlines()] == ["q1", "q2"]
    assert text.endswith("}\n")
    assert "ä" in text
    assert ": " not in text


def test_ids_may_hold_what_unicode_calls_a_line_end(tmp_path):
    lines = {"q\u20281": line("q\u20281", ranking=("d\x85", "d\u2029"))}
    save_pins(tmp_path, Pins({CELL: Pin(value=1.0, n=1, best=1.0, owner=OWNER)}, {"bm25": lines}))
    assert load_pins(tmp_path).evidence["bm25"] == lines


def test_a_value_keeps_every_digit(tmp_path):
    value = 0.1 + 0.2
    lines = {"q1": line("q1", value)}
    save_pins(tmp_path, Pins({CELL: Pin(value=value, n=1, best=value, owner=OWNER)}, {"bm25": lines}))
    assert load_pins(tmp_path).cells[CELL].value == value


def test_saving_again_writes_the_same_bytes(tmp_path):
    save_pins(tmp_path, pins())
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    save_pins(tmp_path, load_pins(tmp_path))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before


def test_tables_are_in_order_whatever_was_pinned_first(tmp_path):
    cells = {
        Cell("bm25", m, s): Pin(value=1.0, n=1, best=1.0, owner=OWNER)
        for m in ("b@1", "a@1")
        for s in ("y", "x")
    }
    save_pins(tmp_path, Pins(dict(sorted(cells.items())), {"bm25": {}}))
    table = tomllib.loads((tmp_path / "pins.toml").read_text())["bm25"]
    assert {stratum: list(measures) for stratum, measures in table.items()} == {
        "x": ["a@1", "b@1"],
        "y": ["a@1", "b@1"],
    }


def test_comments_and_edits_of_people_stay(tmp_path):
    save_pins(tmp_path, pins())
    path = tmp_path / "pins.toml"
    path.write_text(path.read_text() + "tolerance = 0.02  # two flaky queries\n")
    save_pins(tmp_path, Pins({CELL: replace(load_pins(tmp_path).cells[CELL], value=0.5)}, pins().evidence))
    text = path.read_text()
    assert "tolerance = 0.02  # two flaky queries" in text
    assert "value = 0.5\n" in text


def test_a_reason_that_no_longer_stands_is_taken_out(tmp_path):
    save_pins(tmp_path, pins(reason="why"))
    assert 'reason = "why"' in (tmp_path / "pins.toml").read_text()
    save_pins(tmp_path, pins())
    assert "reason" not in (tmp_path / "pins.toml").read_text()


def test_evidence_of_a_subject_that_is_pinned_no_longer_goes(tmp_path):
    save_pins(tmp_path, pins())
    (tmp_path / "pins/notes.txt").write_text("ours")
    save_pins(tmp_path, Pins())
    assert not (tmp_path / "pins/bm25.jsonl").exists()
    assert (tmp_path / "pins/notes.txt").read_text() == "ours"
    assert load_pins(tmp_path) == Pins()


@pytest.mark.parametrize("subject", ["../up", "a/b", ".hidden", "a b", ""])
def test_a_subject_that_cannot_name_a_file(tmp_path, subject):
    cell = Cell(subject, "recall@5", "all")
    with pytest.raises(PinError, match="cannot name a file"):
        save_pins(tmp_path, Pins({cell: Pin(value=1.0, n=1, best=1.0, owner=OWNER)}, {subject: {}}))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "pins.toml").write_text(f'["{subject}".all."recall@5"]\nvalue = 1.0\nn = 1\nbest = 1.0\n')
    with pytest.raises(PinError, match="cannot name a file"):
        load_pins(tmp_path)


GOOD = """\
[a.b.c]
value = 0.5
n = 1
best = 0.5
owner = "t.py::test"
"""


def with_line(key, value):
    """Return a pin's table with one key set, and the line that it stands on."""
    kept = [line for line in GOOD.splitlines() if not line.startswith(f"{key} =")]
    return "\n".join([*kept, f"{key} = {value}"]) + "\n", len(kept) + 1


@pytest.mark.parametrize(
    "key, value, message",
    [
        ("value", "true", "value is True; allowed is a number"),
        ("value", "nan", "value is nan; allowed is a number"),
        ("best", "inf", "best is inf; allowed is a number"),
        ("best", "'high'", "best is 'high'; allowed is a number"),
        ("n", "1.5", "n is 1.5; allowed is a whole number of at least 1"),
        ("n", "0", "n is 0; allowed is a whole number of at least 1"),
        ("level", "1.5", "level is 1.5; allowed is a whole number"),
        ("judgments", "5", "judgments is 5; allowed is a string"),
        ("reason", "[]", r"reason is \[\]; allowed is a string"),
        ("tolerance", "-0.1", "tolerance is -0.1; allowed is a number from 0 to 1"),
        ("tolerance", "5", "tolerance is 5; allowed is a number from 0 to 1"),
        ("rule", "'never'", "rule is 'never'; allowed is 'any' or 'est"),
        ("owners", "'x'", "key 'owners' is not known; known are value"),
        ("owner", "'tests'", "owner is 'tests'; allowed is the test that gates it, as in"),
        ("owner", "''", "owner is ''; allowed is the test that gates it"),
    ],
)
def test_a_pin_that_cannot_be_read(tmp_path, key, value, message):
    text, line = with_line(key, value)
    (tmp_path / "pins.toml").write_text("# of people\n" + text)
    (tmp_path / "pins").mkdir()
    (tmp_path / "pins/a.jsonl").write_text("")
    with pytest.raises(PinError, match=message) as caught:
        load_pins(tmp_path)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (str(tmp_path / "pins.toml"), line + 1)


@pytest.mark.parametrize(
    "text, message, line",
    [
        ("\na = 1\n", r"\[a\] is 1; a pin is a table", 2),
        ("[a]\nb = 1\n", r"\[a.b\] is 1; a pin is a table", 2),
        ("[a.b]\nc = 1\n", r'\[a.b."c"\] is 1; a table with value, n, best, owner is needed', 2),
        ("[a.b.c]\nvalue = 1\nn = 1\nowner = 't.py::t'\n", r'\[a.b."c"\]: best is missing', 1),
        ("[a.b.c]\nvalue = 1\nn = 1\nbest = 1\n", r'\[a.b."c"\]: owner is missing', 1),
        (
            GOOD.replace("best = 0.5", "best = 7").replace(".c]", '."recall@5"]'),
            "best is 7, and recall@5 lies",
            4,
        ),
        (
            GOOD.replace("best = 0.5", "best = 0.4").replace(".c]", '."recall@5"]'),
            "the value 0.5 is better",
            4,
        ),
        (
            GOOD.replace("value = 0.5", "value = -1").replace(".c]", '."mrr@10"]'),
            "value is -1, and mrr@10 lies",
            2,
        ),
    ],
)
def test_a_pin_that_says_what_cannot_be(tmp_path, text, message, line):
    (tmp_path / "pins.toml").write_text(text)
    (tmp_path / "pins").mkdir()
    (tmp_path / "pins/a.jsonl").write_text("")
    with pytest.raises(PinError, match=message) as caught:
        load_pins(tmp_path)
    assert caught.value.problems[0].line == line


def test_a_measure_of_a_projects_own_has_a_scale_of_its_own(tmp_path):
    cell = Cell("bm25", "margin@5", "exact identifier")
    lines = {"q1": line("q1", scores={"margin@5": 7.5})}
    save_pins(tmp_path, Pins({cell: Pin(value=7.5, n=1, best=9.0, owner=OWNER)}, {"bm25": lines}))
    assert load_pins(tmp_path).cells[cell].best == 9.0


def test_every_problem_is_told_at_once(tmp_path):
    (tmp_path / "pins.toml").write_text(
        GOOD.replace("0.5", "'x'") + "[a.b.d]\nvalue = 1\nn = 1\nbest = 1\nowner = 't.py::t'\nx = 1\n"
    )
    (tmp_path / "pins").mkdir()
    (tmp_path / "pins/a.jsonl").write_text("no json\n{}\n")
    with pytest.raises(PinError) as caught:
        load_pins(tmp_path)
    assert [problem.line for problem in caught.value.problems] == [2, 4, 11, 1, 2]


def test_a_value_that_disagrees_is_told_with_its_line(tmp_path):
    save_pins(tmp_path, pins())
    path = tmp_path / "pins.toml"
    path.write_text(path.read_text().replace("value = 0.75", "value = 0.7"))
    with pytest.raises(
        PinError, match=r"pinned 0\.7 over 2 queries, the evidence says 0\.75 over 2"
    ) as caught:
        load_pins(tmp_path)
    number = path.read_text().splitlines().index("value = 0.7") + 1
    assert caught.value.problems[0].line == number


def test_pins_saved_by_an_editor_with_a_byte_order_mark(tmp_path):
    save_pins(tmp_path, pins())
    path = tmp_path / "pins.toml"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes() + b"tolerance = 0.02  # ours\n")
    assert load_pins(tmp_path).cells[CELL].tolerance == 0.02
    save_pins(tmp_path, load_pins(tmp_path))
    assert "tolerance = 0.02  # ours" in path.read_text()


def test_pins_that_are_links_stay_links(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "goldset").mkdir()
    link = tmp_path / "goldset/pins.toml"
    link.symlink_to("../elsewhere/pins.toml")
    save_pins(tmp_path / "goldset", pins())
    assert link.is_symlink()
    assert "value = 0.75" in (tmp_path / "elsewhere/pins.toml").read_text()


def test_pins_that_cannot_be_written_leave_everything_as_it_was(tmp_path):
    (tmp_path / "pins").write_text("a file in the way")
    with pytest.raises(PinError, match=r"pins cannot be written: 1 problem\n.*/pins: File exists"):
        save_pins(tmp_path, pins())
    assert [path.name for path in tmp_path.iterdir()] == ["pins"]
    (tmp_path / "pins").unlink()
    (tmp_path / "pins.toml").mkdir()
    with pytest.raises(PinError, match=r"pins.toml: Is a directory"):
        save_pins(tmp_path, pins())
    assert [path.name for path in (tmp_path / "pins").iterdir()] == []


def test_a_folder_that_cannot_be_written_is_told_by_the_file_that_was_to_be_there(tmp_path, monkeypatch):
    """Not by the temporary file beside it, of which nobody has heard."""

    def refuse(**_):
        raise PermissionError(13, "Permission denied", str(tmp_path / "pins/.bm25.jsonl.x7.tmp"))

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.raises(PinError, match=r"pins/bm25\.jsonl: Permission denied$"):
        save_pins(tmp_path, pins())


def test_pins_toml_that_is_a_folder(tmp_path):
    (tmp_path / "pins.toml").mkdir()
    with pytest.raises(SettingsError, match=r"pins.toml: cannot be read: Is a directory"):
        load_pins(tmp_path)


def saved_line(**changed):
    return json.dumps({**line("q1").plain(), **changed})


@pytest.mark.parametrize(
    "text, message, number",
    [
        ("<<<<<<< HEAD", "a mark of a merge conflict", 1),
        (saved_line() + "\n=======\n", "a mark of a merge conflict", 2),
        (saved_line() + "\n" + saved_line(), "query 'q1' has evidence twice", 2),
        ("[]", "no line of evidence", 1),
        ("5", "it is no JSON object", 1),
        ("{}", "no line of evidence", 1),
        ("", "pins and evidence disagree", 5),
        (saved_line(returned="many"), "no line of evidence", 1),
        (saved_line(scores=5), "no line of evidence", 1),
        (saved_line(grades=None), "no line of evidence", 1),
        (saved_line().replace("{", '{"returned": 9, ', 1), "it names a key twice: 'returned'", 1),
        ("[" * 100_000, "it is JSON nested too deeply", 1),
    ],
)
def test_evidence_that_cannot_be_read(tmp_path, text, message, number):
    save_pins(tmp_path, pins())
    (tmp_path / "pins/bm25.jsonl").write_text(text)
    with pytest.raises(PinError, match=message) as caught:
        load_pins(tmp_path)
    assert caught.value.problems[0].line == number


@pytest.mark.parametrize(
    "changed",
    [
        {"ranking": "d-1"},
        {"ranking": [1, 2]},
        {"query_id": 5},
        {"scores": {"recall@5": "high"}},
        {"grades": {"d": "x"}},
        {"scores": {"recall@5": True}},
        {"scores": {"recall@5": float("nan")}},
        {"ranking": ["d-1", "d-1"]},
        {"ranking": ["d-1", ""]},
        {"returned": 1},
        {"returned": -2},
        {"ranks": {"d-9": 2}},
        {"ranks": {"d-9": 99}},
        {"ranks": {"d-1": 3}, "returned": 3},
        {"ranks": {"d-8": 3, "d-9": 3}, "returned": 3},
        {"note": "mine"},
    ],
    ids=str,
)
def test_evidence_of_the_wrong_kind_is_refused_and_not_compared(tmp_path, changed):
    """Were it let through, some later line would fail with a message that says nothing of the file."""
    save_pins(
        tmp_path, Pins({CELL: Pin(value=1.0, n=1, best=1.0, owner=OWNER)}, {"bm25": {"q1": line("q1")}})
    )
    (tmp_path / "pins/bm25.jsonl").write_text(saved_line(**changed) + "\n")
    with pytest.raises(PinError, match=r"bm25.jsonl:1: .*(no line of evidence|pins and evidence disagree)"):
        load_pins(tmp_path)


def test_evidence_in_another_encoding(tmp_path):
    save_pins(tmp_path, pins())
    (tmp_path / "pins/bm25.jsonl").write_bytes(b'{"query_id": "\xe4"}\n')
    with pytest.raises(PinError, match="not UTF-8"):
        load_pins(tmp_path)


def test_a_missing_file_of_evidence(tmp_path):
    save_pins(tmp_path, pins())
    (tmp_path / "pins/bm25.jsonl").unlink()
    with pytest.raises(PinError, match="pins 'bm25', and this file is missing"):
        load_pins(tmp_path)


@pytest.mark.parametrize(
    "data, hint",
    [
        (b"[a\n", "mend the line"),
        (b"<<<<<<< HEAD\n[a]\n", "marks of a merge conflict"),
        (b"a = 1\n=======\n", "marks of a merge conflict"),
        (b"# \xff\n", "mend the line"),
    ],
)
def test_toml_that_cannot_be_read(tmp_path, data, hint):
    (tmp_path / "pins.toml").write_bytes(data)
    with pytest.raises(SettingsError, match=rf"pins.toml: not readable as TOML: .*{hint}"):
        read_pins_toml(tmp_path)


def test_evidence_of_five_thousand_queries_stays_small(tmp_path):
    """Ids of 12 characters, one relevant document each, rankings to depth 100 pinned at recall@5."""
    import pandas as pd

    from pytest_retrieval.files.goldset import goldset_from_frames
    from pytest_retrieval.gate.cells import measures_of
    from pytest_retrieval.gate.pin import evidence_of
    from pytest_retrieval.model.run import Run

    ids = [f"query-{n:06d}" for n in range(5000)]
    documents = [f"docum-{n:06d}" for n in range(6000)]
    goldset = goldset_from_frames(
        "large",
        pd.DataFrame(
            {"query_id": ids, "query": [f"text of {name}" for name in ids], "stratum": "all queries"}
        ),
        pd.DataFrame({"query_id": ids, "doc_id": documents[:5000], "grade": 1}),
        subjects={"bm25": {"measures": ["recall@5"]}},
    )
    rankings = {name: [documents[(n * 7 + m) % 6000] for m in range(99)] for n, name in enumerate(ids)}
    for n, name in enumerate(ids):
        if documents[n] not in rankings[name]:
            rankings[name].append(documents[n])
    measures = measures_of(goldset)["bm25"]
    lines = evidence_of(goldset, Run(rankings), measures, goldset.gated_queries)
    value = sum(found.scores["recall@5"] for found in lines.values()) / 5000
    cell = Cell("bm25", "recall@5", "all queries")
    save_pins(tmp_path, Pins({cell: Pin(value=value, n=5000, best=value, owner=OWNER)}, {"bm25": lines}))
    size = (tmp_path / "pins/bm25.jsonl").stat().st_size
    assert 1_000_000 < size < 4_000_000
    assert len(load_pins(tmp_path).evidence["bm25"]) == 5000


@pytest.mark.parametrize("name", ["pins.toml", "pins/bm25.jsonl"])
def test_a_pointer_of_git_lfs_is_not_taken_for_a_damaged_file(tmp_path, name):
    """Pinning anew, as the advice for a damaged file is, would lose what was pinned."""
    save_pins(tmp_path, pins())
    (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 12\n")
    with pytest.raises(RetrievalError, match="is a Git LFS pointer, not the file: fetch it") as error:
        load_pins(tmp_path)
    assert "pin again" not in str(error.value)
