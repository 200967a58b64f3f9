"""Planned comparisons: what a plan is held against, and that its threshold depends on the lock alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib

import pytest

TOML = """
name = "store"
relevance_level = 1
[subjects.bm25]
measures = ["recall@1"]
"""

CONFTEST = """
import json
from pathlib import Path

import pytest

TABLE = Path(__file__).parent / "rankings.json"

def searching(name):
    def search(query, k):
        with (TABLE.parent / "calls").open("a") as calls:
            calls.write(f"{name} {query}\\n")
        return json.loads(TABLE.read_text())[name][query][:k]
    return search

@pytest.fixture(scope="session")
def retrievers():
    return {name: searching(name) for name in ("bm25", "hybrid", "dense")}
"""

FIRST = """
import pytest

@pytest.mark.planned_comparison("hybrid over bm25", split="test")
def test_hybrid(runs, compare):
    result = compare(runs["hybrid"], runs["bm25"], "mrr@10")
    print(f"threshold {result.threshold} n {result.n} better {result.better}")
    assert result.n == 30
"""

SECOND = """
@pytest.mark.planned_comparison("dense over bm25")
def test_dense(runs, compare):
    result = compare(runs["dense"], runs["bm25"], "mrr@10")
    print(f"threshold {result.threshold} n {result.n} better {result.better}")
