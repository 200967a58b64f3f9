"""`pytest-retrieval check`: what a gold set could show, and every fault where it cannot be read."""

from __future__ import annotations

import json

from click.testing import CliRunner

from pytest_retrieval.cli import main
from pytest_retrieval.files.feasibility import feasibility_of
from pytest_retrieval.files.plan import Plan, Planned, save_plan

TOML = """
name = "store"
relevance_level = 1
[subjects.bm25]
measures = ["recall@2", "precision@2"]
"""


def write(folder, strata, toml=TOML, splits=None, relevant=1):
    """A gold set with a stratum → number of queries."""
    folder.mkdir(exist_ok=True)
    ids = [f"{stratum}-{number}" for stratum, count in strata.items() for number in range(count)]
    rows = [
        {"query_id": query_id, "query": query_id, "stratum": query_id.partition("-")[0]}
        | ({"split": splits(query_id)} if splits else {})
        for query_id in ids
    ]
    (folder / "goldset.toml").write_text(toml)
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [f"{query_id} 0 d{number} 1\n" for query_id in ids for number in range(relevant)]
    (folder / "qrels.trec").write_text("".join(lines))
    return folder


def check(folder, *arguments):
    return CliRunner().invoke(main, ["check", str(folder), *arguments])


def row(output, *words):
    """The only line that begins with these words, as words."""
    lines = [line.split() for line in output.splitlines() if line.split()[: len(words)] == list(words)]
    assert len(lines) == 1, output
    return lines[0]


def test_every_number_of_a_cell(tmp_path):
    """By hand: 4 and 5 queries, one sided; one relevant document, so precision@2 reaches a half."""
    done = check(write(tmp_path, {"few": 4, "more": 5}))
    assert done.exit_code == 0
    assert "store: 9 queries, no catalog, 9 judgments, 0 pinned cells: readable" in done.output
    few = row(done.output, "bm25", "precision@2", "few")
    assert " ".join(few) == "bm25 precision@2 few 4 0.500 0.062 5 > n no drop of any size"
    assert row(done.output, "bm25", "recall@2", "more")[3:7] == ["5", "1.000", "0.031", "5"]
    assert "one-sided p below 0.05" in done.output


def test_a_plans_threshold_is_two_sided_and_of_its_split(tmp_path):
    folder = write(tmp_path, {"w": 20}, splits=lambda query: "test" if int(query[2:]) < 6 else "train")
    assert "nothing locked yet, as if one were planned, two-sided p below 0.05:" in check(folder).output
    assert row(check(folder).output, "recall@2", "all")[2:6] == ["6", "1.000", "0.031", "6"]
    names = ("one", "two")
    save_plan(
        folder, Plan(0.05, tuple(Planned(name, "test", f"../t.py::{name}", 6, "6a53") for name in names))
    )
    done = check(folder)
    assert "comparisons on split 'test'; 2 planned, two-sided p below 0.025:" in done.output
    assert row(done.output, "recall@2", "all")[2:8] == ["6", "1.000", "0.031", "7", ">", "n"]
    assert "> n: " in done.output
    save_plan(folder, Plan(0.05, (Planned("one", "train", "../t.py::one", 14, "6a53"),)))
    assert row(check(folder).output, "recall@2", "w")[2] == "14"


def test_a_measure_that_only_the_plan_names(tmp_path):
    """One relevant document of two read: precision@2 reaches a half; a project's own kind is named alone."""
    folder = write(tmp_path, {"w": 20}, TOML.replace(', "precision@2"', ""))
    plan = Plan(0.05, (Planned("one", "", "../t.py::one", 20, "6a53", measure="precision@2"),))
    assert "precision@2" not in check(folder).output
    save_plan(folder, plan.locked([Planned("two", "", "../t.py::two", 20, "6a53", measure="ours@3")]))
    assert row(check(folder).output, "precision@2", "all")[2:4] == ["20", "0.500"]
    assert "note: measure 'ours@3' has no row here" in check(folder).output


def test_a_measure_of_the_projects_own_that_is_gated(tmp_path):
    """Only the project's conftest knows it, which no command reads: every other row is there all the same."""
    folder = write(tmp_path, {"w": 5}, TOML.replace("precision@2", "wasted@2"))
    done = check(folder)
    assert done.exit_code == 0, done.output
    assert "note: measure 'wasted@2' has no row here, for it is none of this package's" in done.output
    assert row(done.output, "bm25", "recall@2", "w")[3:7] == ["5", "1.000", "0.031", "5"]
    alone = check(write(tmp_path, {"w": 5}, TOML.replace('"recall@2", "precision@2"', '"wasted@2"')))
    assert "the gate: no cell of a measure that is known here" in alone.output


