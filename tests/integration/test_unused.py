"""A repository that does not use the plugin: nothing printed, little imported, nothing in the way."""

from __future__ import annotations

import importlib
import json

import pytest

from .conftest import CONFTEST

HEAVY = ("numpy", "pandas", "scipy", "yaml", "ssl", "jinja2", "bm25s", "tqdm", "tomlkit", "click", "filelock")

MODULES = """
def pytest_unconfigure():
    import json, sys
    from pathlib import Path
    Path(__file__).with_name("modules.json").write_text(json.dumps(sorted(sys.modules)))
"""


def plain(pytester, *arguments):
    """Run in a process of its own, with no plugin but ours: others import what they like."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        return pytester.runpytest_subprocess("-p", "pytest_retrieval.plugin.entry", *arguments)


@pytest.fixture
def unused(pytester, monkeypatch):
    """A repository without gold sets."""
    monkeypatch.delenv("CI", raising=False)
    pytester.makepyfile("def test_it():\n    pass\n")
    return pytester


def test_nothing_is_printed(unused):
    result = plain(unused)
    result.assert_outcomes(passed=1)
    lines = [line for line in result.stdout.lines if not line.startswith(("plugins:", "rootdir:"))]
    assert "retrieval" not in "\n".join(lines)


def test_a_failing_session_prints_nothing_of_ours_either(unused):
    unused.makepyfile(test_two="def test_two():\n    assert 0\n")
    result = plain(unused, "-ra", "-v")
    result.assert_outcomes(passed=1, failed=1)
    assert not any(line.startswith("=") and "retrieval" in line for line in result.stdout.lines)


@pytest.mark.parametrize("arguments", [[], ["--collect-only"], ["--help"], ["--fixtures"]])
def test_no_large_module_is_imported(unused, arguments):
    unused.makeconftest(MODULES)
    assert plain(unused, *arguments).ret == 0
    modules = json.loads((unused.path / "modules.json").read_text())
    assert "pytest_retrieval.plugin.entry" in modules
    assert sorted(set(HEAVY) & {name.partition(".")[0] for name in modules}) == []
    ours = [name for name in modules if name.startswith("pytest_retrieval")]
    assert ours == [
        "pytest_retrieval",
        "pytest_retrieval.plugin",
        "pytest_retrieval.plugin.entry",
        "pytest_retrieval.plugin.hookspecs",
    ]


def test_the_same_check_sees_them_where_there_is_a_gold_set(project):
    """Were they not imported here, the test above could not fail."""
    project.write("conftest.py", CONFTEST + MODULES)
    project.run_apart("--retrieval-pin=new").assert_outcomes(passed=4)
    modules = json.loads((project.path / "modules.json").read_text())
    assert {"numpy", "pandas"} <= set(modules)


@pytest.mark.parametrize("name", ["catalog", "runs", "gate", "goldset", "queries", "qrels", "retrievers"])
def test_fixtures_of_these_names_are_the_projects(unused, name):
    unused.makeconftest(f"import pytest\n@pytest.fixture\ndef {name}():\n    return 'ours'\n")
    unused.makepyfile(f"def test_it({name}):\n    assert {name} == 'ours'\n")
    result = plain(unused)
    result.assert_outcomes(passed=1)
    unused.makeconftest("")
    plain(unused).stdout.fnmatch_lines([f"*fixture '{name}' not found*"])


def test_a_parametrised_argument_of_our_names_is_the_projects(unused):
    unused.makepyfile(
        "import pytest\n@pytest.mark.parametrize('gate, goldset', [(1, 2)])\ndef test_it(gate, goldset):\n"
        "    assert (gate, goldset) == (1, 2)\n"
    )
    plain(unused).assert_outcomes(passed=1)


def test_the_help_lists_every_option_and_key(unused):
    text = plain(unused, "--help").stdout.str()
    group = text[text.index("retrieval quality, gated per kind of query") :]
    for name in ("--retrieval-pin={new,raise,all}", "--retrieval-reason=TEXT", "--retrieval-details"):
        assert name in group
    for name in (
        "retrieval_goldsets (args):",
        "retrieval_goldset (string):",
        "retrieval_unavailable (string):",
        "retrieval_show_text (bool):",
    ):
        assert name in group


def test_the_markers_are_registered(unused):
    plain(unused, "--markers").stdout.fnmatch_lines(["@pytest.mark.goldset(*names, subjects=None): *"])
    unused.makepyfile("import pytest\n@pytest.mark.goldset('x')\ndef test_it():\n    pass\n")
    plain(unused, "--strict-markers", "-W", "error").assert_outcomes(passed=1)


def test_without_the_plugin_the_rest_still_runs(project):
    project.write("test_plain.py", "def test_plain():\n    pass\n")
    result = project.run_apart("-p", "no:retrieval")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*fixture 'gate' not found*"])
    assert "= retrieval =" not in result.stdout.str()


def test_hooks_may_stay_in_a_conftest_without_the_plugin(project):
    hooks = (
        "import pytest\n@pytest.hookimpl(optionalhook=True)\n"
        "def pytest_retrieval_measures():\n    return []\n"
        "@pytest.hookimpl(optionalhook=True)\ndef pytest_retrieval_verdict(goldset, verdict):\n"
        "    print('verdict on', verdict.cell)\n"
    )
    project.write("conftest.py", CONFTEST + hooks)
    project.write("test_plain.py", "def test_plain():\n    pass\n")
    project.run_apart("-p", "no:retrieval", "test_plain.py").assert_outcomes(passed=1)
    project.run("--retrieval-pin=new", "-s").stdout.fnmatch_lines(["*verdict on bm25 · recall@2 · words*"])


def test_a_misspelt_hook_is_refused(project):
    project.write("conftest.py", CONFTEST + "\ndef pytest_retrieval_verdicts(verdict):\n    pass\n")
    result = project.run_apart()
    assert result.ret != 0
    assert "pytest_retrieval_verdicts" in result.stdout.str() + result.stderr.str()


def test_a_folder_named_goldsets_without_gold_sets_is_no_use_of_the_plugin(unused):
    (unused.path / "goldsets" / "old").mkdir(parents=True)
    (unused.path / "goldsets" / "notes.txt").write_text("ours")
    unused.makeconftest("import pytest\n@pytest.fixture\ndef gate():\n    return 1\n" + MODULES)
    unused.makepyfile("def test_it(gate):\n    assert gate == 1\n")
    plain(unused).assert_outcomes(passed=1)
    modules = json.loads((unused.path / "modules.json").read_text())
    assert "pytest_retrieval.plugin.session" not in modules


def test_gold_sets_that_no_test_uses_print_nothing(project):
    project.write("test_search.py", "def test_it():\n    pass\n")
    result = project.run()
    result.assert_outcomes(passed=1)
    assert "= retrieval =" not in result.stdout.str()
    assert not (project.goldset / "pins").exists()


def test_nothing_on_the_way_in_is_rewritten():
    """Without a cache of bytecode, as in many containers, rewriting would cost more than all the rest."""
    for name in ("", ".plugin", ".plugin.entry", ".plugin.hookspecs"):
        module = importlib.import_module(f"pytest_retrieval{name}")
        assert "PYTEST_DONT_REWRITE" in module.__doc__