"""

GOOD, BAD = ["a", "x"], ["x", "a"]


class Shop:
    """A gold set of ten train and thirty test queries, and three retrievers of known strength."""

    def __init__(self, project):
        self.project = project
        self.plan = project.goldset / "plan.toml"
        queries = {f"q{number:02}": (f"text {number}", "words") for number in range(40)}
        project.write("conftest.py", CONFTEST)
        (project.path / "test_search.py").unlink()
        self.splits({query_id: "train" if query_id < "q10" else "test" for query_id in queries})
        texts = {query_id: text for query_id, (text, _) in queries.items()}
        self.rank(texts, bm25=range(0), hybrid=range(10, 40), dense=range(10, 12))
        self.tests(FIRST + SECOND)

    def splits(self, splits, toml=TOML, grade=1):
        self.project.write_goldset(
            toml=toml,
            queries={query_id: (f"text {int(query_id[1:])}", "words") for query_id in splits},
            gold={query_id: {"a": grade} for query_id in splits},
            more={query_id: {"split": split} for query_id, split in splits.items() if split},
        )

    def rank(self, texts, **good):
        rankings = {
            name: {text: GOOD if int(query_id[1:]) in numbers else BAD for query_id, text in texts.items()}
            for name, numbers in good.items()
        }
        self.project.write("rankings.json", json.dumps(rankings))

    def tests(self, text, name="tests/test_plans.py"):
        return self.project.write(name, text)

    def run(self, *arguments):
        return self.project.run("-rA", *arguments)

    def lock(self, *arguments):
        return self.run("--retrieval-lock", *arguments)

    def names(self):
        return [table["name"] for table in self.locked().get("comparison", [])]

    def locked(self):
        return tomllib.loads(self.plan.read_text())


@pytest.fixture
def shop(project):
    return Shop(project)


@pytest.fixture
def planned(shop):
    shop.lock().assert_outcomes(skipped=2)
    return shop


def failed(result, *lines, others=0):
    """Hold that one item failed, and what it said."""
    result.assert_outcomes(failed=1, passed=others)
    assert result.ret == 1
    result.stdout.fnmatch_lines(list(lines))


def test_locking_writes_the_plan_and_runs_nothing(shop):
    result = shop.lock()
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(
        ["store: locked 2 planned comparisons, each established below 0.025; review and commit plan.toml*"]
    )
    locked = shop.locked()
    digests = {table.pop("judgments") for table in locked["comparison"]}
    part = {"measure": "mrr@10", "b": "bm25", "split": "test", "queries": 30}
    file = "../../tests/test_plans.py"
    assert locked == {
        "alpha": 0.05,
        "threshold": 0.025,
        "comparison": [
            {"name": "dense over bm25", "a": "dense", "owner": f"{file}::test_dense", **part},
            {"name": "hybrid over bm25", "a": "hybrid", "owner": f"{file}::test_hybrid", **part},
        ],
    }
    assert len(digests) == 1
    assert shop.project.lines("calls") == []


def test_locking_with_workers(shop):
    shop.lock("-n2").assert_outcomes(skipped=2)
    assert shop.names() == ["dense over bm25", "hybrid over bm25"]


def test_locking_again_changes_nothing(planned):
    before = planned.plan.read_bytes()
    planned.lock().stdout.fnmatch_lines(["store: nothing to lock; *2 planned comparisons*"])
    assert planned.plan.read_bytes() == before


def test_the_locked_comparisons_run_and_are_printed(planned):
    result = planned.run()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "store, planned comparisons: 2",
            "store, p-value threshold: 0.025",
            "dense over bm25, compared: dense with bm25 on mrr@10, 30 queries of the split 'test'",
            "dense over bm25, mean difference: 0.033",
            "dense over bm25, wins, losses, ties: 2, 0, 28",
            "dense over bm25, permutation p: 0.500",
            "dense over bm25, established at 0.025: cannot be established: 2 changed queries, 7 needed",
            "dense over bm25, better: no",
            "hybrid over bm25, mean difference: 0.500",
            "hybrid over bm25, wins, losses, ties: 30, 0, 0",
            "hybrid over bm25, permutation p: 1.86e-09",
            "hybrid over bm25, established at 0.025: yes",
            "hybrid over bm25, better: yes",
        ]
    )
    result.stdout.no_fnmatch_line("*looks at the test split*")
    result.stdout.no_fnmatch_line("*planned and not compared*")


@pytest.mark.parametrize(
    "arguments",
    [
        ["-k", "hybrid"],
        ["tests/test_plans.py::test_hybrid"],
        ["--deselect", "tests/test_plans.py::test_dense"],
        ["-n2", "-k", "hybrid"],
        ["-n2", "tests/test_plans.py::test_hybrid"],
    ],
    ids=" ".join,
)
def test_the_threshold_is_the_locks_whatever_is_selected(planned, arguments):
    result = planned.run(*arguments)
    result.assert_outcomes(passed=1, deselected=None)
    result.stdout.fnmatch_lines(
        [
            "*threshold 0.025 n 30 better True",
            "store, planned comparisons: 2",
            "store, planned and not compared: 1 (dense over bm25)",
        ]
    )


@pytest.mark.parametrize("arguments", [["tests/test_plans.py"], ["tests"], ["-n2"]], ids=" ".join)
def test_the_threshold_is_the_locks_for_a_file_or_workers(planned, arguments):
    result = planned.run(*arguments)
    result.assert_outcomes(passed=2)
    assert result.stdout.str().count("threshold 0.025 n 30") == 2


def test_alpha_is_the_plans_alone(planned):
    planned.project.write("goldsets/store/goldset.toml", TOML.replace("[sub", "alpha = 0.2\n[sub", 1))
    planned.run().stdout.fnmatch_lines(["*p-value threshold: 0.025"])
    planned.plan.write_text(planned.plan.read_text().replace("0.05", "0.01"))
    planned.run().stdout.fnmatch_lines(["*p-value threshold: 0.005"])


def test_a_new_plan_takes_the_gold_sets_alpha(shop):
    shop.project.write("goldsets/store/goldset.toml", TOML.replace("[sub", "alpha = 0.2\n[sub", 1))
    shop.lock()
    assert shop.locked()["alpha"] == 0.2


def test_a_marker_without_a_lock_fails_before_retrieval(shop):
    shop.tests(FIRST)
    failed(
        shop.run(),
        "store: 'hybrid over bm25' is not locked*pytest --retrieval-lock",
        "the plan would then hold 1 planned comparison, each established below 0.05",
    )
    assert shop.project.lines("calls") == []


def test_an_added_marker_needs_a_reason_that_results_print(shop):
    shop.tests(FIRST)
    shop.lock()
    shop.tests(FIRST + SECOND)
    said = "the plan would then hold 2 planned comparisons, each established below 0.025"
    failed(shop.run(), "store: 'dense over bm25' is not locked*--retrieval-reason*", said, others=1)
    before = shop.plan.read_bytes()
    result = shop.lock()
    result.assert_outcomes(failed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["store: 'dense over bm25' would be added to a plan*--retrieval-reason*", said]
    )
    assert shop.plan.read_bytes() == before
    shop.lock("--retrieval-reason", "dense came later").assert_outcomes(skipped=2)
    assert shop.locked()["reasons"] == ["dense came later"]
    shop.run().stdout.fnmatch_lines(
        ["*threshold 0.025*", "*0.025", "store, plan locked anew: dense came later"]
    )
    shop.tests(FIRST + SECOND + "    print(result)\n")
    shop.run().stdout.fnmatch_lines(["dense over bm25, plan locked anew: dense came later"])


def test_reasons_are_kept_in_order(planned):
    planned.tests(FIRST)
    planned.lock("--retrieval-reason", "no dense").assert_outcomes(skipped=2)
    assert planned.names() == ["hybrid over bm25"]
    planned.tests(FIRST + SECOND)
    planned.lock("--retrieval-reason", "dense again")
    assert planned.locked()["reasons"] == ["no dense", "dense again"]
    planned.run().stdout.fnmatch_lines(
        ["store, plan locked anew: dense again (the last of 2 reasons in plan.toml)"]
    )


@pytest.mark.parametrize("arguments", [[], ["-n2"], ["tests/test_plans.py"], ["tests"]], ids=" ".join)
def test_a_locked_comparison_that_left_the_code_fails(planned, arguments):
    planned.tests(FIRST)
    result = planned.run(*arguments)
    failed(
        result,
        "store: 'dense over bm25' is locked, and its test ../../tests/test_plans.py::test_dense is gone*",
        "the plan would then hold 1 planned comparison, each established below 0.05",
        "FAILED goldsets/store/plan.toml::dense over bm25*",
        others=1,
    )
    result.stdout.fnmatch_lines(["*threshold 0.025*"])


def test_taking_one_out_of_the_plan_needs_a_reason(planned):
    planned.tests(FIRST)
    planned.lock().assert_outcomes(failed=1, skipped=1)
    assert planned.names() == ["dense over bm25", "hybrid over bm25"]
    planned.lock("--retrieval-reason", "given up").assert_outcomes(skipped=2)
    assert planned.names() == ["hybrid over bm25"]
    planned.run().assert_outcomes(passed=1)


def test_a_file_that_is_gone(planned):
    (planned.project.path / "tests" / "test_plans.py").unlink()
    planned.tests("def test_other(): pass", "tests/test_other.py")
    planned.run().assert_outcomes(failed=2, passed=1)
    planned.run("tests").assert_outcomes(failed=2, passed=1)
    planned.tests("def test_other(): pass", "other/test_other.py")
    planned.run("other").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["tests/test_plans.py::test_hybrid"],
        ["--ignore", "tests/test_plans.py", "tests"],
        ["tests/test_other.py"],
    ],
    ids=" ".join,
)
def test_what_was_not_collected_whole_is_not_judged(planned, arguments):
    planned.tests(FIRST)
    planned.tests("def test_other(): pass", "tests/test_other.py")
    planned.run(*arguments).assert_outcomes(passed=1)


def test_last_failed_judges_nothing_gone(planned):
    planned.tests(FIRST.replace("== 30", "== 31") + SECOND)
    planned.run().assert_outcomes(failed=1, passed=1)
    planned.run("--lf").assert_outcomes(failed=1)
    planned.tests(FIRST.replace("== 30", "== 31"))
    planned.run("--lf").assert_outcomes(failed=1)


def test_last_failed_does_not_believe_an_earlier_loss(planned):
    """The comparison is back; ``--lf`` takes its passing test out of the file before anybody sees it."""
    planned.tests(FIRST.replace("== 30", "== 31"))
    planned.run().assert_outcomes(failed=2)
    planned.tests(FIRST.replace("== 30", "== 31") + SECOND)
    planned.run("--lf").assert_outcomes(failed=1)


def test_a_selection_by_keyword_leaves_the_vanished_out(planned):
    planned.tests(FIRST)
    planned.run("-k", "hybrid").assert_outcomes(passed=1, deselected=1)
    planned.lock("-k", "hybrid", "--retrieval-reason", "x").assert_outcomes(skipped=1, deselected=1)
    assert planned.names() == ["dense over bm25", "hybrid over bm25"]


def test_a_file_skipped_as_a_whole_has_not_lost_its_comparisons(planned):
    planned.tests("import pytest\npytest.skip('not here', allow_module_level=True)\n")
    planned.run().assert_outcomes(skipped=1)


def test_two_tests_may_not_share_a_name(planned):
    planned.tests(FIRST + FIRST.replace("def test_hybrid", "def test_again") + SECOND)
    result = planned.run()
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(
        ["store: planned comparison 'hybrid over bm25' is claimed by 2 tests: *test_hybrid, *test_again; *"]
    )


def test_a_parametrised_plan_is_one_comparison_made_twice(planned):
    marked = FIRST.replace("@pytest.mark.pl", "@pytest.mark.parametrize('x', [1, 2])\n@pytest.mark.pl", 1)
    planned.tests(marked.replace("compare)", "compare, x)") + SECOND)
    result = planned.run()
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(["*'hybrid over bm25' is parametrised; *"])


def test_a_second_comparison_fails(planned):
    planned.tests(FIRST + SECOND + '    compare(runs["hybrid"], runs["bm25"], "recall@1")\n')
    failed(planned.run(), "dense over bm25: a second comparison in a planned test*", others=1)


@pytest.mark.parametrize("body", ["def test_dense(compare): pass", "def test_dense(): pass"])
def test_a_planned_test_that_never_compared_fails(planned, body):
    planned.tests(FIRST + f'\n@pytest.mark.planned_comparison("dense over bm25")\n{body}\n')
    failed(planned.run(), "dense over bm25: this test never compared, *", others=1)


def test_a_changed_split_fails(planned):
    planned.tests(FIRST + SECOND.replace('bm25")', 'bm25", split="train")', 1))
    failed(
        planned.run(),
        "store: 'dense over bm25' is about the split 'train', and 'test' was locked; *--retrieval-reason*",
        others=1,
    )
    planned.lock("--retrieval-reason", "to train").assert_outcomes(skipped=2)
    assert planned.locked()["comparison"][0]["split"] == "train"
    planned.run().stdout.fnmatch_lines(["*threshold 0.025 n 10*"])


def test_a_changed_owner_fails(planned):
    planned.tests(FIRST + SECOND.replace("def test_dense", "def test_moved"))
    failed(
        planned.run(),
        "store: 'dense over bm25' is made by ../../tests/test_plans.py::test_moved, and *::test_dense *",
        others=1,
    )
    planned.lock().assert_outcomes(failed=1, skipped=1)
    planned.lock("--retrieval-reason", "renamed").assert_outcomes(skipped=2)
    planned.run().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    "body, said",
    [
        (SECOND.replace('"mrr@10"', '"recall@1"'), "compares recall@1, and mrr@10 was locked"),
        (
            SECOND.replace('runs["dense"]', 'runs["hybrid"]'),
            "compares hybrid with bm25, and dense with bm25 was locked",
        ),
        (
            SECOND.replace('runs["dense"], runs["bm25"]', 'runs["bm25"], runs["dense"]'),
            "compares bm25 with dense, and dense with bm25 was locked",
        ),
        (
            SECOND.replace('runs["dense"], runs["bm25"]', 'dict(runs["dense"]), dict(runs["bm25"])'),
            "compares what has no name with what has no name, and dense with bm25 was *; it compares scores*",
        ),
    ],
)
def test_another_measure_or_side_than_was_locked_fails(planned, body, said):
    planned.tests(FIRST + body)
    result = planned.run()
    failed(result, f"store: 'dense over bm25' {said}; lock the change*--retrieval-reason*", others=1)
    result.stdout.no_fnmatch_line("*dense over bm25, permutation p*")
    before = planned.plan.read_bytes()
    planned.lock().assert_outcomes(failed=1, skipped=1)
    assert planned.plan.read_bytes() == before


def test_another_measure_is_locked_with_a_reason(planned):
    planned.tests(FIRST + SECOND.replace('"mrr@10"', '"recall@1"'))
    planned.lock("--retrieval-reason", "what users see").assert_outcomes(skipped=2)
    assert [table["measure"] for table in planned.locked()["comparison"]] == ["recall@1", "mrr@10"]
    planned.run().assert_outcomes(passed=2)


def test_columns_of_scores_are_bound_by_measure_and_run(planned):
    body = SECOND.replace(
        'compare(runs["dense"], runs["bm25"], "mrr@10")', "compare(*(column(runs[n], qrels) for n in SIDES))"
    ).replace("(runs, compare)", "(runs, qrels, compare)")
    column = (
        "\nfrom pytest_retrieval import evaluate\nSIDES = ('dense', 'bm25')\n"
        "def column(run, qrels):\n    return evaluate(qrels, run, ['mrr@10'])['mrr@10']\n"
    )
    planned.tests(FIRST + column + body)
    planned.lock("--retrieval-reason", "our own loop").assert_outcomes(skipped=2)
    assert [table.get("given") for table in planned.locked()["comparison"]] == ["scores", None]
    result = planned.run()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["dense over bm25, compared: dense with bm25 on mrr@10, 30 *'test', scores given by the test"]
    )
    planned.tests(FIRST + column.replace("'dense'", "'hybrid'") + body)
    failed(planned.run(), "*compares hybrid with bm25, and dense with bm25 was locked*", others=1)


def test_scores_in_place_of_runs_need_a_reason(planned):
    """They have the same names, and may have been made from other judgments."""
    other = SECOND.replace(
        'compare(runs["dense"], runs["bm25"], "mrr@10")',
        "compare(*(evaluate(OTHER, runs[n], ['mrr@10'])['mrr@10'] for n in ('dense', 'bm25')))",
    )
    made = "\nfrom pytest_retrieval import Qrels, evaluate\n"
    made += "OTHER = Qrels({f'q{n:02}': {'x': 1} for n in range(40)})\n"
    planned.tests(FIRST + made + other)
    failed(
        planned.run(),
        "store: 'dense over bm25' compares scores given by the test, and runs of the fixture*locked; *",
        others=1,
    )
    planned.lock().assert_outcomes(failed=1, skipped=1)
    planned.lock("--retrieval-reason", "x").assert_outcomes(skipped=2)
    planned.tests(FIRST + SECOND)
    failed(
        planned.run(),
        "*compares runs of the fixture `runs`, and scores given by the test were locked; *",
        others=1,
    )


def test_a_run_made_by_hand_under_a_locked_name_needs_a_reason(planned):
    """`dense` is better here on every query, and no retriever returned that."""
    body = "\nfrom pytest_retrieval import Run\n" + SECOND.replace(
        'runs["dense"]', 'Run(dict.fromkeys(runs["bm25"], ["a"]), "dense")'
    )
    planned.tests(FIRST + body)
    failed(
        planned.run(),
        "store: 'dense over bm25' compares runs given by the test, and runs of the fixture*locked; *",
        others=1,
    )
    planned.lock().assert_outcomes(failed=1, skipped=1)
    planned.lock("--retrieval-reason", "reranked by hand").assert_outcomes(skipped=2)
    assert [table.get("given") for table in planned.locked()["comparison"]] == ["runs", None]
    result = planned.run("-n2")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["dense over bm25, compared: dense with bm25 *'test', runs given by the test"]
    )
    result.stdout.fnmatch_lines(["hybrid over bm25, compared: hybrid with bm25 *'test'"])


def test_scores_without_names_say_so(planned):
    body = 'compare(dict.fromkeys(runs["dense"], 0.5), dict.fromkeys(runs["bm25"], 0.4))'
    planned.tests(FIRST + SECOND.replace('compare(runs["dense"], runs["bm25"], "mrr@10")', body))
    planned.lock("--retrieval-reason", "x").assert_outcomes(skipped=2)
    planned.run().stdout.fnmatch_lines(
        ["dense over bm25, compared: 30 queries *'test', scores given by the test, sides without names"]
    )


def test_queries_without_a_score_are_told_beside_the_verdict(planned):
    body = SECOND.replace("(runs, compare)", "(compare, qrels)").replace(
        'runs["dense"], runs["bm25"], "mrr@10"',
        "{q: 1.0 if q < 'q30' else float('nan') for q in qrels}, dict.fromkeys(qrels, 0.5)",
    )
    planned.tests(FIRST + body)
    planned.lock("--retrieval-reason", "x").assert_outcomes(skipped=2)
    planned.run().stdout.fnmatch_lines(
        [
            "dense over bm25, compared: 20 of 30 queries of the split 'test', *",
            "dense over bm25, better: yes",
            "dense over bm25, left out, undefined on a side: 10 (q30, *",
        ]
    )


OTHER_GOLDSET = """
from dataclasses import replace
from pytest_retrieval import Qrels