def test_measures_of_answers_are_defined_though_nothing_is_known_of_their_best(tmp_path):
    """By hand: 5 queries, (1/2)^5 on one side and 2 (1/2)^5 on two; every one of them is answerable."""
    measures = '"declined_wrongly", "searches", "label:kind"'
    done = check(write(tmp_path, {"w": 5}, TOML.replace('"recall@2", "precision@2"', measures)))
    for name in ("declined_wrongly", "searches", "label:kind"):
        assert row(done.output, "bm25", name, "w")[3:7] == ["5", "n/a", "0.031", "5"]
        assert row(done.output, name, "w")[2:5] == ["5", "n/a", "0.062"]
    assert row(done.output, "bm25", "declined_wrongly", "w")[7:] == ["no", "drop", "of", "any", "size"]


def test_the_share_assumed_reaches_the_drop_and_is_said(tmp_path):
    folder = write(tmp_path, {"w": 100})
    done = check(folder, "--changed", "0.5")
    assert "assuming that 50% of the queries" in done.output
    rows = {share: feasibility_of(folder, share).gate[1] for share in (0.2, 0.5)}
    assert rows[0.2].measure == "recall@2"
    assert rows[0.2].drop.changed_share == 0.2
    normal = (1.645 + 0.842) * (0.5 / 100) ** 0.5  # a total of ±1 changes, taken to be normal
    assert normal < rows[0.5].drop.drop < 1.05 * normal
    assert rows[0.2].drop.drop < rows[0.5].drop.drop


def test_pinned_scores_give_headroom_and_sizes(tmp_path):
    folder = write(tmp_path, {"w": 4})
    (folder / "pins").mkdir()
    scores = [0.0, 0.5, 1.0, 1.0]
    lines = [
        {
            "query_id": f"w-{number}",
            "stratum": "w",
            "query": "0",
            "ranking": ["d0"],
            "returned": 1,
            "grades": {"d0": 1},
            "scores": {"recall@2": score},
        }
        for number, score in enumerate(scores)
    ]
    (folder / "pins" / "bm25.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    pin = 'value = 0.625\nn = 4\nbest = 0.625\nowner = "test_it.py::test_it"\n'
    (folder / "pins.toml").write_text(f'[bm25.w."recall@2"]\n{pin}')
    done = check(folder)
    assert done.exit_code == 0, done.output
    assert row(done.output, "bm25", "recall@2", "w")[3:7] == ["4", "1.000", "25%", "50%"]
    assert row(done.output, "bm25", "precision@2", "w")[5:7] == ["n/a", "n/a"]


def test_a_measure_that_is_nowhere_defined(tmp_path):
    """A stratum of the test split whose queries have no answer: no score, and no error."""
    folder = write(
        tmp_path, {"w": 9, "x": 9}, toml='no_relevant = "undefined"\n' + TOML, splits=lambda q: "dev"
    )
    qrels = (folder / "qrels.trec").read_text().splitlines(keepends=True)
    (folder / "qrels.trec").write_text("".join(line for line in qrels if line[0] == "w"))
    done = check(folder)
    assert done.exit_code == 0, done.output
    assert row(done.output, "recall@2", "x")[2:6] == ["0", "n/a", "1.000", "6"]


def test_every_problem_of_every_file_is_told(tmp_path):
    folder = write(tmp_path, {"w": 4})
    with (folder / "qrels.trec").open("a") as qrels:
        qrels.write("w-0 0 d9\nnobody 0 d1 1\n")
    (folder / "pins.toml").write_text("[bm25.w]\n'recall@2' = 3\n")
    (folder / "plan.toml").write_text("alpha = 7\n")
    done = check(folder)
    assert done.exit_code == 1
    for said in ("qrels.trec:5", "nobody", "pins.toml", "alpha is 7"):
        assert said in done.output
    assert "Traceback" not in done.output


def test_a_folder_that_is_no_gold_set(tmp_path):
    done = check(tmp_path)
    assert done.exit_code == 1
    assert "no such file; a gold set is a folder with a goldset.toml" in done.output


def test_a_gold_set_that_gates_nothing(tmp_path):
    done = check(write(tmp_path, {"w": 4}, toml='name = "store"\n'))
    assert done.exit_code == 0
    assert "declares no subject with measures, so nothing is gated" in done.output