@pytest.fixture(scope="session")
def goldset(goldset):
    qrels = goldset.qrels
    return replace(goldset, qrels=Qrels({query: {"x": 1} for query in qrels}, splits=dict(qrels.splits)))
"""


def test_a_gold_set_of_the_tests_own_is_not_the_plans(planned):
    planned.tests(FIRST + OTHER_GOLDSET + SECOND)
    result = planned.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["dense over bm25: the fixture `goldset` of this test holds other questions or judgments than*"]
    )
    result.stdout.no_fnmatch_line("*permutation p*")
    planned.lock("--retrieval-reason", "x").assert_outcomes(failed=2)


@pytest.mark.parametrize(
    "value, outcome, said",
    [
        ('replace(goldset, name="other")', "failed", "dense over bm25: the fixture `goldset` of this test *"),
        ('{"a": 1}', "errors", "`compare` needs a gold set, and the fixture `goldset` *returned dict: *"),
    ],
    ids=["another name", "no gold set"],
)
def test_a_fixture_of_that_name_that_is_another_thing(planned, value, outcome, said):
    own = OTHER_GOLDSET[: OTHER_GOLDSET.index("    qrels")] + f"    return {value}\n"
    planned.tests("import pytest\n" + own + FIRST + SECOND)
    result = planned.run()
    result.assert_outcomes(**{outcome: 2})
    result.stdout.fnmatch_lines([said])
    assert "KeyError" not in result.stdout.str()


def test_a_parameter_is_part_of_the_test_that_was_locked(planned):
    """A node id collects one of several; the others are other comparisons."""
    body = SECOND.replace("def test_dense(runs", "def test_dense(name, runs").replace(
        'runs["dense"]', 'Run(dict(runs[name]), name="dense")'
    )
    both = '\nfrom pytest_retrieval import Run\n@pytest.mark.parametrize("name", ["dense", "hybrid"])' + body
    planned.tests(FIRST + both)
    planned.lock("--retrieval-reason", "x", "tests/test_plans.py::test_dense[dense]").assert_outcomes(
        skipped=1
    )
    planned.run("tests/test_plans.py::test_dense[dense]").assert_outcomes(passed=1)
    failed(
        planned.run("tests/test_plans.py::test_dense[hybrid]"),
        "*is made by ../../tests/test_plans.py::test_dense[[]hybrid], and *::test_dense[[]dense] was locked*",
    )


def test_an_expected_failure_does_not_excuse_what_was_not_locked(planned):
    for new in ('"recall@1"', '"mrr@10", split="train"'):
        planned.tests(FIRST + "\n@pytest.mark.xfail" + SECOND.replace('"mrr@10"', new))
        result = planned.run()
        result.assert_outcomes(passed=1, failed=1)
        assert result.ret == 1
    planned.tests(FIRST + "\n@pytest.mark.xfail" + SECOND + "    assert 0\n")
    planned.run().assert_outcomes(passed=1, xfailed=1)


def test_a_run_of_ids_that_the_catalog_lacks_is_not_compared(planned):
    body = SECOND.replace('runs["bm25"]', 'Run(dict.fromkeys(runs["bm25"], ["A"]), "bm25")')
    planned.tests(FIRST + "\nfrom pytest_retrieval import Run\n" + body)
    planned.lock("--retrieval-reason", "x").assert_outcomes(skipped=2)
    failed(
        planned.run(),
        "*RetrieverError: bm25: 1 returned id is not in the catalog of * query 'q10' returned 'A'*",
        others=1,
    )


def test_lower_is_better_is_said(planned):
    planned.project.write(
        "tests/conftest.py",
        """
import pytest
from pytest_retrieval import MeasureKind

def share(judged, k):
    hits = (judged.hit_grade > 0) & (judged.hit_rank <= k)
    return 1 - judged.per_query(judged.hit_query[hits]) / k

@pytest.hookimpl(optionalhook=True)
def pytest_retrieval_measures():
    always = lambda judged: judged.lengths >= 0
    return [MeasureKind("wasted", share, "what is no hit", "ours", defined=always, higher_is_better=False)]
""",
    )
    planned.tests(FIRST + SECOND.replace('"mrr@10"', '"wasted@1"'))
    planned.lock("--retrieval-reason", "x").assert_outcomes(skipped=2)
    planned.run().stdout.fnmatch_lines(
        [
            "dense over bm25, compared: dense with bm25 on wasted@1, lower is better, 30 queries *",
            "dense over bm25, mean difference: -0.067",
            "dense over bm25, wins, losses, ties: 2, 0, 28",
        ]
    )


@pytest.mark.parametrize(
    "splits, grade, said",
    [
        ({"q09": "test"}, 1, "is about 31 queries now, and 30 were locked"),
        ({"q09": "test", "q10": "train"}, 1, "is about 30 queries whose ids, texts or judgments changed"),
        ({}, 2, "is about 30 queries whose ids, texts or judgments changed since it was locked"),
    ],
    ids=["moved", "swapped", "judged"],
)
def test_other_questions_or_judgments_than_were_locked_fail_before_retrieval(planned, splits, grade, said):
    usual = {f"q{number:02}": "train" if number < 10 else "test" for number in range(40)}
    planned.splits(usual | splits, grade=grade)
    result = planned.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines([f"store: 'hybrid over bm25' {said}*--retrieval-reason*"])
    assert planned.project.lines("calls") == []
    planned.lock().assert_outcomes(failed=2)
    planned.lock("--retrieval-reason", "pooled deeper").assert_outcomes(skipped=2)
    planned.run("-k", "dense").assert_outcomes(passed=1, deselected=1)


def test_questions_of_another_split_may_change(planned):
    usual = {f"q{number:02}": "train" if number < 8 else "test" for number in range(40)}
    planned.splits({query_id: split for query_id, split in usual.items() if query_id not in ("q08", "q09")})
    planned.run().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    "old, new",
    [("alpha = 0.05", "alpha = 0.1"), ('[[comparison]]\nname = "dense', "[[ignored]]\nname = ")],
    ids=["alpha", "table"],
)
def test_a_plan_loosened_by_hand_fails(planned, old, new):
    text = planned.plan.read_text()
    if "ignored" in new:
        planned.plan.write_text(text[: text.index("[[comparison]]")] + text[text.rindex("[[comparison]]") :])
        planned.tests(FIRST)
    else:
        planned.plan.write_text(text.replace(old, new))
    said = (
        "store: plan.toml gives the threshold 0.*, and 0.025 was locked: alpha was raised, or a comparison*"
    )
    result = planned.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines([said])
    planned.lock().stdout.fnmatch_lines([said])
    planned.lock("--retrieval-reason", "looser, and everybody may know")
    result = planned.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["store, plan locked anew: looser, and everybody may know"])


def git(shop, *arguments):
    name = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *name, *arguments], cwd=shop.project.path, check=True, capture_output=True)


def test_a_plan_that_was_removed_is_not_locked_afresh(planned):
    planned.tests(FIRST)
    planned.lock("--retrieval-reason", "one is enough")
    git(planned, "init", "-q")
    git(planned, "add", "-A")
    git(planned, "commit", "-qm", "planned")
    before = planned.plan.read_bytes()
    planned.plan.unlink()
    result = planned.lock()
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        ["store: plan.toml is gone here; as it was last committed, it counts as locked"]
    )
    assert planned.plan.read_bytes() == before
    planned.plan.unlink()
    planned.tests(FIRST + SECOND)
    result = planned.lock()
    result.assert_outcomes(failed=1, skipped=1)
    result.stdout.fnmatch_lines(["store: 'dense over bm25' would be added to a plan that is locked*"])
    assert not planned.plan.exists()
    planned.lock("--retrieval-reason", "two after all").assert_outcomes(skipped=2)
    assert planned.locked()["reasons"] == ["one is enough", "two after all"]


@pytest.fixture
def committed(planned):
    git(planned, "init", "-q")
    git(planned, "add", "-A")
    git(planned, "commit", "-qm", "two")
    return planned


def test_a_plan_whose_removal_was_committed_is_not_forgotten(committed):
    before = committed.plan.read_bytes()
    git(committed, "rm", "-q", str(committed.plan))
    git(committed, "commit", "-qm", "tidied")
    committed.tests(FIRST + SECOND.replace("dense over", "another over"))
    committed.lock().assert_outcomes(failed=2, skipped=1)
    assert not committed.plan.exists()
    committed.tests(FIRST + SECOND)
    committed.lock().assert_outcomes(skipped=2)
    assert committed.plan.read_bytes() == before


def test_a_folder_of_another_name_does_not_hide_that_a_plan_is_gone(committed):
    folder = committed.project.goldset.rename(committed.project.goldset.with_name("shop"))
    (folder / "plan.toml").unlink()
    committed.tests(FIRST + SECOND.replace("dense over", "another over"))
    result = committed.lock()
    result.assert_outcomes(failed=2, skipped=1)
    result.stdout.fnmatch_lines(
        ["store: plan.toml is gone here; as it was last committed, it counts as locked"]
    )


def test_a_private_folder_that_is_gone_does_not_hide_its_plan(shop):
    shop.project.path.joinpath("pytest.ini").write_text("[pytest]\nretrieval_pins = private\n")
    shop.lock().assert_outcomes(skipped=2)
    git(shop, "init", "-q")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "two")
    shutil.rmtree(shop.project.path / "private")
    shop.tests(FIRST + SECOND.replace("dense over", "another over"))
    shop.lock().assert_outcomes(failed=2, skipped=1)


def test_a_plan_that_became_stricter_by_hand_is_written_down(planned):
    """As after a merge: the threshold is that of fewer comparisons than the file holds."""
    planned.plan.write_text(planned.plan.read_text().replace("threshold = 0.025", "threshold = 0.05"))
    planned.run().stdout.fnmatch_lines(
        [
            "dense over bm25, established at 0.025: *",
            "store, the plan was locked at 0.05 and is stricter now; write*--retrieval-lock",
        ]
    )
    planned.lock().assert_outcomes(skipped=2)
    assert (planned.locked()["threshold"], "reasons" in planned.locked()) == (0.025, False)
    result = planned.lock("--retrieval-reason", "unneeded")
    result.stdout.fnmatch_lines(["store: nothing to lock; *; no reason was needed, and none was kept"])


@pytest.mark.parametrize("name", ["dense\nover, better: yes", "dense\x1b[31m"])
def test_names_and_reasons_are_one_line(planned, name):
    planned.tests(FIRST + SECOND.replace('"dense over bm25"', repr(name)))
    failed(
        planned.run("tests"),
        "@pytest.mark.planned_comparison: the name * is not one line of text;*",
        others=1,
    )
    planned.tests(FIRST)
    result = planned.lock("--retrieval-reason", name)
    if "\n" in name:
        assert planned.locked()["reasons"] == ["dense over, better: yes"]
    else:
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*--retrieval-reason * is printed with results: give plain text"])


def test_nothing_is_locked_while_one_comparison_cannot_be(shop):
    never_compares = SECOND.replace('compare(runs["dense"], runs["bm25"], "mrr@10")', "1")
    shop.tests(FIRST + never_compares.replace('    print(f"threshold', "    #"))
    for arguments in ([], ["-n2"]):
        result = shop.lock(*arguments)
        result.assert_outcomes(failed=1, skipped=1)
        result.stdout.fnmatch_lines(
            [
                "dense over bm25: this test never compared, *",
                "plans not written: 1 of 2 planned comparisons can be locked",
            ]
        )
        assert not shop.plan.exists()
    shop.lock("-k", "hybrid").assert_outcomes(skipped=1, deselected=1)
    assert shop.names() == ["hybrid over bm25"]


def test_a_test_skipped_here_stays_locked_and_cannot_be_locked_newly(planned):
    skipped = "@pytest.mark.skipif(True, reason='no GPU')" + SECOND
    planned.tests(FIRST + skipped)
    planned.lock().stdout.fnmatch_lines(["store: nothing to lock; *2 planned comparisons*"])
    planned.plan.unlink()
    result = planned.lock()
    result.assert_outcomes(errors=1, skipped=1)
    result.stdout.fnmatch_lines(["dense over bm25: skipped here, so what it compares is not known*no GPU*"])
    assert result.ret == 1
    assert not planned.plan.exists()


def test_a_lock_retrieves_only_what_a_test_looks_into(shop):
    """Names are enough for most tests; one that counts documents first gets its documents."""
    looks = SECOND.replace("    result =", "    assert len(runs['dense']) == 40\n    result =")
    shop.tests(FIRST + looks)
    shop.lock().assert_outcomes(skipped=2)
    assert {line.split()[0] for line in shop.project.lines("calls")} == {"dense"}
    shop.run().assert_outcomes(passed=2)


def test_a_misspelt_retriever_or_measure_is_found_while_locking(shop):
    for old, new, said in (
        ('runs["hybrid"]', 'runs["hybrd"]', "*no retriever is named 'hybrd'; there are bm25, hybrid, dense*"),
        ('"mrr@10"', '"mmr@10"', "*MeasureError: *mmr@10*"),
    ):
        shop.tests(FIRST.replace(old, new))
        failed(shop.lock(), said)
        assert not shop.plan.exists()


@pytest.mark.parametrize("arguments", [["-k", "other"], ["-n2", "-k", "other"]], ids=" ".join)
def test_a_selection_without_planned_tests_says_what_did_not_run(planned, arguments):
    planned.tests(FIRST + SECOND + "\ndef test_other(): pass\n")
    result = planned.run(*arguments)
    result.assert_outcomes(passed=1, deselected=None)
    result.stdout.fnmatch_lines(["store, planned and not compared: 2 (dense over bm25, hybrid over bm25)"])


def test_a_plan_too_small_to_establish_anything_fails_before_retrieval(planned):
    planned.splits({f"q{number:02}": "train" if number > 5 else "test" for number in range(40)})
    result = planned.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "hybrid over bm25: this plan can never establish anything: at most 6 of 6 queries can be scored"
            " of the split 'test', so p is at least 0.031, and only a p below 0.025 establishes.*"
        ]
    )
    assert planned.project.lines("calls") == []
    planned.lock("--retrieval-reason", "fewer").assert_outcomes(failed=2)


def test_six_queries_are_too_few_for_two_plans_and_enough_for_one(shop):
    shop.tests(FIRST.replace("30", "6"))
    shop.splits({f"q{number:02}": "train" if number > 5 else "test" for number in range(40)})
    shop.lock().assert_outcomes(skipped=1)
    shop.run().assert_outcomes(passed=1)


def test_a_measure_defined_for_too_few_queries_fails(planned):
    """Half of the queries hold only a partial document: nDCG could score them, recall cannot."""
    toml = TOML.replace("= 1", "= 2", 1) + "\n[grades]\npartial = 1\nexact = 2\n"
    planned.project.write_goldset(
        toml='no_relevant = "undefined"\n' + toml,
        queries={f"q{number}": (f"text {number}", "words") for number in range(10, 22)},
        gold={f"q{number}": {"a": 1 if number < 18 else 2} for number in range(10, 22)},
        more={f"q{number}": {"split": "test" if number > 10 else "train"} for number in range(10, 22)},
    )
    planned.lock("--retrieval-reason", "another gold set").assert_outcomes(skipped=2)
    result = planned.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*can never establish anything: mrr@10 has 4 queries of the split 'test'*"])


@pytest.mark.parametrize(
    "marker, said",
    [
        ("@pytest.mark.planned_comparison", "*needs the comparison's name, not ()*"),
        ('@pytest.mark.planned_comparison("x", on="test")', "*planned_comparison takes no on;*"),
        ('@pytest.mark.planned_comparison("x", split=3)', "*split is 3, a split's name is needed*"),
        ('@pytest.mark.planned_comparison("x", split="dev")', "*no query is in the split 'dev'; splits are*"),
        (
            '@pytest.mark.planned_comparison("x")\n@pytest.mark.planned_comparison("y")',
            "*makes one planned comparison*marked with 2*",
        ),
        (
            '@pytest.mark.goldset("shop")\n@pytest.mark.planned_comparison("x")',
            "no gold set is named 'shop'*",
        ),
    ],
)
def test_markers_are_checked(shop, marker, said):
    shop.tests(f"import pytest\n{marker}\ndef test_it(runs, compare): pass\n")
    failed(shop.run(), said)
    shop.lock().assert_outcomes(failed=1)
    assert not shop.plan.exists()


def test_a_gold_set_without_splits_is_compared_whole(shop):
    shop.splits({f"q{number:02}": "" for number in range(40)})
    shop.tests(FIRST.replace(', split="test"', "").replace("30", "40"))
    shop.lock().assert_outcomes(skipped=1)
    assert shop.locked()["comparison"][0]["split"] == ""
    shop.run().assert_outcomes(passed=1)


EXPLORE = """
def test_explore(runs, compare):
    result = compare(runs["hybrid"], runs["bm25"], "mrr@10")
    assert result.exploratory and not result.established and not result.better
"""


def test_without_the_marker_nothing_is_established(shop):
    shop.tests(EXPLORE)
    result = shop.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "exploratory, never established, p uncorrected: 1",
            "hybrid over bm25 on mrr@10, exploratory permutation p: 1.86e-09",
            "looks at the test split outside the plan: 1",
            "  tests/test_plans.py::test_explore: exploratory comparison hybrid over bm25 on mrr@10",
        ]
    )


def test_tuning_on_train_is_free(shop):
    shop.tests(EXPLORE.replace('"mrr@10"', '"mrr@10", split="train"'))
    result = shop.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*, wins, losses, ties: 0, 0, 10"])
    result.stdout.no_fnmatch_line("*looks at*")


def test_helpers_and_gates_that_look_at_the_test_split_are_listed(shop):
    shop.splits(
        {f"q{number:02}": "train" if number < 10 else "test" for number in range(40)},
        toml=TOML.replace("[sub", 'gate_splits = ["test", "train"]\n[sub', 1),
    )
    shop.tests(
        "from pytest_retrieval import assert_recall\n"
        "def test_helper(runs, qrels):\n"
        "    train = [q for q in qrels if qrels.splits[q] == 'train']\n"
        "    assert_recall(runs['bm25'].select(train), qrels.select(train), k=2, at_least=1)\n"
        "    assert_recall(runs['bm25'], qrels, k=2, at_least=1)\n"
        "def test_pinned(gate):\n    gate.check()\n"
    )
    shop.project.pin().assert_outcomes(passed=3)
    shop.run("-n2").stdout.fnmatch_lines(
        [
            "looks at the test split outside the plan: 2",
            "  tests/test_plans.py::test_helper: recall@2 over 30 test queries",
            "  tests/test_plans.py::test_pinned*: gate on bm25 · recall@1 · words",
        ]
    )


def test_where_nothing_is_compared_nothing_is_printed(planned):
    planned.tests("def test_other(): pass", "other/test_other.py")
    planned.run("other").stdout.no_fnmatch_line("*planned comparisons*")


def test_a_failing_planned_test_shows_its_comparison_whole(planned):
    planned.tests(FIRST + SECOND + "    assert result.better, result\n")
    failed(
        planned.run(),
        "E *AssertionError: <Comparison 'dense over bm25': mean difference 0.033; wins, losses, ties 2, 0,*",
        "*- planned comparison -*",
        "dense over bm25, t-test p: *",
        "dense over bm25, 97.5% interval: *",
        others=1,
    )


def test_scores_of_the_split_only(planned):
    """Scores of another split are left aside; a query without a score is not."""
    planned.tests(
        "import pytest\n"
        '@pytest.mark.planned_comparison("hybrid over bm25")\n'
        "def test_hybrid(compare, qrels):\n"
        "    a = {q: 1.0 for q in qrels}\n"
        "    assert compare(a, dict.fromkeys(a, 0.5)).n == 30\n"
        '@pytest.mark.planned_comparison("dense over bm25")\n'
        "def test_dense(compare, qrels):\n"
        "    a = {q: 1.0 for q in list(qrels)[:-1]}\n"
        "    compare(a, dict.fromkeys(qrels, 0.5))\n"
    )
    planned.lock("--retrieval-reason", "scores of our own").assert_outcomes(skipped=2)
    failed(planned.run(), "*a has no score for 1 of the 30 queries compared: q39; give NaN*", others=1)


def test_ids_that_the_gold_set_lacks(planned):
    planned.tests(EXPLORE.replace('runs["hybrid"]', '{"zz": 1.0}').replace('runs["bm25"]', '{"zz": 1.0}'))
    planned.run("-k", "explore").stdout.fnmatch_lines(["*a is about 1 queries that the gold set lacks: zz"])


def test_an_unavailable_retriever_skips_the_comparison_and_says_what_did_not_run(planned):
    planned.project.write(
        "conftest.py",
        CONFTEST.replace(
            "return {name", "from pytest_retrieval import Unavailable\n    return {name"
        ).replace("searching(name) for", "searching(name) if name != 'dense' else Unavailable('no GPU') for"),
    )
    result = planned.run()
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["store, planned and not compared: 1 (dense over bm25)", "*no GPU*"])


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--retrieval-lock", "--collect-only"], "*--retrieval-lock needs the tests to run*"),
        (["--retrieval-reason", "x"], "*give --retrieval-pin too, or --retrieval-lock*"),
    ],
)
def test_options_that_do_not_go_together(shop, arguments, said):
    result = shop.project.run_apart(*arguments)
    assert result.ret == 4
    result.stderr.fnmatch_lines([said])
    assert not shop.plan.exists()


def test_locking_is_refused_under_ci(shop, monkeypatch):
    monkeypatch.setenv("CI", "true")
    result = shop.project.run_apart("--retrieval-lock")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--retrieval-lock is refused where the environment variable CI is set*"])


@pytest.mark.parametrize("arguments", [[], ["-n2"]], ids=["serial", "xdist"])
def test_a_plan_that_cannot_be_read_ends_the_session(shop, arguments):
    shop.plan.write_text("alpha = 2\n[[comparison]]\nname = 'x'\n")
    result = shop.project.run_apart(*arguments)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            "*plan.toml: 9 problems; *",
            "*alpha is 2*",
            "*split is None*",
            "*queries is None*",
            "*threshold is*",
        ]
    )


def test_nothing_to_lock_is_said(shop):
    shop.tests("def test_other(): pass")
    shop.lock().stdout.fnmatch_lines(["nothing to lock: no test that was selected is marked *"])
    assert not shop.plan.exists()


def test_a_plan_that_cannot_be_written_fails_the_session_where_junit_sees_it(shop):
    shop.project.write(
        "tests/conftest.py",
        "from pathlib import Path\n\ndef pytest_collection_finish():\n"
        f"    Path({str(shop.plan)!r}).mkdir()\n",
    )
    result = shop.lock("--junitxml=report.xml")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "store: plan not written: *Is a directory*",
            "FAILED tests/test_plans.py::test_*[[]plan_not_written[]]*",
        ]
    )
    assert 'failures="1"' in (shop.project.path / "report.xml").read_text()


def test_nothing_is_written_unless_all_reported(shop):
    shop.tests("def test_first(): assert 0\n", "tests/test_a.py")
    shop.lock("-x").stdout.fnmatch_lines(["plans not written: 0 of 2 planned comparisons can be locked"])
    assert not shop.plan.exists()


def test_the_shape_of_two_planned_comparisons_on_thirty_queries(shop):
    """Wins, losses and ties as a book chapter with two planned comparisons printed them."""
    shop.tests(
        "import pytest\n"
        "def scores(qrels, *steps):\n"
        "    test = [q for q in qrels if qrels.splits[q] == 'test']\n"
        "    return dict.fromkeys(qrels, 0.5) | dict(zip(test, (0.5 + step for step in steps)))\n"
        '@pytest.mark.planned_comparison("answers, semantic over bm25", split="test")\n'
        "def test_answers(compare, qrels):\n"
        "    compare(scores(qrels, *[0.25] * 4, *[-0.2] * 5), scores(qrels))\n"
        '@pytest.mark.planned_comparison("agent picks, semantic over bm25", split="test")\n'
        "def test_picks(compare, qrels):\n"
        "    compare(scores(qrels, *[0.25] * 5, *[-0.2] * 4), scores(qrels))\n"
    )
    shop.lock()
    result = shop.run()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "*planned comparisons: 2",
            "*p-value threshold: 0.025",
            "agent picks, semantic over bm25, wins, losses, ties: 5, 4, 21",
            "agent picks, semantic over bm25, established at 0.025: no",
            "answers, semantic over bm25, wins, losses, ties: 4, 5, 21",
            "answers, semantic over bm25, established at 0.025: no",
        ]
    )
